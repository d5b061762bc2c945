#include "manifest_value.hpp"

#include <algorithm>
#include <cmath>

namespace arraybridge {

namespace {

/// The pointer to the node at the address `wanted`. Looked for only when something is wrong, so that reading a good
/// manifest builds no pointers.
std::optional<std::string> find_pointer(const Json& node, const Json* wanted) {
    if (&node == wanted) return std::string();
    if (!node.is_structured()) return std::nullopt;
    for (const auto& [key, child] : node.items()) {
        if (auto rest = find_pointer(child, wanted)) return "/" + escape_pointer_segment(key) + *rest;
    }
    return std::nullopt;
}

std::string quoted_list(std::span<const std::string_view> names) {
    std::string list;
    for (const std::string_view name : names) list += (list.empty() ? "'" : ", '") + std::string(name) + "'";
    return list;
}

}  // namespace

void ManifestValue::expect_object() const {
    if (!json_->is_object()) fail_type("an object");
}

void ManifestValue::expect_object(std::initializer_list<std::string_view> known) const {
    expect_object();
    for (const auto& [key, value] : json_->get_ref<const Json::object_t&>()) {
        if (key.starts_with("x-") || std::find(known.begin(), known.end(), key) != known.end()) continue;
        ManifestValue(value, *document_)
            .fail("unknown key; known are " + quoted_list({known.begin(), known.size()}) +
                  ", and any that begins with 'x-'");
    }
}

ManifestValue ManifestValue::required(std::string_view key) const {
    if (auto value = optional(key)) return *value;
    fail("has no '" + std::string(key) + "', which is required");
}

std::optional<ManifestValue> ManifestValue::optional(std::string_view key) const {
    const auto& object = json_->get_ref<const Json::object_t&>();
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    return ManifestValue(found->second, *document_);
}

const std::string& ManifestValue::text(const TextRule& rule) const {
    if (!json_->is_string()) fail_type("a string");
    const auto& value = json_->get_ref<const std::string&>();
    if (!rule.holds(value)) fail(json_->dump() + " is not " + std::string(rule.meaning));
    return value;
}

std::size_t ManifestValue::choice(std::span<const std::string_view> choices) const {
    if (!json_->is_string()) fail_type("a string");
    const auto found = std::find(choices.begin(), choices.end(), json_->get_ref<const std::string&>());
    if (found == choices.end()) fail(json_->dump() + " is not one of " + quoted_list(choices));
    return static_cast<std::size_t>(found - choices.begin());
}

bool ManifestValue::boolean() const {
    if (!json_->is_boolean()) fail_type("true or false");
    return json_->get<bool>();
}

int ManifestValue::integer(int minimum, int maximum) const {
    // As in JSON Schema, 1.0 is an integer.
    if (!json_->is_number() || std::trunc(json_->get<double>()) != json_->get<double>()) fail_type("an integer");
    const double value = json_->get<double>();
    if (value < minimum || value > maximum) {
        fail(json_->dump() + " is not between " + std::to_string(minimum) + " and " + std::to_string(maximum));
    }
    return static_cast<int>(value);
}

std::vector<ManifestValue> ManifestValue::texts(const TextRule& rule) const {
    if (!json_->is_array()) fail_type("an array");
    std::vector<ManifestValue> all;
    all.reserve(json_->size());
    for (const Json& element : *json_) {
        const ManifestValue value(element, *document_);
        const std::string& text = value.text(rule);
        const auto same = [&](const ManifestValue& other) {
            return other.json_->get_ref<const std::string&>() == text;
        };
        if (std::any_of(all.begin(), all.end(), same)) value.fail("'" + text + "' is there twice; remove one");
        all.push_back(value);
    }
    return all;
}

std::vector<std::pair<std::string, ManifestValue>> ManifestValue::members(const TextRule& rule) const {
    expect_object();
    std::vector<std::pair<std::string, ManifestValue>> all;
    for (const auto& [key, element] : json_->get_ref<const Json::object_t&>()) {
        const ManifestValue value(element, *document_);
        if (!rule.holds(key)) value.fail("the key is not " + std::string(rule.meaning));
        all.emplace_back(key, value);
    }
    return all;
}

void ManifestValue::fail(std::string_view problem) const {
    const std::string pointer = find_pointer(*document_, json_).value_or("");
    throw JsonError((pointer.empty() ? "/" : pointer) + ": " + std::string(problem));
}

void ManifestValue::fail_type(std::string_view wanted) const {
    fail("is of type " + std::string(json_->type_name()) + "; it has to be " + std::string(wanted));
}

}  // namespace arraybridge

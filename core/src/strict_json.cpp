#include "strict_json.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace arraybridge {

namespace {

/// "line:column" of a byte, both counted from 1. A column is a byte, as editors without a font would count it.
std::string position(std::string_view text, std::size_t offset) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto line = 1 + std::count(before.begin(), before.end(), '\n');
    const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
    return std::to_string(line) + ":" + std::to_string(before.size() - line_start + 1);
}

/// What nlohmann/json says, without its error number and its own idea of the position. It quotes what it has read,
/// which need not be UTF-8.
std::string plain_message(std::string_view message) {
    message.remove_prefix(message.find("] ") + 2);
    if (message.starts_with("parse error")) message.remove_prefix(message.find(": ") + 2);
    std::string plain(message);
    std::replace_if(plain.begin(), plain.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
    return plain;
}

/// Builds the document from the parser's events. nlohmann/json's own builder keeps the last of two equal keys.
class Builder : public nlohmann::json_sax<Json> {
public:
    Builder(std::string_view text, int max_depth) : text_(text), max_depth_(max_depth) {}

    Json take() { return std::move(root_); }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t&) override { return put(value); }
    bool string(string_t& value) override { return put(std::move(value)); }
    bool binary(binary_t&) override { throw JsonError(pointer() + ": binary data is not JSON"); }

    bool start_object(std::size_t) override { return open(Json::object()); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        Level& level = levels_.back();
        auto [slot, is_new] = level.node->get_ref<Json::object_t&>().emplace(name, nullptr);
        level.key = std::move(name);
        if (!is_new) throw JsonError(pointer() + ": the key is there twice; remove one");
        level.slot = &slot->second;
        return true;
    }

    bool parse_error(std::size_t offset, const std::string&, const nlohmann::detail::exception& error) override {
        throw JsonError(position(text_, offset == 0 ? 0 : offset - 1) + ": " + plain_message(error.what()));
    }

private:
    struct Level {
        Json* node;
        std::string key;       // of an object: the key that was read last
        Json* slot = nullptr;  // of an object: where the value of that key goes
    };

    Json* place(Json value) {
        if (levels_.empty()) return &(root_ = std::move(value));
        Level& level = levels_.back();
        if (level.node->is_array()) return &level.node->emplace_back(std::move(value));
        return &(*level.slot = std::move(value));
    }
    bool put(Json value) { return place(std::move(value)) != nullptr; }

    bool open(Json container) {
        if (static_cast<int>(levels_.size()) == max_depth_) {
            throw JsonError(pointer() + ": nested deeper than " + std::to_string(max_depth_) + " levels");
        }
        levels_.push_back({place(std::move(container)), {}, nullptr});
        return true;
    }
    bool close() {
        levels_.pop_back();
        return true;
    }

    /// Where the parser is: at the value that is next in the innermost container.
    std::string pointer() const {
        std::string text;
        for (const Level& level : levels_) {
            const std::size_t placed = level.node->size();
            const std::size_t index = &level == &levels_.back() ? placed : placed - 1;
            text += "/" + (level.node->is_array() ? std::to_string(index) : escape_pointer_segment(level.key));
        }
        return text;
    }

    std::string_view text_;
    int max_depth_;
    Json root_;
    std::vector<Level> levels_;
};

}  // namespace

std::string escape_pointer_segment(std::string_view segment) {
    std::string escaped;
    for (const char c : segment) {
        if (c == '~') {
            escaped += "~0";
        } else if (c == '/') {
            escaped += "~1";
        } else {
            escaped += c;
        }
    }
    return escaped;
}

Json parse_strict_json(std::string_view text, int max_depth) {
    if (text.starts_with("\xEF\xBB\xBF")) throw JsonError("1:1: starts with a byte order mark; save it as plain UTF-8");
    // The parser takes a NUL for the end of the text, whatever follows.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
        throw JsonError(position(text, nul) + ": a NUL byte is not JSON");
    }
    Builder builder(text, max_depth);
    Json::sax_parse(text.begin(), text.end(), &builder);
    return builder.take();
}

}  // namespace arraybridge

#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strict_json.hpp"

namespace arraybridge {

/// What a text has to be. `meaning` completes the sentence "'...' is not ...".
struct TextRule {
    bool (*holds)(std::string_view text) noexcept;
    std::string_view meaning;
};

/// One value of a JSON document. Whatever is wrong with it is thrown as JsonError: "POINTER: what is wrong and what
/// would be right".
class ManifestValue {
public:
    explicit ManifestValue(const Json& document) : json_(&document), document_(&document) {}

    /// Checks that this is an object with no other keys than `known`, apart from those that begin with "x-".
    void expect_object(std::initializer_list<std::string_view> known) const;

    /// Checks that this is an object, whatever its keys.
    void expect_object() const;

    /// The value of `key` of an object.
    ManifestValue required(std::string_view key) const;
    std::optional<ManifestValue> optional(std::string_view key) const;

    const std::string& text(const TextRule& rule) const;
    /// Which of `choices` the text is, as its place among them.
    std::size_t choice(std::span<const std::string_view> choices) const;

    bool boolean() const;
    int integer(int minimum, int maximum) const;

    /// The elements of an array of texts that keep to `rule`, each of them there once.
    std::vector<ManifestValue> texts(const TextRule& rule) const;

    /// The members of an object whose keys keep to `rule`.
    std::vector<std::pair<std::string, ManifestValue>> members(const TextRule& rule) const;

    [[noreturn]] void fail(std::string_view problem) const;

private:
    ManifestValue(const Json& json, const Json& document) : json_(&json), document_(&document) {}

    [[noreturn]] void fail_type(std::string_view wanted) const;

    const Json* json_;
    const Json* document_;
};

}  // namespace arraybridge

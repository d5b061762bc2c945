#include "text_rules.hpp"

#include <algorithm>

namespace arraybridge::text_rules {

namespace {

// The functions of <cctype> depend on the locale.
constexpr bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr bool is_alnum(char c) noexcept { return is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c); }
constexpr bool is_control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool all_of(std::string_view text, bool (*test)(char) noexcept) noexcept {
    return std::all_of(text.begin(), text.end(), test);
}

/// How many parts `text` has between separators; 0 if one of them fails the test.
int count_parts(std::string_view text, char separator, bool (*test)(std::string_view) noexcept) noexcept {
    int parts = 0;
    while (true) {
        const std::size_t end = text.find(separator);
        if (!test(text.substr(0, end))) return 0;
        ++parts;
        if (end == std::string_view::npos) return parts;
        text.remove_prefix(end + 1);
    }
}

bool is_name(std::string_view text) noexcept {
    const auto follows = [](char c) noexcept { return is_lower(c) || is_digit(c) || c == '_'; };
    return !text.empty() && text.size() <= 64 && is_lower(text[0]) && all_of(text, follows);
}

bool is_any(std::string_view text) noexcept { return !std::any_of(text.begin(), text.end(), is_control); }

bool is_identifier(std::string_view text) noexcept {
    const auto follows = [](char c) noexcept { return is_alnum(c) || c == '_'; };
    return !text.empty() && !is_digit(text[0]) && all_of(text, follows);
}

bool is_distribution(std::string_view text) noexcept {
    const auto inside = [](char c) noexcept { return is_alnum(c) || c == '.' || c == '_' || c == '-'; };
    return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) && all_of(text, inside);
}

bool is_number(std::string_view text) noexcept { return !text.empty() && text.size() <= 9 && all_of(text, is_digit); }

bool is_path_segment(std::string_view text) noexcept {
    const auto portable = [](char c) noexcept { return is_alnum(c) || c == '.' || c == '_' || c == '-' || c == '+'; };
    return !text.empty() && text != "." && text != ".." && all_of(text, portable);
}

}  // namespace

constinit const TextRule name{is_name,
                              "a name: a lower-case letter, then up to 63 lower-case letters, digits and underscores"};
constinit const TextRule partner{[](std::string_view text) noexcept { return text == "*" || is_name(text); },
                                 "the name of a library or '*'"};
constinit const TextRule printable{[](std::string_view text) noexcept { return !text.empty() && is_any(text); },
                                   "a text of at least one character and without control characters"};
constinit const TextRule any{is_any, "a text without control characters"};
constinit const TextRule identifier{is_identifier, "an identifier: letters, digits and underscores, no digit first"};
constinit const TextRule dotted{
    [](std::string_view text) noexcept { return count_parts(text, '.', is_identifier) >= 1; },
    "identifiers joined by dots"};
constinit const TextRule qualified{
    [](std::string_view text) noexcept { return count_parts(text, '.', is_identifier) >= 2; },
    "a module and a type in it, 'module.Type'"};
constinit const TextRule distribution{is_distribution,
                                      "a distribution's name: letters and digits, with '.', '_' and '-' between them"};
constinit const TextRule version{[](std::string_view text) noexcept { return count_parts(text, '.', is_number) >= 1; },
                                 "a version: numbers joined by dots"};
constinit const TextRule relative_path{
    [](std::string_view text) noexcept { return count_parts(text, '/', is_path_segment) >= 1; },
    "a relative path that stays inside the manifest's folder: segments of letters, digits, '.', '_', '+', '-', "
    "separated by '/', none of them '.' or '..'"};
constinit const TextRule abi{[](std::string_view text) noexcept { return count_parts(text, '.', is_number) == 2; },
                             "a version of the binary interface, 'MAJOR.MINOR'"};

}  // namespace arraybridge::text_rules

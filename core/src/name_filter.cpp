#include "name_filter.hpp"

#include <algorithm>

namespace arraybridge {

namespace {

std::string_view trimmed(std::string_view text) noexcept {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split_patterns(std::string_view list) {
    std::vector<std::string> patterns;
    while (true) {
        const std::size_t comma = list.find(',');
        if (const auto pattern = trimmed(list.substr(0, comma)); !pattern.empty()) patterns.emplace_back(pattern);
        if (comma == std::string_view::npos) return patterns;
        list.remove_prefix(comma + 1);
    }
}

bool matches_any(std::string_view name, const std::vector<std::string>& patterns) noexcept {
    const auto matches = [&](const std::string& pattern) { return matches_glob(name, pattern); };
    return std::any_of(patterns.begin(), patterns.end(), matches);
}

}  // namespace

bool matches_glob(std::string_view text, std::string_view pattern) noexcept {
    std::size_t at = 0;
    std::size_t in_pattern = 0;
    std::size_t star = std::string_view::npos;  // the last "*" passed, and the text it has swallowed up to here
    std::size_t swallowed = 0;
    while (at < text.size()) {
        if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
            star = in_pattern++;
            swallowed = at;
        } else if (in_pattern < pattern.size() && (pattern[in_pattern] == '?' || pattern[in_pattern] == text[at])) {
            ++in_pattern;
            ++at;
        } else if (star != std::string_view::npos) {
            in_pattern = star + 1;
            at = ++swallowed;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', in_pattern) == std::string_view::npos;
}

NameFilter::NameFilter(std::string_view select, std::string_view disable)
    : select_(split_patterns(select)), disable_(split_patterns(disable)) {}

bool NameFilter::admits(std::string_view name) const noexcept {
    return (select_.empty() || matches_any(name, select_)) && !matches_any(name, disable_);
}

}  // namespace arraybridge

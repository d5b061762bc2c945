#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace arraybridge {

/// Whether `text` matches a pattern in which "*" stands for any text and "?" for any one character.
bool matches_glob(std::string_view text, std::string_view pattern) noexcept;

/// Which libraries take part: those that ARRAYBRIDGE_SELECT matches, all if it is empty, without those that
/// ARRAYBRIDGE_DISABLE matches. Both are globs of names, separated by commas.
class NameFilter {
public:
    NameFilter() = default;
    NameFilter(std::string_view select, std::string_view disable);

    bool admits(std::string_view name) const noexcept;

private:
    std::vector<std::string> select_;
    std::vector<std::string> disable_;
};

}  // namespace arraybridge

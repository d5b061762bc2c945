#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace arraybridge {

using Json = nlohmann::json;

/// JSON that cannot be taken as it is. `what()` starts with "line:column: " or with a JSON pointer.
class JsonError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Parses JSON more strictly than the standard demands: no byte order mark, no key twice in one object, no nesting
/// deeper than `max_depth`. Throws JsonError.
Json parse_strict_json(std::string_view text, int max_depth);

/// `segment` as a part of a JSON pointer: "~" and "/" escaped.
std::string escape_pointer_segment(std::string_view segment);

}  // namespace arraybridge

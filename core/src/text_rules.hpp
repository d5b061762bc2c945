#pragma once

#include "manifest_value.hpp"

/// The forms that texts in a manifest have. `manifest.schema.json` says the same in regular expressions; std::regex
/// would take longer than everything else about a manifest.
namespace arraybridge::text_rules {

extern const TextRule name;           ///< of a library
extern const TextRule partner;        ///< a name, or "*"
extern const TextRule printable;      ///< any text for people
extern const TextRule any;            ///< printable or empty
extern const TextRule identifier;     ///< of Python
extern const TextRule dotted;         ///< identifiers joined by dots
extern const TextRule qualified;      ///< likewise, at least two
extern const TextRule distribution;   ///< what pip accepts
extern const TextRule version;        ///< numbers joined by dots
extern const TextRule relative_path;  ///< to a file below a folder
extern const TextRule abi;            ///< "major.minor"

}  // namespace arraybridge::text_rules

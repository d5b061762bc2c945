#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace arraybridge {

/// The bytes of a regular file; nothing if there is no such file. Throws std::runtime_error, which says why without
/// repeating the path, for anything that is not a regular file, is larger than `max_bytes` or cannot be read.
std::optional<std::string> read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes);

}  // namespace arraybridge

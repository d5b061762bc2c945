#include "text_file.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace arraybridge {

namespace {

[[noreturn]] void fail(const std::error_code& error) { throw std::runtime_error("cannot be read: " + error.message()); }

/// What is in the file; no more than it takes to know that it is too large.
std::string read_up_to(std::FILE* file, std::uintmax_t max_bytes) {
    std::string text(4096, '\0');
    std::size_t size = 0;
    while (true) {
        size += std::fread(text.data() + size, 1, text.size() - size, file);
        if (size < text.size() || size > max_bytes) break;
        text.resize(text.size() * 2);
    }
    if (std::ferror(file) != 0) fail(std::error_code(errno, std::generic_category()));
    text.resize(size);
    return text;
}

}  // namespace

std::optional<std::string> read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    if (!std::filesystem::exists(status)) {
        if (status.type() == std::filesystem::file_type::not_found) return std::nullopt;
        fail(error);
    }
    // Asked before it is opened: opening a pipe would wait for somebody to write to it.
    if (!std::filesystem::is_regular_file(status)) throw std::runtime_error("is not a regular file");

    struct Close {
        void operator()(std::FILE* file) const noexcept { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rbe"));
    if (file == nullptr) fail(std::error_code(errno, std::generic_category()));
    std::string text = read_up_to(file.get(), max_bytes);
    if (text.size() > max_bytes) throw std::runtime_error("is larger than " + std::to_string(max_bytes) + " bytes");
    return text;
}

}  // namespace arraybridge

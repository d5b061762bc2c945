#include "text_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace arraybridge {

namespace {

/// An open file.
class Descriptor {
public:
    // Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
    explicit Descriptor(const std::filesystem::path& path)
        : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    explicit operator bool() const noexcept { return number_ >= 0; }
    int number() const noexcept { return number_; }

private:
    int number_;
};

[[noreturn]] void fail() {
    throw std::runtime_error("cannot be read: " + std::error_code(errno, std::generic_category()).message());
}

}  // namespace

std::optional<std::string> read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
    const Descriptor file(path);
    if (!file) {
        if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
        fail();
    }
    struct stat status{};
    if (::fstat(file.number(), &status) != 0) fail();
    if (!S_ISREG(status.st_mode)) throw std::runtime_error("is not a regular file");

    const auto expected = static_cast<std::uintmax_t>(status.st_size);
    const auto too_large = [&] { return std::runtime_error("is larger than " + std::to_string(max_bytes) + " bytes"); };
    if (expected > max_bytes) throw too_large();
    // One byte more than the file is said to have: it may have grown, or be one whose size is not known beforehand.
    std::string text(static_cast<std::size_t>(expected) + 1, '\0');
    std::size_t size = 0;
    while (size <= max_bytes) {
        const ssize_t count = ::read(file.number(), text.data() + size, text.size() - size);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail();
        if (count == 0) {
            text.resize(size);
            return text;
        }
        size += static_cast<std::size_t>(count);
        if (size == text.size()) text.resize(2 * size);
    }
    throw too_large();
}

}  // namespace arraybridge

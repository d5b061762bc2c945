#include "arraybridge/host_copy.hpp"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#endif

namespace arraybridge {

#if defined(__linux__)

namespace {

/// A range of addresses and the file behind it, as a line of /proc/self/maps tells.
struct FileMapping {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uint64_t offset = 0;  // of `begin` in the file
    dev_t device = 0;
    ino_t inode = 0;
    std::string path;
};

std::optional<FileMapping> find_mapping(std::uintptr_t address) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"), &std::fclose);
    if (!maps) return std::nullopt;
    char* line = nullptr;
    std::size_t capacity = 0;
    std::optional<FileMapping> found;
    while (!found && getline(&line, &capacity, maps.get()) > 0) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        std::uint64_t offset = 0;
        unsigned major_number = 0;
        unsigned minor_number = 0;
        std::uint64_t inode = 0;
        int path_at = 0;
        char access[5] = {};
        if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &begin, &end, access,
                        &offset, &major_number, &minor_number, &inode, &path_at) < 7) {
            continue;
        }
        if (address < begin || address >= end || inode == 0) continue;
        // A private mapping may have pages of its own, which the file does not have; through a writable one this
        // process may change what it looks at.
        if (access[3] != 's' || access[1] == 'w') break;
        found = FileMapping{begin,         end, offset, makedev(major_number, minor_number), static_cast<ino_t>(inode),
                            line + path_at};
        while (!found->path.empty() && found->path.back() == '\n') found->path.pop_back();
    }
    std::free(line);
    return found;
}

/// One private mapping, unmapped when its owner goes.
struct PrivateMapping {
    void* address;
    std::size_t length;
};

void release_mapping(void* object) noexcept {
    auto* mapping = static_cast<PrivateMapping*>(object);
    munmap(mapping->address, mapping->length);
    delete mapping;
}

/// Lowest and one past the highest address that the elements use.
std::pair<std::uintptr_t, std::uintptr_t> reach(const TensorView& tensor) {
    const auto itemsize = static_cast<std::int64_t>(tensor.dtype().itemsize());
    auto low = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data()));
    auto high = low + itemsize;
    if (tensor.strides().empty()) return {low, low + tensor.nbytes()};
    for (std::size_t axis = 0; axis < tensor.shape().size(); ++axis) {
        const std::int64_t distance = (tensor.shape()[axis] - 1) * tensor.strides()[axis] * itemsize;
        (distance < 0 ? low : high) += distance;
    }
    return {static_cast<std::uintptr_t>(low), static_cast<std::uintptr_t>(high)};
}

}  // namespace

std::optional<TensorView> map_privately(const TensorView& source) {
    if ((source.flags & tensor_file_backed) == 0 || source.size() == 0) return std::nullopt;
    const auto [low, high] = reach(source);
    const std::optional<FileMapping> mapping = find_mapping(low);
    if (!mapping || high > mapping->end) return std::nullopt;
    const int file = open(mapping->path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return std::nullopt;
    struct stat status{};
    // The path may lead to another file by now; only the very one that is mapped will do.
    const bool same = fstat(file, &status) == 0 && status.st_ino == mapping->inode && status.st_dev == mapping->device;
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const std::uintptr_t first = low - low % page;
    const std::size_t length = high - first;
    void* address = MAP_FAILED;
    if (same) {
        const auto offset = static_cast<off_t>(mapping->offset + (first - mapping->begin));
        address = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, offset);
    }
    close(file);
    if (address == MAP_FAILED) return std::nullopt;

    TensorView view;
    view.owner = Owner{new PrivateMapping{address, length}, &release_mapping};
    view.flags = tensor_copied | (source.flags & tensor_padded);
    view.device = HOST;
    DLTensor& tensor = view.dlpack();
    tensor = source.dlpack();
    tensor.data = static_cast<char*>(address) + (reinterpret_cast<std::uintptr_t>(source.data()) - first);
    tensor.byte_offset = 0;
    view.own_extents();
    return view;
}

#else

std::optional<TensorView> map_privately(const TensorView&) { return std::nullopt; }

#endif

}  // namespace arraybridge

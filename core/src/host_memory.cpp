#include "host_memory.hpp"

#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "arraybridge/host_copy.hpp"

namespace arraybridge {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20U;

void release_memory(void* object) noexcept { std::free(object); }

}  // namespace

Owner allocate_host_memory(std::size_t bytes) {
    const bool large = bytes >= 2 * huge_page;
    void* memory = nullptr;
    if (posix_memalign(&memory, large ? huge_page : copy_alignment, bytes == 0 ? 1 : bytes) != 0)
        throw std::bad_alloc();
#if defined(__linux__)
    // Advice only: where huge pages are off the memory is just as usable.
    if (large) madvise(memory, bytes - bytes % huge_page, MADV_HUGEPAGE);
#endif
    return Owner{memory, &release_memory};
}

}  // namespace arraybridge

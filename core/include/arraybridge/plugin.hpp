#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "arraybridge/array_library.hpp"
#include "arraybridge/registry.hpp"
#include "arraybridge/version.hpp"
#include "arraybridge/visibility.hpp"

#if defined(__GXX_ABI_VERSION)
#include <cxxabi.h>
#endif

// ----- the stamp: what has to be the same for C++ objects to cross between two shared objects -----

#define ARRAYBRIDGE_STRINGIFY_(x) #x
#define ARRAYBRIDGE_STRINGIFY(x) ARRAYBRIDGE_STRINGIFY_(x)

#if defined(_GLIBCXX_RELEASE)
#if _GLIBCXX_USE_CXX11_ABI
#define ARRAYBRIDGE_STAMP_LIBRARY "libstdc++-cxx11"
#else
#define ARRAYBRIDGE_STAMP_LIBRARY "libstdc++-cxx98"
#endif
#elif defined(_LIBCPP_VERSION)
#define ARRAYBRIDGE_STAMP_LIBRARY "libc++-" ARRAYBRIDGE_STRINGIFY(_LIBCPP_ABI_VERSION)
#elif defined(_MSC_VER)
#define ARRAYBRIDGE_STAMP_LIBRARY "msvc-14"
#else
#error "arraybridge does not know this standard library"
#endif

#if defined(_GLIBCXX_DEBUG) || (defined(_ITERATOR_DEBUG_LEVEL) && _ITERATOR_DEBUG_LEVEL > 0)
#define ARRAYBRIDGE_STAMP_MODE "-debug"
#else
#define ARRAYBRIDGE_STAMP_MODE ""
#endif

#if defined(__GXX_ABI_VERSION)
#define ARRAYBRIDGE_STAMP_CXX "itanium"
#else
#define ARRAYBRIDGE_STAMP_CXX "msvc"
#endif

#if UINTPTR_MAX == 0xffffffffffffffffU
#define ARRAYBRIDGE_STAMP_POINTER "64"
#else
#define ARRAYBRIDGE_STAMP_POINTER "32"
#endif

/// For example "itanium-libstdc++-cxx11-64". In every manifest and in every plugin.
#define ARRAYBRIDGE_STAMP \
    ARRAYBRIDGE_STAMP_CXX "-" ARRAYBRIDGE_STAMP_LIBRARY "-" ARRAYBRIDGE_STAMP_POINTER ARRAYBRIDGE_STAMP_MODE

namespace arraybridge {

/// What a plugin tells the core about itself before any C++ object crosses. Plain data: its layout never changes within
/// a major version of the interface, and grows at the end.
struct PluginDescriptor {
    std::uint32_t abi_major;
    std::uint32_t abi_minor;
    const char* stamp;           ///< ARRAYBRIDGE_STAMP of the plugin's compiler
    const char* name;            ///< of the library; the same as in the manifest
    const char* runtime;         ///< "cpython-311" for a plugin built against Python, "" for one that needs none
    const void* core;            ///< an address inside the libarraybridge that the plugin was bound to
    const void* throw_function;  ///< `__cxa_throw` as the plugin sees it: another one means a second C++ runtime
    ArrayLibrary* (*create)(const LibraryEntry& entry);  ///< makes the library; may throw; may run more than once
};

/// An address that tells one loaded libarraybridge from another.
ARRAYBRIDGE_API const void* core_identity() noexcept;

/// `__cxa_throw` as libarraybridge sees it.
ARRAYBRIDGE_API const void* core_throw_function() noexcept;

/// The name of the one symbol a plugin exports: a function that returns its descriptor.
inline constexpr const char* plugin_symbol = "arraybridge_plugin";

}  // namespace arraybridge

#if defined(__GXX_ABI_VERSION)
#define ARRAYBRIDGE_THROW_FUNCTION reinterpret_cast<const void*>(&abi::__cxa_throw)
#else
#define ARRAYBRIDGE_THROW_FUNCTION nullptr
#endif

#if defined(_WIN32)
#define ARRAYBRIDGE_PLUGIN_EXPORT extern "C" __declspec(dllexport)
#else
#define ARRAYBRIDGE_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#endif

/// Defines the plugin's entry symbol for a class derived from ArrayLibrary that is constructed from its LibraryEntry.
/// `LIBRARY_NAME` is the name in the manifest, `RUNTIME` what `RuntimeRequirement::version` calls its runtime ("").
#define ARRAYBRIDGE_PLUGIN_FOR_RUNTIME(LIBRARY_CLASS, LIBRARY_NAME, RUNTIME)                \
    ARRAYBRIDGE_PLUGIN_EXPORT const arraybridge::PluginDescriptor* arraybridge_plugin() {   \
        static const arraybridge::PluginDescriptor descriptor{                              \
            ARRAYBRIDGE_ABI_MAJOR,                                                          \
            ARRAYBRIDGE_ABI_MINOR,                                                          \
            ARRAYBRIDGE_STAMP,                                                              \
            LIBRARY_NAME,                                                                   \
            RUNTIME,                                                                        \
            arraybridge::core_identity(),                                                   \
            ARRAYBRIDGE_THROW_FUNCTION,                                                     \
            [](const arraybridge::LibraryEntry& entry) -> arraybridge::ArrayLibrary* {      \
                static_assert(std::is_base_of_v<arraybridge::ArrayLibrary, LIBRARY_CLASS>); \
                return new LIBRARY_CLASS(entry);                                            \
            }};                                                                             \
        return &descriptor;                                                                 \
    }

/// Likewise for a library that needs no language runtime. `ARRAYBRIDGE_PLUGIN_NAME` comes from the build
/// (`arraybridge_add_plugin` in CMake defines it).
#define ARRAYBRIDGE_PLUGIN(LIBRARY_CLASS) ARRAYBRIDGE_PLUGIN_FOR_RUNTIME(LIBRARY_CLASS, ARRAYBRIDGE_PLUGIN_NAME, "")

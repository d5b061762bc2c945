#include "discovery_settings.hpp"

#include <cstdlib>
#include <string_view>
#include <system_error>

#if defined(__linux__)
#include <sys/auxv.h>
#elif !defined(_WIN32)
#include <unistd.h>
#endif

namespace arraybridge {

namespace {

#if defined(_WIN32)
constexpr char path_separator = ';';
#else
constexpr char path_separator = ':';
#endif

std::string_view variable(const char* name) noexcept {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
}

std::vector<std::filesystem::path> split_path(std::string_view list) {
    std::vector<std::filesystem::path> elements;
    while (true) {
        const std::size_t end = list.find(path_separator);
        if (const auto element = list.substr(0, end); !element.empty()) {
            std::error_code no_current_folder;
            const auto path = std::filesystem::absolute(element, no_current_folder);
            elements.push_back(no_current_folder ? std::filesystem::path(element) : path.lexically_normal());
        }
        if (end == std::string_view::npos) return elements;
        list.remove_prefix(end + 1);
    }
}

/// $XDG_DATA_HOME/arraybridge/plugins. The XDG specification has relative paths ignored.
std::filesystem::path find_user_folder() {
    std::filesystem::path data(variable("XDG_DATA_HOME"));
    if (!data.is_absolute()) {
        const std::filesystem::path home(variable("HOME"));
        if (!home.is_absolute()) return {};
        data = home / ".local" / "share";
    }
    return data / "arraybridge" / "plugins";
}

}  // namespace

bool runs_with_elevated_privileges() noexcept {
#if defined(__linux__)
    return getauxval(AT_SECURE) != 0;
#elif defined(_WIN32)
    return false;
#else
    return issetugid() != 0;
#endif
}

DiscoverySettings read_discovery_settings(bool elevated_privileges) {
    if (elevated_privileges) return {};
    return {split_path(variable("ARRAYBRIDGE_PLUGIN_PATH")), find_user_folder(),
            NameFilter(variable("ARRAYBRIDGE_SELECT"), variable("ARRAYBRIDGE_DISABLE"))};
}

}  // namespace arraybridge

#include "discovery_settings.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

using namespace arraybridge;

class DiscoverySettingsTest : public testing::Test {
protected:
    void SetUp() override {
        setenv("ARRAYBRIDGE_PLUGIN_PATH", "/one::relative:/two/", 1);
        setenv("ARRAYBRIDGE_SELECT", "a*", 1);
        setenv("ARRAYBRIDGE_DISABLE", "ab", 1);
        setenv("XDG_DATA_HOME", "/data", 1);
        setenv("HOME", "/home/somebody", 1);
    }
};

TEST_F(DiscoverySettingsTest, ReadsTheEnvironment) {
    const DiscoverySettings settings = read_discovery_settings(false);
    const std::filesystem::path relative = std::filesystem::current_path() / "relative";
    EXPECT_EQ(settings.plugin_path, (std::vector<std::filesystem::path>{"/one", relative, "/two/"}));
    EXPECT_EQ(settings.user_folder, "/data/arraybridge/plugins");
    EXPECT_TRUE(settings.filter.admits("aa"));
    EXPECT_FALSE(settings.filter.admits("ab"));
    EXPECT_FALSE(settings.filter.admits("b"));
}

TEST_F(DiscoverySettingsTest, TakesNothingFromTheEnvironmentOfAnElevatedProcess) {
    const DiscoverySettings settings = read_discovery_settings(true);
    EXPECT_TRUE(settings.plugin_path.empty());
    EXPECT_TRUE(settings.user_folder.empty());
    EXPECT_TRUE(settings.filter.admits("b"));
}

TEST_F(DiscoverySettingsTest, FallsBackToTheHomeFolder) {
    for (const char* ignored : {"", "not/absolute"}) {
        setenv("XDG_DATA_HOME", ignored, 1);
        EXPECT_EQ(read_discovery_settings(false).user_folder, "/home/somebody/.local/share/arraybridge/plugins");
    }
    unsetenv("HOME");
    EXPECT_TRUE(read_discovery_settings(false).user_folder.empty());
}

TEST_F(DiscoverySettingsTest, TestsRunWithoutElevatedPrivileges) { EXPECT_FALSE(runs_with_elevated_privileges()); }

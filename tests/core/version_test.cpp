#include <gtest/gtest.h>

#include <arraybridge/plugin.hpp>
#include <arraybridge/version.hpp>

using namespace arraybridge;

TEST(Version, IsTheOneOfTheHeaders) { EXPECT_STREQ(version(), ARRAYBRIDGE_VERSION); }

TEST(Version, IdentifiesOneCore) {
    EXPECT_NE(core_identity(), nullptr);
    EXPECT_EQ(core_identity(), core_identity());
}

TEST(Version, ThrowFunctionIsTheProgramsOwn) { EXPECT_EQ(core_throw_function(), ARRAYBRIDGE_THROW_FUNCTION); }

#include "package_manifests.hpp"

#include <gtest/gtest.h>

using namespace arraybridge;

namespace {

std::vector<std::string> lines(std::string_view text) {
    std::vector<std::string> all;
    for (const EntryPoint& one : parse_entry_points(text)) all.push_back(one.name + "|" + one.value);
    return all;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST(EntryPoints, OnlyOurGroupCounts) {
    EXPECT_EQ(lines("[console_scripts]\nrun = a:main\n\n[arraybridge.plugins]\none = a.b:c/manifest.json\n"
                    "two=d:manifest.json\n[other]\nthree = e:f\n"),
              (Lines{"one|a.b:c/manifest.json", "two|d:manifest.json"}));
}

TEST(EntryPoints, ToleratesBlanksCommentsExtrasAndCarriageReturns) {
    EXPECT_EQ(lines("# a comment\r\n [ arraybridge.plugins ] \r\n; another\r\n\t one\t=  a:m.json [fast]\r\n"
                    "no equals sign\r\n\r\nlast = b:m.json"),
              (Lines{"one|a:m.json", "last|b:m.json"}));
}

TEST(EntryPoints, AGroupMayComeTwice) {
    EXPECT_EQ(lines("[arraybridge.plugins]\na = a:m\n[x]\nb = b:m\n[arraybridge.plugins]\nc = c:m"),
              (Lines{"a|a:m", "c|c:m"}));
}

TEST(EntryPoints, NothingIsNothing) {
    EXPECT_TRUE(lines("").empty());
    EXPECT_TRUE(lines("a = b").empty());
    EXPECT_TRUE(lines("[arraybridge.plugins").empty());
    EXPECT_TRUE(lines("[").empty());
}

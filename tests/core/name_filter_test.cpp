#include "name_filter.hpp"

#include <gtest/gtest.h>

using arraybridge::matches_glob;
using arraybridge::NameFilter;

TEST(Glob, StarIsAnyText) {
    EXPECT_TRUE(matches_glob("torch", "*"));
    EXPECT_TRUE(matches_glob("", "*"));
    EXPECT_TRUE(matches_glob("torch", "t*h"));
    EXPECT_TRUE(matches_glob("torch", "torch*"));
    EXPECT_TRUE(matches_glob("abcbc", "a*bc"));
    EXPECT_FALSE(matches_glob("torch", "*x"));
    EXPECT_FALSE(matches_glob("torch", "orch"));
}

TEST(Glob, QuestionMarkIsOneCharacter) {
    EXPECT_TRUE(matches_glob("jax", "?a?"));
    EXPECT_FALSE(matches_glob("jax", "jax?"));
    EXPECT_FALSE(matches_glob("", "?"));
}

TEST(Glob, ManyStarsTakeNoLongTime) { EXPECT_FALSE(matches_glob(std::string(2000, 'a'), "*a*a*a*a*a*a*a*a*a*a*b")); }

TEST(NameFilter, AdmitsEverythingWhenEmpty) {
    EXPECT_TRUE(NameFilter().admits("torch"));
    EXPECT_TRUE(NameFilter(" , ", "").admits("torch"));
}

TEST(NameFilter, SelectsAndDisables) {
    const NameFilter filter("torch*, numpy", "torch_?");
    EXPECT_TRUE(filter.admits("torch"));
    EXPECT_TRUE(filter.admits("numpy"));
    EXPECT_FALSE(filter.admits("torch_2"));
    EXPECT_FALSE(filter.admits("jax"));
}

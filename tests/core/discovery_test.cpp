// The rules of docs/discovery.md, each a test.

#include <sys/stat.h>

#include <arraybridge/error.hpp>
#include <arraybridge/registry.hpp>

#include "registry_process.hpp"

using namespace arraybridge;

namespace {

using Names = std::vector<std::string>;

Registry& registry() { return Registry::instance(); }

}  // namespace

class DiscoveryTest : public RegistryProcess {
protected:
    void write_plugin(const std::filesystem::path& folder, std::string_view name) {
        write(folder / "manifest.json", manifest_text(name));
    }

    /// An installed package that announces the plugin `name` in its folder.
    void write_package(const std::filesystem::path& site, const std::string& name) {
        write(site / (name + "-1.0.dist-info") / "entry_points.txt",
              "[arraybridge.plugins]\n" + name + " = " + name + "_package:plugin/manifest.json\n");
        write_plugin(site / (name + "_package") / "plugin", name);
    }
};

TEST_F(DiscoveryTest, ThePluginPathTakesFilesPluginsAndFoldersOfPlugins) {
    write_plugin("one", "one");
    write_plugin("more/two", "two");
    write_plugin("more/three", "three");
    write("file/anything.json", manifest_text("four"));
    set_plugin_path({"", scratch() / "one", "", scratch() / "more/", scratch() / "file/anything.json", ""});
    EXPECT_EQ(names(registry().everything()), (Names{"one", "three", "two", "four"}));
    EXPECT_TRUE(registry().problems().empty());
}

TEST_F(DiscoveryTest, AFolderWithAManifestIsOnePlugin) {
    write_plugin("one", "one");
    write_plugin("one/inner", "inner");
    set_plugin_path({scratch() / "one"});
    EXPECT_EQ(names(registry().everything()), Names{"one"});
}

TEST_F(DiscoveryTest, AnElementThatIsNotThereIsAProblem) {
    set_plugin_path({scratch() / "nowhere"});
    EXPECT_EQ(reason_of("nowhere"), "ARRAYBRIDGE_PLUGIN_PATH names it, but there is no such file or folder");
    EXPECT_TRUE(registry().everything().empty());
}

TEST_F(DiscoveryTest, TheFirstOfANameWinsAndTheOthersAreReported) {
    write_plugin("a", "same");
    write_plugin("b", "same");
    write_plugin("c", "same");
    set_plugin_path({scratch() / "b", scratch() / "a", scratch() / "c", scratch() / "b"});
    EXPECT_EQ(registry().entry("same").manifest().path, scratch() / "b" / "manifest.json");
    const auto problems = registry().problems();
    ASSERT_EQ(problems.size(), 2U);
    EXPECT_TRUE(problems[0].shadowed);
    EXPECT_EQ(problems[0].path, scratch() / "a" / "manifest.json");
    EXPECT_EQ(problems[0].reason, "is shadowed by " + (scratch() / "b" / "manifest.json").string());
}

TEST_F(DiscoveryTest, ABrokenManifestDoesNotTakeItsName) {
    write("a/manifest.json", manifest_text("same", R"(, "oops": 1)"));
    write_plugin("b", "same");
    set_plugin_path({scratch() / "a", scratch() / "b"});
    EXPECT_EQ(registry().entry("same").manifest().path, scratch() / "b" / "manifest.json");
    EXPECT_TRUE(reason_of("same").starts_with("/oops: unknown key"));
}

TEST_F(DiscoveryTest, ABrokenManifestIsRaisedWhenItsNameIsAskedFor) {
    write("a/manifest.json", manifest_text("broken", R"(, "oops": 1)"));
    write("b/manifest.json", "{");
    set_plugin_path({scratch() / "a", scratch() / "b"});
    const std::string path = scratch() / "a" / "manifest.json";
    EXPECT_TRUE(
        message_of<ManifestError>([] { registry().find("broken"); }).starts_with(path + ": /oops: unknown key"));
    EXPECT_THROW(registry().entry("b"), ManifestError);  // it has no name yet: that of its folder
    EXPECT_EQ(message_of<UnknownLibrary>([] { registry().entry("c"); }),
              "'c' is not a registered array library. Available: []");
}

TEST_F(DiscoveryTest, PackagesAreReadOnlyForANameThatIsNotThereYet) {
    write_plugin("path", "local");
    write_package("site", "shipped");
    set_plugin_path({scratch() / "path"});
    registry().set_package_paths({"", "relative", scratch() / "missing", scratch() / "site"});
    registry().all();
    registry().entry("local");
    const auto before = registry().generation();
    registry().entry("local");
    EXPECT_EQ(registry().generation(), before);
    EXPECT_EQ(registry().entry("shipped").source(), Source::package);
    EXPECT_EQ(names(registry().everything()), (Names{"local", "shipped"}));
}

TEST_F(DiscoveryTest, PackagesComeBeforeTheUsersFolder) {
    write_package("site", "same");
    write_plugin("data/arraybridge/plugins/same", "same");
    write_plugin("data/arraybridge/plugins/personal", "personal");
    registry().set_package_paths({scratch() / "site"});
    EXPECT_EQ(registry().entry("same").source(), Source::package);
    EXPECT_EQ(registry().entry("personal").source(), Source::user);
    EXPECT_TRUE(reason_of("same", true).starts_with("is shadowed by "));
}

TEST_F(DiscoveryTest, NewPackagePathsAreReadToo) {
    write_package("first", "one");
    write_package("second", "two");
    registry().set_package_paths({scratch() / "first"});
    EXPECT_EQ(names(registry().everything()), Names{"one"});
    EXPECT_EQ(registry().find("two"), nullptr);
    const auto before = registry().generation();
    registry().set_package_paths({scratch() / "first", scratch() / "second"});
    EXPECT_GT(registry().generation(), before);
    EXPECT_NE(registry().find("two"), nullptr);
    EXPECT_EQ(names(registry().everything()), (Names{"one", "two"}));
}

TEST_F(DiscoveryTest, ABrokenPackageIsAProblem) {
    write("site/a-1.dist-info/entry_points.txt", "[arraybridge.plugins]\ngone = a:nothing/here.json\n");
    write("site/b-1.dist-info/entry_points.txt", "[arraybridge.plugins]\nalias = b:manifest.json\n");
    write_plugin("site/b", "b");
    registry().set_package_paths({scratch() / "site"});
    EXPECT_EQ(reason_of("gone"),
              "the entry point 'gone' names 'a:nothing/here.json', but no folder of the package path has that file");
    EXPECT_NE(reason_of("alias").find("calls itself 'b'"), std::string::npos) << reason_of("alias");
    EXPECT_THROW(registry().entry("alias"), ManifestError);
}

TEST_F(DiscoveryTest, ListingOfPackagesDoesNotCount) {
    write("site/a-1.dist-info/entry_points.txt", "[arraybridge.plugins]\na = a:manifest.json\n");
    write("site/a/manifest.json", manifest_text("a", R"(, "listing": 0)"));
    registry().set_package_paths({scratch() / "site"});
    registry().everything();
    EXPECT_TRUE(registry().all().empty());
    registry().entry("a");
    EXPECT_EQ(names(registry().all()), Names{"a"});
}

TEST_F(DiscoveryTest, SelectAndDisableFilterNames) {
    for (const char* name : {"one", "two", "three", "four"}) write_plugin(std::string("path/") + name, name);
    write("path/tbroken/manifest.json", "{");
    set_plugin_path({scratch() / "path"});
    setenv("ARRAYBRIDGE_SELECT", "t*, o?e", 1);
    setenv("ARRAYBRIDGE_DISABLE", "three,tb*", 1);
    EXPECT_EQ(names(registry().everything()), (Names{"one", "two"}));
    EXPECT_EQ(registry().find("four"), nullptr);
    EXPECT_EQ(registry().find("tbroken"), nullptr);
    EXPECT_TRUE(registry().problems().empty());
}

TEST_F(DiscoveryTest, OddFilesAreRefusedAndDisturbNoOther) {
    write_plugin("path/good", "good_one");
    std::filesystem::create_directories(scratch() / "path/folder/manifest.json");
    std::filesystem::create_directories(scratch() / "path/pipe");
    ASSERT_EQ(mkfifo((scratch() / "path/pipe/manifest.json").c_str(), 0600), 0);
    write("path/huge/manifest.json", std::string(Manifest::max_bytes + 1, ' '));
    std::filesystem::create_directories(scratch() / "path/empty");
    std::filesystem::create_directories(scratch() / "path/loop");
    std::filesystem::create_symlink("manifest.json", scratch() / "path/loop/manifest.json");
    set_plugin_path({scratch() / "path"});
    EXPECT_EQ(names(registry().everything()), Names{"good_one"});
    EXPECT_EQ(reason_of("folder"), "is not a regular file");
    EXPECT_EQ(reason_of("pipe"), "is not a regular file");
    EXPECT_EQ(reason_of("huge"), "is larger than 1048576 bytes");
    EXPECT_TRUE(reason_of("loop").starts_with("cannot be read: "));
    EXPECT_EQ(registry().problems().size(), 4U);
}

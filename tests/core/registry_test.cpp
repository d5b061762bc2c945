#include <arraybridge/error.hpp>
#include <arraybridge/registry.hpp>
#include <memory>
#include <thread>

#include "registry_process.hpp"

using namespace arraybridge;

namespace {

using Names = std::vector<std::string>;

Registry& registry() { return Registry::instance(); }

Manifest manifest_of(const std::string& text) { return Manifest::parse(text, "/program/manifest.json"); }

}  // namespace

class RegistryTest : public RegistryProcess {};

TEST_F(RegistryTest, AnUnknownNameListsTheKnownOnes) {
    write("path/zeta/manifest.json", manifest_text("zeta"));
    write("path/alpha/manifest.json", manifest_text("alpha"));
    set_plugin_path({scratch() / "path"});
    EXPECT_EQ(message_of<UnknownLibrary>([] { registry().entry("x"); }),
              "'x' is not a registered array library. Available: ['alpha', 'zeta']");
    EXPECT_EQ(message_of<UnknownLibrary>([] { registry().named("it's\n"); }),
              "\"it's\\n\" is not a registered array library. Available: ['alpha', 'zeta']");
    EXPECT_EQ(registry().find("x"), nullptr);
}

TEST_F(RegistryTest, WithoutAnyLibraryTheListIsEmpty) {
    EXPECT_EQ(message_of<UnknownLibrary>([] { registry().entry("x"); }),
              "'x' is not a registered array library. Available: []");
    EXPECT_TRUE(registry().problems().empty());
}

TEST_F(RegistryTest, EntriesKeepTheirAddressAndAreNotLoaded) {
    set_plugin_path({fixture("good")});
    const LibraryEntry& entry = registry().entry("good");
    EXPECT_EQ(&entry, registry().find("good"));
    EXPECT_EQ(entry.loaded(), nullptr);
    EXPECT_EQ(entry.source(), Source::plugin_path);
    EXPECT_EQ(entry.manifest().display_name, "A small library of C++ only");
    ArrayLibrary& library = registry().named("good");
    EXPECT_EQ(entry.loaded(), &library);
    EXPECT_EQ(&library.entry(), &entry);
}

TEST_F(RegistryTest, AllIsTheListedOnesAndThoseAskedFor) {
    write("path/c/manifest.json", manifest_text("c", R"(, "listing": 1)"));
    write("path/b/manifest.json", manifest_text("b", R"(, "listing": 1)"));
    write("path/a/manifest.json", manifest_text("a", R"(, "listing": 5)"));
    write("path/z/manifest.json", manifest_text("z"));
    write("path/y/manifest.json", manifest_text("y"));
    set_plugin_path({scratch() / "path"});
    EXPECT_EQ(names(registry().all()), (Names{"b", "c", "a"}));
    registry().find("z");
    registry().find("a");
    registry().find("y");
    registry().find("z");
    EXPECT_EQ(names(registry().all()), (Names{"b", "c", "a", "z", "y"}));
    EXPECT_EQ(names(registry().everything()), (Names{"a", "b", "c", "y", "z"}));
    EXPECT_EQ(registry().everything()[2]->id(), 2U);
}

TEST_F(RegistryTest, TheGenerationCountsAdditions) {
    write("path/z/manifest.json", manifest_text("z"));
    set_plugin_path({scratch() / "path"});
    registry().everything();
    const auto before = registry().generation();
    registry().all();
    registry().everything();
    EXPECT_EQ(registry().generation(), before);
    registry().find("z");
    const auto after = registry().generation();
    EXPECT_GT(after, before);
    registry().find("z");
    EXPECT_EQ(registry().generation(), after);
    registry().add(manifest_of(manifest_text("mine")), {});
    EXPECT_GT(registry().generation(), after);
}

TEST_F(RegistryTest, AProgramAddsALibrary) {
    set_plugin_path({fixture("good")});
    const LibraryEntry& good = registry().entry("good");
    const LibraryEntry& mine = registry().add(manifest_of(manifest_text("mine")), [&](const LibraryEntry&) {
        throw NotInstalled("mine is not installed", "mine");
        return std::unique_ptr<ArrayLibrary>();
    });
    EXPECT_EQ(mine.source(), Source::program);
    EXPECT_EQ(registry().find("mine"), &mine);
    EXPECT_EQ(names(registry().all()), (Names{"good", "mine"}));
    EXPECT_THROW(mine.library(), NotInstalled);
    EXPECT_THROW(registry().add(manifest_of(manifest_text("mine")), {}), ManifestError);
    EXPECT_EQ(message_of<ManifestError>([] { registry().add(manifest_of(manifest_text("good")), {}); }),
              "the name 'good' is taken by " + good.manifest().path.string());
}

TEST_F(RegistryTest, AFactoryThatAnswersNullIsAProblem) {
    registry().add(manifest_of(manifest_text("mine")),
                   [](const LibraryEntry&) { return std::unique_ptr<ArrayLibrary>(); });
    EXPECT_THROW(registry().named("mine"), PluginError);
    EXPECT_NE(reason_of("mine").find("answered null"), std::string::npos);
}

TEST_F(RegistryTest, TheFirstRuntimeOfANameIsKept) {
    EXPECT_EQ(registry().runtime("python"), nullptr);
    registry().provide({"python", "cpython-311"});
    registry().provide({"python", "cpython-312"});
    registry().provide({"julia", "1.10"});
    ASSERT_NE(registry().runtime("python"), nullptr);
    EXPECT_EQ(registry().runtime("python")->version, "cpython-311");
    EXPECT_EQ(registry().runtime("julia")->version, "1.10");
    EXPECT_EQ(registry().runtime("ruby"), nullptr);
}

TEST_F(RegistryTest, OwnPluginsLieBesideTheCore) {
    EXPECT_TRUE(registry().own_plugins().is_absolute());
    EXPECT_EQ(registry().own_plugins().filename(), "plugins");
    EXPECT_EQ(registry().own_plugins().parent_path().filename(), "arraybridge");
}

TEST_F(RegistryTest, ManyThreadsLookUpAndAdd) {
    set_plugin_path({fixture("good"), fixture("name_clash"), fixture("missing_object")});
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([i] {
            const std::string own = "thread_" + std::to_string(i);
            registry().add(manifest_of(manifest_text(own)), {});
            for (int round = 0; round < 100; ++round) {
                EXPECT_NE(registry().find("good"), nullptr);
                EXPECT_NE(registry().find(own), nullptr);
                EXPECT_EQ(registry().find("unknown"), nullptr);
                registry().all();
                registry().everything();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(registry().all().size(), 9U);
    EXPECT_EQ(registry().problems().size(), 1U);  // the shadowed one
}

TEST(SourceLabel, IsWhatPeopleCallIt) {
    EXPECT_EQ(label(Source::plugin_path), "plugin path");
    EXPECT_EQ(label(Source::own), "own");
    EXPECT_EQ(label(Source::package), "package");
    EXPECT_EQ(label(Source::user), "user");
    EXPECT_EQ(label(Source::program), "program");
}

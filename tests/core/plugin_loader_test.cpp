// One test for each way a plugin can be wrong: it says so when it is asked for, it is in the list of problems, and
// nothing else is disturbed.

#include <arraybridge/array_library.hpp>
#include <arraybridge/error.hpp>
#include <arraybridge/registry.hpp>

#include "registry_process.hpp"

using namespace arraybridge;

namespace {

Registry& registry() { return Registry::instance(); }

}  // namespace

class PluginLoaderTest : public RegistryProcess {
protected:
    static void use(const std::string& name) { set_plugin_path({fixture(name), fixture("good")}); }

    /// The fixture `name` has a manifest that cannot be taken, because of `reason`.
    static void expect_bad_manifest(const std::string& name, const std::string& reason) {
        use(name);
        EXPECT_NE(reason_of(name).find(reason), std::string::npos) << reason_of(name);
        EXPECT_NE(message_of<ManifestError>([&] { registry().entry(name); }).find(reason), std::string::npos);
        EXPECT_EQ(names(registry().everything()), std::vector<std::string>{"good"});
        expect_good_works();
    }

    /// The fixture `name` has a good manifest, and cannot be loaded because of `reason`. It can be asked for again.
    static void expect_refused(const std::string& name, const std::string& reason) {
        use(name);
        EXPECT_EQ(registry().entry(name).name(), name);
        EXPECT_EQ(reason_of(name), "");  // nobody has asked for it yet
        for (int attempt = 0; attempt < 2; ++attempt) {
            const std::string message = message_of<PluginError>([&] { registry().named(name); });
            EXPECT_NE(message.find(reason), std::string::npos) << message;
            EXPECT_NE(message.find(registry().entry(name).manifest().shared_object.string()), std::string::npos)
                << message;
            EXPECT_EQ(reason_of(name), message);
        }
        EXPECT_EQ(registry().problems().size(), 1U);
        EXPECT_EQ(registry().entry(name).loaded(), nullptr);
        expect_good_works();
    }

    static void expect_good_works() { EXPECT_EQ(registry().named("good").available_devices(), std::vector{HOST}); }
};

// ----- what the manifest tells -----

TEST_F(PluginLoaderTest, BadJson) { expect_bad_manifest("bad_json", "4:16: syntax error while parsing object"); }
TEST_F(PluginLoaderTest, WrongSchema) {
    expect_bad_manifest("wrong_schema", "/imports/alignment: 3 is not a power of two");
}
TEST_F(PluginLoaderTest, NewerSchema) {
    expect_bad_manifest("newer_schema", "update arraybridge to use 'newer_schema'");
}
TEST_F(PluginLoaderTest, Outside) { expect_bad_manifest("outside", "/plugin/shared_object: "); }
TEST_F(PluginLoaderTest, OutsideThroughALink) {
    expect_bad_manifest("outside_link", "leads outside the manifest's folder");
}
TEST_F(PluginLoaderTest, MissingObject) { expect_refused("missing_object", "there is no such file"); }
TEST_F(PluginLoaderTest, OtherAbi) {
    expect_refused("other_abi", "was built for version 2.0 of arraybridge's binary interface");
}
TEST_F(PluginLoaderTest, NewerAbi) { expect_refused("newer_abi", "Update arraybridge"); }
TEST_F(PluginLoaderTest, OtherStamp) { expect_refused("other_stamp", "the C++ ABI 'itanium-libstdc++-cxx98-64'"); }
TEST_F(PluginLoaderTest, NeedsPython) {
    expect_refused("needs_python", "Import arraybridge from Python, or link the program with arraybridge::python");
}
TEST_F(PluginLoaderTest, NeedsAnotherPython) {
    registry().provide({"python", "cpython-399"});
    expect_refused("needs_python", "was built for 'cpython-311'; this process runs 'cpython-399'");
}

// ----- what the shared object tells -----

TEST_F(PluginLoaderTest, NotAnObject) { expect_refused("not_an_object", "cannot be loaded on this machine: "); }
TEST_F(PluginLoaderTest, UndefinedSymbol) {
    expect_refused("undefined_symbol", "undefined symbol: arraybridge_fixture_symbol_that_nobody_defines");
}
TEST_F(PluginLoaderTest, NoEntrySymbol) { expect_refused("no_entry_symbol", "does not export 'arraybridge_plugin'"); }
TEST_F(PluginLoaderTest, NullDescriptor) { expect_refused("null_descriptor", "describes itself as null"); }
TEST_F(PluginLoaderTest, DescriptorAbi) { expect_refused("descriptor_abi", "was built for version 2."); }
TEST_F(PluginLoaderTest, DescriptorStamp) {
    expect_refused("descriptor_stamp", "the C++ ABI 'itanium-libstdc++-cxx98-64'");
}
TEST_F(PluginLoaderTest, DescriptorName) { expect_refused("descriptor_name", "calls itself 'somebody_else'"); }
TEST_F(PluginLoaderTest, DescriptorRuntime) { expect_refused("descriptor_runtime", "the runtime 'cpython-311'"); }
TEST_F(PluginLoaderTest, DescriptorCore) {
    expect_refused("descriptor_core", "is bound to another libarraybridge, at /");
}
TEST_F(PluginLoaderTest, DescriptorThrow) { expect_refused("descriptor_throw", "another C++ runtime, at /"); }

// ----- what making the library tells -----

TEST_F(PluginLoaderTest, FactoryThrows) {
    expect_refused("factory_throws", "could not make its library: no luck today");
}
TEST_F(PluginLoaderTest, FactoryThrowsNoException) { expect_refused("factory_throws_int", "not a std::exception"); }

TEST_F(PluginLoaderTest, ErrorsOfOursPassThroughAndAreNoProblem) {
    use("factory_not_installed");
    EXPECT_EQ(message_of<NotInstalled>([] { registry().named("factory_not_installed"); }), "nowhere is not installed");
    EXPECT_TRUE(registry().problems().empty());
    expect_good_works();
}

// ----- plugins that load -----

TEST_F(PluginLoaderTest, NameClash) {
    use("name_clash");
    EXPECT_NO_THROW(registry().named("name_clash"));
    EXPECT_EQ(registry().entry("name_clash").manifest().path, fixture("name_clash") + "/name_clash/manifest.json");
    EXPECT_NE(reason_of("name_clash", true).find("is shadowed by"), std::string::npos);
}

TEST_F(PluginLoaderTest, ALibraryThatAlwaysThrowsDoesNotHarm) {
    use("throws");
    ArrayLibrary& library = registry().named("throws");
    int object = 0;
    const Array array = Array::share(library, {&object});
    EXPECT_THROW(library.available_devices(), std::runtime_error);
    EXPECT_THROW(library.device_of(array), std::runtime_error);
    EXPECT_THROW(library.max(array), std::runtime_error);
    EXPECT_THROW(array.view(), std::runtime_error);
    expect_good_works();
}

namespace {

int released = 0;
int restored = 0;

void* release_lock() {
    ++released;
    return &released;
}

void restore_lock(void* token) {
    if (token == &released) ++restored;
}

}  // namespace

TEST_F(PluginLoaderTest, TheRuntimesLockIsGivenUpWhileAnObjectIsLoaded) {
    registry().provide({"python", "cpython-311", release_lock, restore_lock});
    use("needs_python");  // its object is a text, which does load no further than this
    EXPECT_NE(message_of<PluginError>([] { registry().named("needs_python"); }).find("cannot be loaded"),
              std::string::npos);
    EXPECT_EQ(released, 1);
    EXPECT_EQ(restored, 1);
    registry().named("good");  // needs no runtime
    EXPECT_EQ(released, 1);
}

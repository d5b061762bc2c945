#include <gtest/gtest.h>
#include <unistd.h>

#include <arraybridge/error.hpp>
#include <arraybridge/manifest.hpp>
#include <filesystem>
#include <string>

using namespace arraybridge;

namespace {

constexpr const char* full = R"({
  "schema_version": 1,
  "name": "torch",
  "display_name": "PyTorch",
  "listing": 2,
  "arrays": {"modules": ["torch", "functorch"], "types": ["abc.Type"], "detected": false},
  "framework": {
    "module": "torch", "distribution": "torch", "extra": "torch-cpu", "minimum_version": "1.10",
    "environment": {"A": "b", "EMPTY": ""}
  },
  "devices": ["host", "accelerator", "named"],
  "dlpack": {"import": ["host"], "export": ["host", "accelerator"], "legacy": true},
  "host_memory": {"export": {"numpy": "on_request", "*": "by_default"}, "import": {"jax": "by_default"}},
  "imports": {"alignment": 64, "strides": "non_negative", "read_only": true, "max_ndim": 32},
  "mutable": false,
  "dtypes": ["float32", "bool"],
  "roles": ["HostDevices"],
  "operations": ["max", "min"],
  "out_of_memory": {"messages": ["out of memory"], "exceptions": ["cuda.OutOfMemoryError"]},
  "plugin": {
    "shared_object": "libarraybridge_torch.so", "abi": "1.0", "stamp": "itanium-libstdc++-cxx11-64",
    "runtime": {"name": "python", "version": "cpython-311"}
  },
  "x-anything": {"goes": ["here"]}
})";

constexpr const char* minimal = R"({
  "schema_version": 1, "name": "small", "display_name": "Small", "devices": ["host"], "dtypes": ["float32"],
  "plugin": {"shared_object": "bin/lib.so", "abi": "1.0", "stamp": "any"}
})";

std::string refusal(std::string_view text, const std::filesystem::path& path = "/folder/manifest.json") {
    try {
        Manifest::parse(text, path);
    } catch (const ManifestError& error) {
        return error.what();
    }
    ADD_FAILURE() << "taken: " << text;
    return "";
}

/// The minimal manifest with `from` replaced.
std::string changed(std::string_view from, std::string_view to) {
    std::string text = minimal;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST(Manifest, ReadsEveryField) {
    const Manifest manifest = Manifest::parse(full, "/folder/manifest.json");
    EXPECT_EQ(manifest.path, "/folder/manifest.json");
    EXPECT_EQ(manifest.name, "torch");
    EXPECT_EQ(manifest.display_name, "PyTorch");
    EXPECT_EQ(manifest.listing, 2);
    EXPECT_EQ(manifest.shared_object, "/folder/libarraybridge_torch.so");
    EXPECT_EQ(manifest.abi_major, 1U);
    EXPECT_EQ(manifest.abi_minor, 0U);
    EXPECT_EQ(manifest.stamp, "itanium-libstdc++-cxx11-64");
    EXPECT_EQ(manifest.runtime.name, "python");
    EXPECT_EQ(manifest.runtime.version, "cpython-311");
    EXPECT_EQ(manifest.import_module, "torch");
    EXPECT_EQ(manifest.array_modules, (std::vector<std::string>{"torch", "functorch"}));
    EXPECT_EQ(manifest.array_types, std::vector<std::string>{"abc.Type"});
    EXPECT_FALSE(manifest.detected);
    EXPECT_EQ(manifest.distribution, "torch");
    EXPECT_EQ(manifest.extra, "torch-cpu");
    EXPECT_EQ(manifest.minimum_version, "1.10");
    EXPECT_EQ(manifest.environment, (decltype(manifest.environment){{"A", "b"}, {"EMPTY", ""}}));
    EXPECT_TRUE(manifest.device_kinds.contains(DeviceKind::named));
    EXPECT_FALSE(manifest.dlpack_import_from.contains(DeviceKind::accelerator));
    EXPECT_TRUE(manifest.dlpack_export_from.contains(DeviceKind::accelerator));
    EXPECT_TRUE(manifest.legacy_dlpack);
    EXPECT_EQ(manifest.alignment, 64U);
    EXPECT_EQ(manifest.strides, StrideSupport::non_negative);
    EXPECT_TRUE(manifest.imports_read_only);
    EXPECT_EQ(manifest.max_ndim, 32);
    EXPECT_FALSE(manifest.mutable_arrays);
    EXPECT_TRUE(manifest.dtypes.contains(DType::boolean()));
    EXPECT_FALSE(manifest.dtypes.contains(DType::float64()));
    EXPECT_EQ(manifest.roles, std::vector<std::string>{"HostDevices"});
    EXPECT_EQ(manifest.operations, (std::vector<std::string>{"max", "min"}));
    EXPECT_EQ(manifest.oom_messages, std::vector<std::string>{"out of memory"});
    EXPECT_EQ(manifest.oom_exceptions, std::vector<std::string>{"cuda.OutOfMemoryError"});
    EXPECT_EQ(manifest.text, full);
}

TEST(Manifest, DefaultsAreCautious) {
    const Manifest manifest = Manifest::parse(minimal, "/folder/manifest.json");
    EXPECT_FALSE(manifest.listing.has_value());
    EXPECT_EQ(manifest.shared_object, "/folder/bin/lib.so");
    EXPECT_TRUE(manifest.runtime.name.empty());
    EXPECT_TRUE(manifest.import_module.empty());
    EXPECT_TRUE(manifest.array_modules.empty());
    EXPECT_TRUE(manifest.detected);
    EXPECT_TRUE(manifest.dlpack_import_from.empty());
    EXPECT_EQ(manifest.strides, StrideSupport::compact);
    EXPECT_FALSE(manifest.imports_read_only);
    EXPECT_TRUE(manifest.mutable_arrays);
    EXPECT_EQ(manifest.max_ndim, 64);
    EXPECT_EQ(manifest.exports_to("numpy"), Sharing::never);
}

TEST(Manifest, APartnerWithoutANameIsTheStar) {
    const Manifest manifest = Manifest::parse(full, "/folder/manifest.json");
    EXPECT_EQ(manifest.exports_to("numpy"), Sharing::on_request);
    EXPECT_EQ(manifest.exports_to("jax"), Sharing::by_default);
    EXPECT_EQ(manifest.imports_from("jax"), Sharing::by_default);
    EXPECT_EQ(manifest.imports_from("numpy"), Sharing::never);
}

TEST(Manifest, SyntaxErrorsHaveALineAndAColumn) {
    EXPECT_TRUE(refusal("{\n  \"a\": 1,\n  oops}").starts_with("/folder/manifest.json:3:3: syntax error"))
        << refusal("{\n  \"a\": 1,\n  oops}");
    EXPECT_TRUE(refusal("").starts_with("/folder/manifest.json:1:1: "));
    EXPECT_TRUE(refusal("\xEF\xBB\xBF{}").starts_with("/folder/manifest.json:1:1: starts with a byte order mark"));
    EXPECT_NE(refusal(changed("Small",
                              "Sm\xff"
                              "ll"))
                  .find("/folder/manifest.json:2:"),
              std::string::npos);
    EXPECT_NE(refusal(std::string(minimal) + " x").find(":4:3: "), std::string::npos)
        << refusal(std::string(minimal) + " x");
    EXPECT_NE(refusal(changed("1,", "NaN,")).find(":2:21: "), std::string::npos) << refusal(changed("1,", "NaN,"));
    EXPECT_NE(refusal(changed("1,", "1e999,")).find("number overflow"), std::string::npos);
}

TEST(Manifest, MessagesAreShortAndUtf8) {
    EXPECT_LT(refusal(changed("small", std::string(100000, 'A'))).size(), 600U);
    EXPECT_LT(refusal(changed("\"small\"", std::string(100000, '"'))).size(), 600U);
    EXPECT_EQ(refusal(changed("small", "sm\xe4ll")).find('\xe4'), std::string::npos);
}

TEST(Manifest, OtherErrorsHaveAJsonPointer) {
    EXPECT_EQ(refusal(changed("\"devices\"", "\"imports\": {\"alignment\": 3}, \"devices\"")),
              "/folder/manifest.json: /imports/alignment: 3 is not a power of two");
    EXPECT_EQ(refusal(changed("\"host\"", "\"hots\"")),
              "/folder/manifest.json: /devices/0: \"hots\" is not one of 'host', 'accelerator', 'named'");
    EXPECT_EQ(refusal("[]"), "/folder/manifest.json: /: is of type array; it has to be an object");
    EXPECT_EQ(refusal(changed("\"abi\": \"1.0\", ", "")),
              "/folder/manifest.json: /plugin: has no 'abi', which is required");
    EXPECT_TRUE(refusal(changed("\"devices\"", "\"a/b~c\": 1, \"devices\""))
                    .starts_with("/folder/manifest.json: /a~1b~0c: unknown key; known are 'schema_version', "));
    EXPECT_EQ(refusal(changed("\"abi\"", "\"stamp\": \"other\", \"abi\"")),
              "/folder/manifest.json: /plugin/stamp: the key is there twice; remove one");
}

TEST(Manifest, ANewerSchemaIsRefusedByName) {
    const std::string reason = refusal(changed("\"schema_version\": 1", "\"schema_version\": 2, \"brand_new\": true"));
    EXPECT_NE(reason.find("/schema_version: schema version 2 is newer than 1"), std::string::npos) << reason;
    EXPECT_NE(reason.find("update arraybridge to use 'small'"), std::string::npos) << reason;
}

TEST(Manifest, RefusesWhatIsTooLargeOrTooDeep) {
    EXPECT_NE(refusal(std::string(Manifest::max_bytes + 1, ' ')).find("larger than"), std::string::npos);
    const std::string nested = "\"x-deep\": " + std::string(15, '[') + std::string(15, ']') + ", \"devices\"";
    EXPECT_NO_THROW(Manifest::parse(changed("\"devices\"", nested), "/folder/manifest.json"));
    const std::string deeper = "\"x-deep\": " + std::string(16, '[') + std::string(16, ']') + ", \"devices\"";
    EXPECT_EQ(refusal(changed("\"devices\"", deeper)),
              "/folder/manifest.json: /x-deep/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0: nested deeper than 16 levels");
    EXPECT_NE(refusal(std::string(500000, '[')).find("nested deeper"), std::string::npos);
}

TEST(Manifest, RefusesBadNames) {
    for (const char* name : {"", "Torch", "1a", "_a", "a-b", "a b", "a\\n", "\\u0000", "a.b"}) {
        EXPECT_NE(refusal(changed("\"small\"", "\"" + std::string(name) + "\"")).find("/name: "), std::string::npos)
            << name;
    }
    EXPECT_NE(refusal(changed("\"small\"", "\"" + std::string(65, 'a') + "\"")).find("/name: "), std::string::npos);
    EXPECT_NO_THROW(Manifest::parse(changed("\"small\"", "\"" + std::string(64, 'a') + "\""), "/folder/manifest.json"));
}

TEST(Manifest, KeepsTheSharedObjectInItsFolder) {
    for (const char* object :
         {"../lib.so", "a/../../lib.so", "/lib.so", ".", "a//b", "a/", "", "C:\\\\lib.dll", "a\\u0000b"}) {
        const std::string reason = refusal(changed("\"bin/lib.so\"", "\"" + std::string(object) + "\""));
        EXPECT_NE(reason.find("/plugin/shared_object: "), std::string::npos) << reason;
    }
}

TEST(Manifest, KeepsTheSharedObjectInItsFolderBehindLinksToo) {
    const auto root = std::filesystem::path(testing::TempDir()) / ("links-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root / "plugin" / "real");
    std::filesystem::create_directory_symlink(root, root / "plugin" / "bin");
    const std::string reason = refusal(minimal, root / "plugin" / "manifest.json");
    EXPECT_NE(reason.find("leads outside the manifest's folder"), std::string::npos) << reason;
    std::filesystem::remove(root / "plugin" / "bin");
    std::filesystem::create_directory_symlink("real", root / "plugin" / "bin");
    EXPECT_NO_THROW(Manifest::parse(minimal, root / "plugin" / "manifest.json"));
    std::filesystem::create_directory_symlink("plugin", root / "alias");
    EXPECT_NO_THROW(Manifest::parse(minimal, root / "alias" / "manifest.json"));
    std::filesystem::remove_all(root);
}

TEST(Manifest, ReadSaysWhyAFileCannotBeRead) {
    for (const std::string& path :
         {std::string("/nowhere/manifest.json"), std::string("/"), std::string("/dev/null")}) {
        try {
            Manifest::read(path);
            ADD_FAILURE() << path;
        } catch (const ManifestError& error) {
            EXPECT_TRUE(std::string(error.what()).starts_with(path + ": ")) << error.what();
        }
    }
}

TEST(Manifest, TakesTheValidCorpusAndRefusesTheInvalidOne) {
    int valid = 0;
    int invalid = 0;
    for (const auto& file : std::filesystem::directory_iterator(ARRAYBRIDGE_CORPUS "/valid")) {
        EXPECT_NO_THROW(Manifest::read(file.path())) << file.path();
        ++valid;
    }
    for (const auto& file : std::filesystem::directory_iterator(ARRAYBRIDGE_CORPUS "/invalid")) {
        EXPECT_THROW(Manifest::read(file.path()), ManifestError) << file.path();
        ++invalid;
    }
    EXPECT_GE(valid, 10);
    EXPECT_GE(invalid, 40);
}

#pragma once

#include <gtest/gtest.h>

#include <arraybridge/registry.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

/// A test of the process's registry. The registry reads its environment once and lives as long as the process: ctest
/// gives each test a process; when several run in one, all but the first are skipped.
class RegistryProcess : public testing::Test {
protected:
    void SetUp() override {
        static bool used = false;
        if (used) GTEST_SKIP() << "takes a process of its own: run it through ctest, or alone with --gtest_filter";
        used = true;
        for (const char* name : {"ARRAYBRIDGE_PLUGIN_PATH", "ARRAYBRIDGE_SELECT", "ARRAYBRIDGE_DISABLE"})
            unsetenv(name);
        setenv("XDG_DATA_HOME", (scratch() / "data").c_str(), 1);
    }

    void TearDown() override {
        std::error_code ignored;
        if (!scratch_.empty()) std::filesystem::remove_all(scratch_, ignored);
    }

    /// The folder of one fixture, as an element of the plugin path.
    static std::string fixture(std::string_view name) { return ARRAYBRIDGE_FIXTURES "/" + std::string(name); }

    static void set_plugin_path(std::initializer_list<std::string> elements) {
        std::string list;
        for (const std::string& element : elements) list += (list.empty() ? "" : ":") + element;
        setenv("ARRAYBRIDGE_PLUGIN_PATH", list.c_str(), 1);
    }

    /// A folder of this test alone.
    const std::filesystem::path& scratch() {
        if (scratch_.empty()) {
            std::string pattern = (std::filesystem::temp_directory_path() / "arraybridge-test-XXXXXX").string();
            scratch_ = std::filesystem::canonical(mkdtemp(pattern.data()));
        }
        return scratch_;
    }

    /// Writes a file below `scratch()`, with the folders above it.
    std::filesystem::path write(const std::filesystem::path& relative, std::string_view text) {
        const std::filesystem::path path = scratch() / relative;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }

    /// The text of a manifest of the library `name`; `more` is added to its members.
    static std::string manifest_text(std::string_view name, std::string_view more = "") {
        return R"({"schema_version": 1, "name": ")" + std::string(name) +
               R"(", "display_name": "A test", "devices": ["host"], "dtypes": ["float32"],)"
               R"( "plugin": {"shared_object": "lib.so", "abi": "1.0", "stamp": "any"})" +
               std::string(more) + "}";
    }

    static std::vector<std::string> names(const std::vector<const arraybridge::LibraryEntry*>& entries) {
        std::vector<std::string> all;
        for (const auto* entry : entries) all.push_back(entry->name());
        return all;
    }

    /// What is wrong with `name`; an empty text if nothing is.
    static std::string reason_of(std::string_view name, bool shadowed = false) {
        for (const auto& problem : arraybridge::Registry::instance().problems()) {
            if (problem.name == name && problem.shadowed == shadowed) return problem.reason;
        }
        return "";
    }

    /// The message of the exception of type `Error` that `function` throws.
    template <class Error, class Function>
    static std::string message_of(Function&& function) {
        try {
            function();
        } catch (const Error& error) {
            return error.what();
        }
        ADD_FAILURE() << "nothing was thrown";
        return "";
    }

private:
    std::filesystem::path scratch_;
};

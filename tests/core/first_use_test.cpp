// The first use of a library from many threads at once.

#include <arraybridge/array_library.hpp>
#include <arraybridge/error.hpp>
#include <arraybridge/registry.hpp>
#include <barrier>
#include <set>
#include <thread>

#include "registry_process.hpp"

using namespace arraybridge;

namespace {

constexpr int thread_count = 16;

/// What `function` answers in each of many threads that start together.
template <class Function>
auto from_many_threads(Function function) {
    std::vector<decltype(function())> answers(thread_count);
    std::barrier start(thread_count);
    std::vector<std::thread> threads;
    for (auto& answer : answers) {
        threads.emplace_back([&] {
            start.arrive_and_wait();
            answer = function();
        });
    }
    for (std::thread& thread : threads) thread.join();
    return answers;
}

}  // namespace

class FirstUseTest : public RegistryProcess {};

TEST_F(FirstUseTest, AllThreadsGetTheSameLibrary) {
    set_plugin_path({fixture("slow")});
    const auto answers = from_many_threads([] { return &Registry::instance().named("slow"); });
    EXPECT_EQ(std::set(answers.begin(), answers.end()).size(), 1U);
    EXPECT_EQ(Registry::instance().entry("slow").loaded(), answers.front());
}

TEST_F(FirstUseTest, AFailureReachesEveryThreadAndIsOneProblem) {
    set_plugin_path({fixture("factory_throws")});
    const auto failures = from_many_threads([] {
        try {
            Registry::instance().named("factory_throws");
        } catch (const PluginError& error) {
            return std::string(error.what());
        }
        return std::string();
    });
    EXPECT_EQ(std::set(failures.begin(), failures.end()).size(), 1U);
    EXPECT_NE(failures.front().find("no luck today"), std::string::npos);
    EXPECT_EQ(Registry::instance().problems().size(), 1U);
}

TEST_F(FirstUseTest, AFailureIsNotRemembered) {
    bool installed = false;
    set_plugin_path({fixture("good")});
    ArrayLibrary& good = Registry::instance().named("good");
    const auto factory = [&](const LibraryEntry&) -> std::unique_ptr<ArrayLibrary> {
        if (!installed) throw NotInstalled("not yet", "later");
        throw PluginError("reached");
    };
    const LibraryEntry& later =
        Registry::instance().add(Manifest::parse(manifest_text("later"), "/program/manifest.json"), factory);
    EXPECT_THROW(later.library(), NotInstalled);
    installed = true;
    EXPECT_THROW(later.library(), PluginError);
    EXPECT_EQ(&Registry::instance().named("good"), &good);
}

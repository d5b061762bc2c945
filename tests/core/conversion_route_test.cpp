// What two manifests say about the ways between them, without a library being loaded.

#include <arraybridge/conversion_route.hpp>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

using Ways = std::vector<Mechanism>;
constexpr auto buffer = Mechanism::shared_host_buffer;
constexpr auto dlpack = Mechanism::dlpack;
constexpr auto copy = Mechanism::host_copy;
constexpr auto move = Mechanism::device_move;
constexpr auto stay = Mechanism::stays_in_place;

const Device gpu = Device::accelerator(0);
const Device other_gpu = Device::accelerator(1);
const Device tpu = Device::named("tpu:0");

/// An entry whose library must not be made.
const LibraryEntry& add_entry(std::string_view name, const Rules& rules = {}) {
    return Registry::instance().add(manifest_of(name, rules), [](const LibraryEntry&) {
        ADD_FAILURE() << "a route loads nothing";
        return std::unique_ptr<ArrayLibrary>();
    });
}

Ways ways(const LibraryEntry& source, const Device& from, const LibraryEntry& target, const Device& to,
          CopyMode mode = CopyMode::as_needed) {
    const auto candidates = ConversionRoute::between(source, from, target, to, mode).candidates();
    return {candidates.begin(), candidates.end()};
}

}  // namespace

class ConversionRouteTest : public RegistryProcess {};

TEST_F(ConversionRouteTest, MechanismsHaveLabels) {
    EXPECT_EQ(label(stay), "stays in place");
    EXPECT_EQ(label(move), "device move");
    EXPECT_EQ(label(dlpack), "dlpack");
    EXPECT_EQ(label(buffer), "shared host buffer");
    EXPECT_EQ(label(copy), "host copy");
}

TEST_F(ConversionRouteTest, WithinOneLibrary) {
    const LibraryEntry& one = add_entry("one", {.devices = R"(["host", "accelerator"])"});
    for (const Device& device : {HOST, gpu, tpu}) {
        EXPECT_EQ(ways(one, device, one, device), Ways{stay});
        EXPECT_EQ(ways(one, device, one, device, CopyMode::never), Ways{stay});
    }
    EXPECT_EQ(ways(one, HOST, one, HOST, CopyMode::always), Ways{copy});
    EXPECT_EQ(ways(one, gpu, one, gpu, CopyMode::always), Ways{move});
    EXPECT_EQ(ways(one, HOST, one, gpu), Ways{move});
    EXPECT_EQ(ways(one, gpu, one, other_gpu), Ways{move});
    EXPECT_EQ(ways(one, gpu, one, HOST, CopyMode::always), Ways{move});
    EXPECT_EQ(ways(one, HOST, one, gpu, CopyMode::never), Ways{});
}

TEST_F(ConversionRouteTest, TheSharedMechanismHasAnotherNameWithNumpy) {
    const LibraryEntry& numpy = add_entry("numpy");
    const LibraryEntry& one = add_entry("one");
    const LibraryEntry& two = add_entry("two");
    EXPECT_EQ(ways(numpy, HOST, one, HOST), (Ways{buffer, copy}));
    EXPECT_EQ(ways(one, HOST, numpy, HOST), (Ways{buffer, copy}));
    EXPECT_EQ(ways(one, HOST, two, HOST), (Ways{dlpack, copy}));
    EXPECT_EQ(ways(numpy, HOST, one, HOST, CopyMode::never), Ways{buffer});
    EXPECT_EQ(ways(one, HOST, two, HOST, CopyMode::never), Ways{dlpack});
    EXPECT_EQ(ways(one, HOST, two, HOST, CopyMode::always), Ways{copy});
}

TEST_F(ConversionRouteTest, TheMoreCarefulSideDecides) {
    const char* const texts[] = {"never", "on_request", "by_default"};
    for (int out = 0; out < 3; ++out) {
        for (int in = 0; in < 3; ++in) {
            SCOPED_TRACE(std::string(texts[out]) + " out, " + texts[in] + " in");
            const std::string suffix = std::to_string(out) + std::to_string(in);
            const LibraryEntry& source =
                add_entry("out" + suffix, {.shares_out = R"({"*": ")" + std::string(texts[out]) + "\"}"});
            const LibraryEntry& target =
                add_entry("in" + suffix, {.shares_in = R"({"*": ")" + std::string(texts[in]) + "\"}"});
            const auto agreed = static_cast<Sharing>(std::min(out, in));
            EXPECT_EQ(ConversionRoute::between(source, HOST, target, HOST).sharing(), agreed);
            EXPECT_EQ(ways(source, HOST, target, HOST),
                      agreed == Sharing::by_default ? (Ways{dlpack, copy}) : Ways{copy});
            EXPECT_EQ(ways(source, HOST, target, HOST, CopyMode::never),
                      agreed == Sharing::never ? Ways{} : Ways{dlpack});
            EXPECT_EQ(ways(source, HOST, target, HOST, CopyMode::always), Ways{copy});
        }
    }
}

TEST_F(ConversionRouteTest, ANamedPartnerComesBeforeEverybodyElse) {
    const LibraryEntry& source = add_entry("source", {.shares_out = R"({"*": "never", "friend": "by_default"})"});
    EXPECT_EQ(ways(source, HOST, add_entry("friend"), HOST), (Ways{dlpack, copy}));
    EXPECT_EQ(ways(source, HOST, add_entry("stranger"), HOST), Ways{copy});
    const LibraryEntry& shy = add_entry("shy", {.shares_out = R"({"friend": "by_default"})"});
    EXPECT_EQ(ways(shy, HOST, add_entry("nobody"), HOST), Ways{copy});
}

TEST_F(ConversionRouteTest, NothingIsSharedThatOneSideCannotDescribeOrWrap) {
    const LibraryEntry& open = add_entry("open");
    EXPECT_EQ(ways(add_entry("mute", {.dlpack_export = "[]"}), HOST, open, HOST), Ways{copy});
    EXPECT_EQ(ways(open, HOST, add_entry("deaf", {.dlpack_import = "[]"}), HOST), Ways{copy});
}

TEST_F(ConversionRouteTest, BetweenDevices) {
    const Rules both{.devices = R"(["host", "accelerator", "named"])",
                     .dlpack_import = R"(["host", "accelerator", "named"])",
                     .dlpack_export = R"(["host", "accelerator", "named"])"};
    const LibraryEntry& one = add_entry("one", both);
    const LibraryEntry& two = add_entry("two", both);
    const LibraryEntry& host_only = add_entry("host_only");
    EXPECT_EQ(ways(one, gpu, two, gpu), (Ways{dlpack, copy}));
    EXPECT_EQ(ways(one, tpu, two, tpu), (Ways{dlpack, copy}));
    EXPECT_EQ(ways(one, gpu, two, gpu, CopyMode::never), Ways{dlpack});
    EXPECT_EQ(ways(one, gpu, two, gpu, CopyMode::always), Ways{copy});
    EXPECT_EQ(ways(one, gpu, two, HOST), Ways{copy});
    EXPECT_EQ(ways(one, HOST, two, gpu), Ways{copy});
    EXPECT_EQ(ways(one, gpu, two, tpu), Ways{copy});
    EXPECT_EQ(ways(one, gpu, two, HOST, CopyMode::never), Ways{});
    EXPECT_EQ(ways(one, gpu, host_only, HOST), Ways{copy});
    EXPECT_EQ(ways(one, HOST, two, HOST), (Ways{dlpack, copy}));
}

TEST_F(ConversionRouteTest, NumpyOnADeviceIsLikeAnyOther) {
    const Rules both{.devices = R"(["host", "accelerator"])",
                     .dlpack_import = R"(["host", "accelerator"])",
                     .dlpack_export = R"(["host", "accelerator"])"};
    EXPECT_EQ(ways(add_entry("numpy", both), gpu, add_entry("one", both), gpu), (Ways{dlpack, copy}));
}

TEST_F(ConversionRouteTest, TheAnswerStaysTheSameAndHasADirection) {
    const LibraryEntry& giver = add_entry("giver", {.shares_in = R"({"*": "never"})"});
    const LibraryEntry& taker = add_entry("taker", {.shares_out = R"({"*": "on_request"})"});
    for (int round = 0; round < 3; ++round) {
        EXPECT_EQ(ways(giver, HOST, taker, HOST), (Ways{dlpack, copy}));
        EXPECT_EQ(ways(taker, HOST, giver, HOST), Ways{copy});
        EXPECT_EQ(ways(taker, HOST, giver, HOST, CopyMode::never), Ways{});
    }
}

TEST_F(ConversionRouteTest, ManyLibrariesAreNoOtherCase) {
    std::vector<const LibraryEntry*> entries;
    for (int i = 0; i < 80; ++i) {
        Rules rules;
        if (i % 3 == 1) rules.shares_out = R"({"*": "on_request"})";
        if (i % 5 == 1) rules.shares_in = R"({"*": "never"})";
        entries.push_back(&add_entry("library" + std::to_string(i), rules));
    }
    for (int from = 0; from < 80; ++from) {
        for (int to = 0; to < 80; ++to) {
            if (from == to) continue;
            const bool shared = from % 3 != 1 && to % 5 != 1;
            ASSERT_EQ(
                ways(*entries[static_cast<std::size_t>(from)], HOST, *entries[static_cast<std::size_t>(to)], HOST),
                shared ? (Ways{dlpack, copy}) : Ways{copy})
                << from << " to " << to;
        }
    }
}

#include <arraybridge/conversion.hpp>
#include <arraybridge/error.hpp>
#include <new>
#include <thread>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"
#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

const Device gpu = Device::accelerator(0);
const Device other_gpu = Device::accelerator(1);
const Layout plane = make_layout("plane", {4, 6}, {6, 1});
constexpr CopyMode every_mode[] = {CopyMode::as_needed, CopyMode::never, CopyMode::always};

const Rules with_accelerators{.devices = R"(["host", "accelerator"])",
                              .dlpack_import = R"(["host", "accelerator"])",
                              .dlpack_export = R"(["host", "accelerator"])"};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// What a framework raises where nothing else helps.
class OutOfMemory : public FrameworkError {
public:
    using FrameworkError::FrameworkError;
    bool must_propagate() const noexcept override { return true; }
};

/// What a framework raises, of a type of its own.
class OwnError : public FrameworkError {
public:
    using FrameworkError::FrameworkError;
};

}  // namespace

class ConversionTest : public RegistryProcess {
protected:
    TensorView memory(const Layout& layout = plane, DType dtype = DType::float32(), std::size_t offset = 0) {
        return make_tensor(layout, dtype, released, offset);
    }

    TensorView on(const Device& device, TensorView view) {
        view.device = device;
        view.dlpack().device = {device.is_host() ? kDLCPU : kDLCUDA, device.index()};
        return view;
    }

    static SampleLibrary& add_with_accelerators(std::string_view name) {
        SampleLibrary& library = SampleLibrary::add(name, with_accelerators);
        library.places = {HOST, gpu, other_gpu};
        return library;
    }

    /// That `target` gets the values of `array` in memory of its own, and cannot share it for `reason`.
    void expect_copied(const Array& array, SampleLibrary& target, std::string_view reason) {
        const TensorView source = array.view();
        const int before = target.imports;
        EXPECT_PRED2(contains, message_of<CannotShare>([&] { convert(array, target, HOST, CopyMode::never); }), reason);
        EXPECT_EQ(target.imports, before) << "what a library could refuse is not shown to it";
        const Array result = convert(array, target);
        EXPECT_NE(result.view().data(), source.data());
        EXPECT_EQ(naive_bytes(result.view()), naive_bytes(source));
        EXPECT_FALSE(result.view().is_read_only());
    }

    std::atomic<int> released{0};
};

// ----- sharing -----

TEST_F(ConversionTest, SharesByDefault) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    Array array = one.make(memory());
    {
        const Array result = convert(array, two);
        EXPECT_EQ(&result.library(), &two);
        EXPECT_EQ(result.view().data(), array.view().data());
        *static_cast<char*>(result.view().data()) = 77;
        EXPECT_EQ(*static_cast<char*>(array.view().data()), 77);
        array.reset();
        EXPECT_EQ(released, 0) << "the result keeps the source's memory";
    }
    EXPECT_EQ(released, 1);
    EXPECT_EQ(one.living + two.living, 0);
    EXPECT_EQ(one.copies + two.copies, 0);
}

TEST_F(ConversionTest, SharesEveryLayoutThatTheTargetCanExpress) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    for (const Layout& layout : every_layout()) {
        SCOPED_TRACE(layout.name);
        const Array array = one.make(memory(layout));
        const Array result = convert(array, two, HOST, CopyMode::never);
        const TensorView view = result.view();
        EXPECT_EQ(view.data(), array.view().data());
        EXPECT_TRUE(std::equal(view.strides().begin(), view.strides().end(), layout.strides.begin()));
        EXPECT_EQ(naive_bytes(view), naive_bytes(array.view()));
    }
}

TEST_F(ConversionTest, CopiesEveryLayoutIntoCompactAlignedMemory) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"strides": "compact", "alignment": 64})"});
    for (const Layout& layout : every_layout()) {
        for (const CopyMode mode : {CopyMode::as_needed, CopyMode::always}) {
            SCOPED_TRACE(layout.name);
            const Array array = one.make(memory(layout, DType::int16(), 2));
            const Array result = convert(array, two, HOST, mode);
            EXPECT_TRUE(result.view().is_contiguous());
            EXPECT_EQ(naive_bytes(result.view()), naive_bytes(array.view()));
            if (product(layout.shape) == 0) continue;
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(result.view().data()) % 64, 0U);
            EXPECT_NE(result.view().data(), array.view().data());
        }
    }
}

TEST_F(ConversionTest, AnEmptyOneNeedsNoAlignment) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"alignment": 64})"});
    const Array array = one.make(memory(make_layout("empty", {0, 3}, {3, 1}), DType::float32(), 3));
    EXPECT_EQ(naive_bytes(convert(array, two, HOST, CopyMode::never).view()).size(), 0U);
}

TEST_F(ConversionTest, SharesOnRequestOnly) {
    SampleLibrary& one = SampleLibrary::add("one", {.shares_out = R"({"*": "on_request"})"});
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(memory());
    EXPECT_NE(convert(array, two).view().data(), array.view().data());
    EXPECT_EQ(convert(array, two, HOST, CopyMode::never).view().data(), array.view().data());
    EXPECT_NE(convert(array, two, HOST, CopyMode::always).view().data(), array.view().data());
}

TEST_F(ConversionTest, NeverShares) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.shares_in = R"({"*": "never"})"});
    expect_copied(one.make(memory()), two, "Library one and Library two cannot share memory");
}

TEST_F(ConversionTest, StaysInPlace) {
    SampleLibrary& one = SampleLibrary::add("one");
    for (const CopyMode mode : {CopyMode::as_needed, CopyMode::never}) {
        const Array array = one.make(memory());
        const Array result = convert(array, one, HOST, mode);
        EXPECT_EQ(result.native(), array.native());
    }
    EXPECT_EQ(released, 2);
    EXPECT_EQ(one.exports + one.imports, 0);
}

TEST_F(ConversionTest, ACopyIsACopyAlsoWithinOneLibrary) {
    SampleLibrary& one = add_with_accelerators("one");
    for (const Device& device : {HOST, gpu}) {
        const Array array = one.make(on(device, memory()));
        const Array result = convert(array, one, device, CopyMode::always);
        EXPECT_NE(result.native(), array.native());
        EXPECT_NE(result.view().data(), array.view().data());
        EXPECT_EQ(result.view().device, device);
        EXPECT_EQ(naive_bytes(result.view()), naive_bytes(array.view()));
    }
    EXPECT_EQ(one.living, 0);
    EXPECT_EQ(released, 2);
}

TEST_F(ConversionTest, WhatTheTargetCannotExpressIsCopied) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& strict = SampleLibrary::add("strict", {.imports = R"({"strides": "compact", "alignment": 64})"});
    SampleLibrary& forward = SampleLibrary::add("forward", {.imports = R"({"strides": "non_negative"})"});
    TensorView read_only = memory();
    read_only.flags |= tensor_read_only;
    expect_copied(one.make(std::move(read_only)), strict, "read-only");
    expect_copied(one.make(memory(plane, DType::float32(), 16)), strict, "multiple of 64");
    expect_copied(one.make(memory(plane, DType::float32(), 2)), forward, "multiple of 4");
    expect_copied(one.make(memory(make_layout("column-major", {4, 6}, {1, 4}))), strict, "without gaps");
    expect_copied(one.make(memory(make_layout("reversed", {6}, {-1}))), forward, "not negative");
}

TEST_F(ConversionTest, ReadOnlyMemoryIsSharedWhereItStaysSo) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    TensorView read_only = memory();
    read_only.flags |= tensor_read_only;
    const Array array = one.make(std::move(read_only));
    const Array result = convert(array, two);
    EXPECT_EQ(result.view().data(), array.view().data());
    EXPECT_TRUE(result.view().is_read_only());
    EXPECT_FALSE(convert(array, two, HOST, CopyMode::always).view().is_read_only());
}

TEST_F(ConversionTest, WhatTheExporterCopiedIsNotCopiedAgain) {
    SampleLibrary& one = SampleLibrary::add("one");
    one.describes_only_compact = true;
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"strides": "compact"})"});
    const Array array = one.make(memory(make_layout("reversed", {6}, {-1})));
    const Array result = convert(array, two);
    EXPECT_EQ(one.copies, 1);
    EXPECT_EQ(two.last_imported, result.view().data());
    EXPECT_EQ(message_of<CannotShare>([&] { convert(array, two, HOST, CopyMode::never); }),
              "only compact arrays can be described");
    EXPECT_NE(convert(array, two, HOST, CopyMode::always).view().data(), result.view().data());
    EXPECT_EQ(one.copies, 2);
}

TEST_F(ConversionTest, ACopyCanBeSharedOnTheNextHop) {
    const Rules particular{.imports = R"({"strides": "compact", "alignment": 64})"};
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", particular);
    SampleLibrary& three = SampleLibrary::add("three", particular);
    const Array copy = convert(one.make(memory(make_layout("reversed", {6}, {-1}), DType::int8(), 5)), two);
    EXPECT_EQ(convert(copy, three, HOST, CopyMode::never).view().data(), copy.view().data());
}

TEST_F(ConversionTest, ALongCopyLetsOtherThreadsRun) {
    static std::atomic<int> released_locks{0};
    static std::atomic<int> restored_locks{0};
    static int token = 0;
    Registry::instance().provide({"python", "test",
                                  [] {
                                      ++released_locks;
                                      return static_cast<void*>(&token);
                                  },
                                  [](void* given) { restored_locks += given == &token ? 1 : 1000; }});
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    convert(one.make(memory()), two, HOST, CopyMode::always);
    EXPECT_EQ(released_locks, 0) << "a short one is over before that pays";
    convert(one.make(memory(make_layout("long", {1 << 20}, {1}))), two, HOST, CopyMode::always);
    EXPECT_EQ(released_locks, 1);
    EXPECT_EQ(restored_locks, 1);
}

TEST_F(ConversionTest, MoreAxesThanTheTargetHasAreAnError) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"max_ndim": 1})"});
    const Array array = one.make(memory());
    EXPECT_EQ(message_of<ConversionError>([&] { convert(array, two); }), "Library two takes at most 1 axes, not 2");
    EXPECT_THROW(convert(array, two, HOST, CopyMode::never), CannotShare);
    EXPECT_EQ(two.imports, 0);
}

TEST_F(ConversionTest, ElementsThatShareAByteAreNotReadAsIfTheyDidNot) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    TensorView packed = memory(make_layout("vector", {6}, {1}), DType::parse("int4").value());
    packed.flags = 0;
    const Array array = one.make(std::move(packed));
    EXPECT_THROW(convert(array, two, HOST, CopyMode::always), UnsupportedArray);
}

TEST_F(ConversionTest, ThereHasToBeAnArray) {
    SampleLibrary& one = SampleLibrary::add("one");
    EXPECT_THROW(convert(Array{}, one), UnsupportedArray);
    EXPECT_THROW(explain(Array{}, one), UnsupportedArray);
}

TEST_F(ConversionTest, PluginsOfTwoKindsExchange) {
    set_plugin_path({fixture("good"), fixture("strict")});
    ArrayLibrary& good = Registry::instance().named("good");
    ArrayLibrary& strict = Registry::instance().named("strict");
    const Array array = good.from_dlpack(ManagedTensor(memory()));
    const Array there = convert(array, strict, HOST, CopyMode::never);
    EXPECT_EQ(there.view().data(), array.view().data());
    const Array back = convert(there, good, HOST, CopyMode::never);
    EXPECT_EQ(back.view().data(), array.view().data());
    const Array misaligned = good.from_dlpack(ManagedTensor(memory(plane, DType::float32(), 4)));
    EXPECT_THROW(convert(misaligned, strict, HOST, CopyMode::never), CannotShare);
    EXPECT_EQ(naive_bytes(convert(misaligned, strict).view()), naive_bytes(misaligned.view()));
    const Array complex = good.from_dlpack(ManagedTensor(memory(plane, DType::complex64())));
    EXPECT_THROW(convert(complex, strict), UnsupportedArray);
}

TEST_F(ConversionTest, OneArrayIsConvertedFromManyThreads) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    SampleLibrary& three = SampleLibrary::add("three", {.imports = R"({"strides": "compact"})"});
    Array array = one.make(memory(make_layout("gaps", {50, 20}, {80, 2})));
    const auto expected = naive_bytes(array.view());
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) {
        threads.emplace_back([&, own = array] {
            for (int round = 0; round < 20; ++round) {
                EXPECT_EQ(convert(own, two).view().data(), own.view().data());
                EXPECT_EQ(naive_bytes(convert(own, three).view()), expected);
            }
        });
    }
    array.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 1);
    EXPECT_EQ(one.living + two.living + three.living, 0);
    EXPECT_EQ(one.scopes + two.scopes + three.scopes, 0);
}

// ----- dtypes -----

TEST_F(ConversionTest, ANarrowerDtypeIsWidened) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.dtypes = R"(["int16", "int64", "float32"])"});
    TensorView view = memory(make_layout("reversed", {5}, {-1}), DType::int8());
    for (std::int8_t i = 0; i < 5; ++i) view.data_as<std::int8_t>()[-i] = static_cast<std::int8_t>(3 - 60 * i);
    const Array array = one.make(std::move(view));
    const TensorView result = convert(array, two).view();
    EXPECT_EQ(result.dtype(), DType::int16());
    for (std::int16_t i = 0; i < 5; ++i)
        EXPECT_EQ(result.data_as<std::int16_t>()[i], static_cast<std::int8_t>(3 - 60 * i));
    EXPECT_PRED2(contains, message_of<CannotShare>([&] { convert(array, two, HOST, CopyMode::never); }),
                 "no dtype int8");
}

TEST_F(ConversionTest, ADtypeWithoutAWiderOneIsAnError) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.dtypes = R"(["int16", "float32"])"});
    const Array array = one.make(memory(plane, DType::complex64()));
    for (const CopyMode mode : every_mode) {
        EXPECT_EQ(message_of<UnsupportedArray>([&] { convert(array, two, HOST, mode); }),
                  "Library two has no dtype complex64; it has int16, float32");
    }
    EXPECT_EQ(two.imports, 0);
}

TEST_F(ConversionTest, WhatALibraryHasIsDecidedWhenItRuns) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.has = [](DType dtype) { return dtype != DType::int32(); };
    const Array array = one.make(memory(plane, DType::int32()));
    EXPECT_EQ(convert(array, two).view().dtype(), DType::int64());
    two.has = [](DType) { return true; };
    EXPECT_EQ(convert(array, two).view().dtype(), DType::int32());
    // The source has to be able to make the wider one.
    two.has = [](DType dtype) { return dtype != DType::int32(); };
    one.has = [](DType dtype) { return dtype != DType::int64(); };
    EXPECT_THROW(convert(array, two), UnsupportedArray);
}

// ----- devices -----

TEST_F(ConversionTest, AMissingDeviceIsFoundBeforeAnythingMoves) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = add_with_accelerators("two");
    const Array array = one.make(memory());
    for (const CopyMode mode : every_mode) {
        EXPECT_EQ(message_of<DeviceUnavailable>([&] { convert(array, two, Device::accelerator(7), mode); }),
                  "Library two device accelerator:7 is unavailable; available devices are "
                  "('host', 'accelerator:0', 'accelerator:1')");
        EXPECT_THROW(convert(array, one, gpu, mode), DeviceUnavailable);
    }
    EXPECT_EQ(one.exports + two.imports, 0);
    EXPECT_EQ(one.scopes + two.scopes, 0);
}

TEST_F(ConversionTest, AnUploadNeedsNoCopyInMainMemory) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = add_with_accelerators("two");
    const Array array = one.make(memory());
    const Array result = convert(array, two, gpu);
    EXPECT_EQ(two.last_imported, array.view().data());
    EXPECT_EQ(two.last_import.device, gpu);
    EXPECT_EQ(two.device_of(result), gpu);
    EXPECT_EQ(naive_bytes(result.view()), naive_bytes(array.view()));
    EXPECT_PRED2(contains, message_of<CannotShare>([&] { convert(array, two, gpu, CopyMode::never); }), "is a copy");
}

TEST_F(ConversionTest, ADownloadIsOneCopy) {
    SampleLibrary& one = add_with_accelerators("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"strides": "compact", "alignment": 64})"});
    const Array array = one.make(on(gpu, memory()));
    const auto expected = naive_bytes(array.view());
    for (const CopyMode mode : {CopyMode::as_needed, CopyMode::always}) {
        one.copies = 0;
        const Array result = convert(array, two, HOST, mode);
        EXPECT_EQ(two.last_imported, result.view().data());
        EXPECT_EQ(one.copies, 1);
        EXPECT_EQ(naive_bytes(result.view()), expected);
    }
    EXPECT_PRED2(contains, message_of<CannotShare>([&] { convert(array, two, HOST, CopyMode::never); }),
                 "the array is on accelerator:0");
}

TEST_F(ConversionTest, TwoLibrariesShareADevice) {
    SampleLibrary& one = add_with_accelerators("one");
    SampleLibrary& two = add_with_accelerators("two");
    const Array array = one.make(on(gpu, memory()));
    EXPECT_EQ(convert(array, two, gpu).view().data(), array.view().data());
    EXPECT_EQ(convert(array, two, gpu, CopyMode::never).view().data(), array.view().data());
    const Array copy = convert(array, two, gpu, CopyMode::always);
    EXPECT_NE(copy.view().data(), array.view().data());
    EXPECT_EQ(copy.view().device, gpu);
    EXPECT_EQ(naive_bytes(copy.view()), naive_bytes(array.view()));
}

TEST_F(ConversionTest, StreamsAreToldToBothSides) {
    SampleLibrary& one = add_with_accelerators("one");
    SampleLibrary& two = add_with_accelerators("two");
    one.stream = 1234;
    two.stream = 5678;
    convert(one.make(on(gpu, memory())), two, gpu);
    EXPECT_EQ(one.last_export.consumer_stream, 5678);
    EXPECT_EQ(two.last_import.producer_stream, 1234);
    convert(one.make(memory()), two);
    EXPECT_EQ(one.last_export.consumer_stream, no_stream);
    EXPECT_EQ(two.last_import.producer_stream, no_stream);
    EXPECT_EQ(released, 2);
}

TEST_F(ConversionTest, WithinALibraryItMovesByItself) {
    SampleLibrary& one = add_with_accelerators("one");
    const Array array = one.make(memory());
    const Array there = convert(array, one, gpu);
    EXPECT_EQ(there.view().device, gpu);
    EXPECT_EQ(convert(there, one, HOST).view().device, HOST);
    EXPECT_EQ(one.imports, 0);
    EXPECT_THROW(convert(array, one, gpu, CopyMode::never), CannotShare);
}

TEST_F(ConversionTest, AnExporterThatDoesNotBringItsDataIsAnError) {
    SampleLibrary& one = add_with_accelerators("one");
    one.ignores_to_host = true;
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(on(gpu, memory()));
    EXPECT_THROW(convert(array, two), ConversionError);
    EXPECT_EQ(two.imports, 0) << "memory of a device is not to be read here";
}

// ----- failures -----

TEST_F(ConversionTest, AnExporterThatDescribesNonsenseIsRefused) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    one.on_export = [](const ExportRequest&, TensorView& out) {
        out.dlpack().ndim = -1;
        return Decline();
    };
    {
        const Array array = one.make(memory());
        for (const CopyMode mode : every_mode) EXPECT_THROW(convert(array, two, HOST, mode), InvalidTensor);
    }
    EXPECT_EQ(two.imports, 0);
    EXPECT_EQ(released, 1);
}

TEST_F(ConversionTest, AnExporterThatDeclinesIsQuoted) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    one.on_export = [](const ExportRequest&, TensorView&) { return Decline("there are no values"); };
    const Array array = one.make(memory());
    EXPECT_EQ(message_of<ConversionError>([&] { convert(array, two); }), "there are no values");
    EXPECT_EQ(message_of<CannotShare>([&] { convert(array, two, HOST, CopyMode::never); }), "there are no values");
}

TEST_F(ConversionTest, AFrameworksErrorDeclinesTheRoute) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.on_import = [&](TensorView&, const ImportRequest&) -> Decline {
        if (two.imports == 1) throw OwnError("not this one");
        return {};
    };
    const Array array = one.make(memory());
    const Array result = convert(array, two);
    EXPECT_NE(result.view().data(), array.view().data());
    EXPECT_EQ(naive_bytes(result.view()), naive_bytes(array.view()));
}

TEST_F(ConversionTest, TheLastRoutesErrorIsTheCallers) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.on_import = [&](TensorView&, const ImportRequest&) -> Decline {
        throw OwnError("failure number " + std::to_string(two.imports));
    };
    const Array array = one.make(memory());
    EXPECT_EQ(message_of<OwnError>([&] { convert(array, two); }), "failure number 2");
    EXPECT_EQ(message_of<OwnError>([&] { convert(array, two, HOST, CopyMode::never); }), "failure number 3");
    EXPECT_EQ(message_of<OwnError>([&] { convert(array, two, HOST, CopyMode::always); }), "failure number 4");
}

TEST_F(ConversionTest, AnErrorThatMustReachTheCallerDoesSoAtOnce) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(memory());
    two.on_import = [](TensorView&, const ImportRequest&) -> Decline { throw OutOfMemory("nothing left"); };
    EXPECT_THROW(convert(array, two), OutOfMemory);
    EXPECT_EQ(two.imports, 1);
    two.on_import = [](TensorView&, const ImportRequest&) -> Decline { throw std::bad_alloc(); };
    EXPECT_THROW(convert(array, two), std::bad_alloc);
    EXPECT_EQ(two.imports, 2);
}

TEST_F(ConversionTest, WhenEveryRouteDeclinesTheLastReasonIsGiven) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.on_import = [&](TensorView&, const ImportRequest&) { return Decline("no, " + std::to_string(two.imports)); };
    const Array array = one.make(memory());
    EXPECT_EQ(message_of<ConversionError>([&] { convert(array, two); }), "no, 2");
    EXPECT_EQ(message_of<CannotShare>([&] { convert(array, two, HOST, CopyMode::never); }), "no, 3");
}

namespace {

/// An import through the two-reference envelope that fails: in which way, and with what the importer does before.
struct FailingImport {
    std::string name;
    void (*during)(DLManagedTensorVersioned*);
    bool throws;
};

const FailingImport failing_imports[] = {
    {"declines", [](auto*) {}, false},
    {"declines after it called the deleter", [](auto* tensor) { tensor->deleter(tensor); }, false},
    {"declines after another thread called the deleter",
     [](auto* tensor) { std::thread([tensor] { tensor->deleter(tensor); }).join(); }, false},
    {"throws", [](auto*) {}, true},
    {"throws after it called the deleter", [](auto* tensor) { tensor->deleter(tensor); }, true},
    {"throws after another thread called the deleter",
     [](auto* tensor) { std::thread([tensor] { tensor->deleter(tensor); }).join(); }, true},
};

Decline fail_in(const FailingImport& way, TensorView& tensor) {
    {
        Envelope envelope(std::move(tensor));
        way.during(envelope.tensor());
        envelope.give_back(tensor);
    }
    if (way.throws) throw OwnError("no");
    return Decline("no");
}

}  // namespace

TEST_F(ConversionTest, EveryKindOfFailureReleasesTheSourceOnce) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    for (const FailingImport& way : failing_imports) {
        for (const CopyMode mode : every_mode) {
            SCOPED_TRACE(way.name);
            released = 0;
            two.on_import = [&](TensorView& tensor, const ImportRequest&) { return fail_in(way, tensor); };
            {
                const Array array = one.make(memory());
                EXPECT_THROW(convert(array, two, HOST, mode), Error);
                EXPECT_EQ(released, 0) << "the array itself is still there";
                EXPECT_EQ(naive_bytes(array.view()).size(), 96U);
            }
            EXPECT_EQ(released, 1);
            EXPECT_EQ(one.living + two.living, 0);
            EXPECT_EQ(one.scopes + two.scopes, 0);
        }
    }
}

TEST_F(ConversionTest, AfterAFailedImportTheCopyIsRight) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    for (const FailingImport& way : failing_imports) {
        SCOPED_TRACE(way.name);
        released = 0;
        two.imports = 0;
        two.on_import = [&](TensorView& tensor, const ImportRequest&) {
            return two.imports == 1 ? fail_in(way, tensor) : Decline();
        };
        {
            Array array = one.make(memory());
            const auto expected = naive_bytes(array.view());
            const Array result = convert(array, two);
            array.reset();
            EXPECT_EQ(released, 1) << "a copy keeps nothing of the source";
            EXPECT_EQ(naive_bytes(result.view()), expected);
        }
        EXPECT_EQ(one.living + two.living, 0);
    }
}

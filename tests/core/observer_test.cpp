#include <arraybridge/conversion.hpp>
#include <arraybridge/error.hpp>
#include <barrier>
#include <stdexcept>
#include <thread>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"
#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

const Layout plane = make_layout("plane", {4, 6}, {6, 1});
const Device gpu = Device::accelerator(0);

class Recorder : public ConversionObserver {
public:
    void record(const ConversionRecord& record) override { records.push_back(record); }
    std::vector<ConversionRecord> records;
};

}  // namespace

class ObserverTest : public RegistryProcess {
protected:
    TensorView memory(const Layout& layout = plane) { return make_tensor(layout, DType::float32(), released); }

    /// The one record that a conversion writes.
    static ConversionRecord record_of(const Array& array, ArrayLibrary& target, CopyMode copy = CopyMode::as_needed,
                                      const Device& device = HOST) {
        Recorder recorder;
        const ObserverScope scope(recorder);
        convert(array, target, device, copy);
        EXPECT_EQ(recorder.records.size(), 1U);
        return recorder.records.empty() ? ConversionRecord{} : recorder.records.front();
    }

    std::atomic<int> released{0};
};

TEST_F(ObserverTest, ARecordSaysWhatWasDone) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(memory());
    const ConversionRecord record = record_of(array, two);
    EXPECT_EQ(record.source_library, "one");
    EXPECT_EQ(record.source_device, HOST);
    EXPECT_EQ(record.target_library, "two");
    EXPECT_EQ(record.target_device, HOST);
    EXPECT_EQ(record.mechanism, Mechanism::dlpack);
    EXPECT_EQ(record.nbytes, 96);
    EXPECT_GE(record.seconds, 0.0);
    EXPECT_LT(record.seconds, 60.0);
    EXPECT_TRUE(record.declined.empty());
    EXPECT_EQ(record_of(array, two, CopyMode::always).mechanism, Mechanism::host_copy);
}

TEST_F(ObserverTest, WithNumpyItIsASharedHostBuffer) {
    SampleLibrary& numpy = SampleLibrary::add("numpy");
    SampleLibrary& two = SampleLibrary::add("two");
    EXPECT_EQ(record_of(numpy.make(memory()), two).mechanism, Mechanism::shared_host_buffer);
    EXPECT_EQ(record_of(two.make(memory()), numpy, CopyMode::never).mechanism, Mechanism::shared_host_buffer);
}

TEST_F(ObserverTest, DeclinedRoutesAreListed) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"strides": "compact"})"});
    const ConversionRecord record = record_of(one.make(memory(make_layout("reversed", {6}, {-1}))), two);
    EXPECT_EQ(record.mechanism, Mechanism::host_copy);
    ASSERT_EQ(record.declined.size(), 1U);
    EXPECT_EQ(record.declined[0].first, Mechanism::dlpack);
    EXPECT_EQ(record.declined[0].second, "Library two needs row-major memory without gaps");
}

TEST_F(ObserverTest, AFrameworksErrorIsADeclinedRoute) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.on_import = [&](TensorView&, const ImportRequest&) -> Decline {
        if (two.imports == 1) throw FrameworkError("what the framework says");
        return {};
    };
    const ConversionRecord record = record_of(one.make(memory()), two);
    EXPECT_EQ(record.mechanism, Mechanism::host_copy);
    ASSERT_EQ(record.declined.size(), 1U);
    EXPECT_EQ(record.declined[0].second, "what the framework says");
}

TEST_F(ObserverTest, AnImporterThatCopiesInSilenceIsNotBelieved) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.on_import = [](TensorView& tensor, const ImportRequest&) {
        tensor = copy_on_host(tensor);
        return Decline();
    };
    const ConversionRecord record = record_of(one.make(memory()), two);
    EXPECT_EQ(record.mechanism, Mechanism::host_copy);
    ASSERT_EQ(record.declined.size(), 1U);
    EXPECT_EQ(record.declined[0].second, "the result begins at another address");
}

TEST_F(ObserverTest, AnExporterThatCopiedSharesNothing) {
    SampleLibrary& one = SampleLibrary::add("one");
    one.describes_only_compact = true;
    SampleLibrary& two = SampleLibrary::add("two");
    EXPECT_EQ(record_of(one.make(memory(make_layout("reversed", {6}, {-1}))), two).mechanism, Mechanism::host_copy);
}

TEST_F(ObserverTest, ATargetThatCannotDescribeItsArraysConvertsAllTheSame) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    two.on_export = [](const ExportRequest&, TensorView&) -> Decline { throw UnsupportedArray("no memory to show"); };
    {
        const Array array = one.make(memory());
        EXPECT_EQ(record_of(array, two).nbytes, 96);
        EXPECT_EQ(record_of(array, two, CopyMode::always).mechanism, Mechanism::host_copy);
    }
    EXPECT_EQ(one.living + two.living, 0) << "no result is lost";
}

TEST_F(ObserverTest, WhatIsEmptyIsShared) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    const ConversionRecord record = record_of(one.make(memory(make_layout("empty", {0, 3}, {3, 1}))), two);
    EXPECT_EQ(record.mechanism, Mechanism::dlpack);
    EXPECT_EQ(record.nbytes, 0);
}

TEST_F(ObserverTest, MovesWithinALibraryAreRecorded) {
    SampleLibrary& one = SampleLibrary::add("one", {.devices = R"(["host", "accelerator"])"});
    one.places = {HOST, gpu};
    const Array array = one.make(memory());
    const ConversionRecord moved = record_of(array, one, CopyMode::as_needed, gpu);
    EXPECT_EQ(moved.mechanism, Mechanism::device_move);
    EXPECT_EQ(moved.source_device, HOST);
    EXPECT_EQ(moved.target_device, gpu);
    EXPECT_EQ(moved.nbytes, 96);
    EXPECT_EQ(record_of(array, one, CopyMode::always).mechanism, Mechanism::host_copy);
    const Array there = convert(array, one, gpu);
    EXPECT_EQ(record_of(there, one, CopyMode::always, gpu).mechanism, Mechanism::device_move);
}

TEST_F(ObserverTest, WhatStaysInPlaceOrFailsWritesNoRecord) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.shares_in = R"({"*": "never"})"});
    const Array array = one.make(memory());
    Recorder recorder;
    const ObserverScope scope(recorder);
    convert(array, one);
    EXPECT_THROW(convert(array, two, HOST, CopyMode::never), CannotShare);
    EXPECT_TRUE(recorder.records.empty());
}

TEST_F(ObserverTest, TheInnermostObserves) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(memory());
    EXPECT_EQ(ConversionObserver::current(), nullptr);
    Recorder outer;
    Recorder inner;
    {
        const ObserverScope outer_scope(outer);
        convert(array, two);
        {
            const ObserverScope inner_scope(inner);
            EXPECT_EQ(ConversionObserver::current(), &inner);
            convert(array, two);
        }
        EXPECT_EQ(ConversionObserver::current(), &outer);
        convert(array, two);
    }
    EXPECT_EQ(ConversionObserver::current(), nullptr);
    convert(array, two);
    EXPECT_EQ(outer.records.size(), 2U);
    EXPECT_EQ(inner.records.size(), 1U);
}

TEST_F(ObserverTest, EachThreadHasItsOwn) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(memory());
    Recorder here;
    const ObserverScope scope(here);
    constexpr int count = 16;
    std::barrier start(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&, i] {
            EXPECT_EQ(ConversionObserver::current(), nullptr);
            Recorder own;
            const ObserverScope own_scope(own);
            start.arrive_and_wait();
            for (int round = 0; round < i; ++round) convert(array, two);
            EXPECT_EQ(own.records.size(), static_cast<std::size_t>(i));
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(here.records.empty());
}

TEST_F(ObserverTest, AnObserverThatThrowsLosesNoArray) {
    class Thrower : public ConversionObserver {
        void record(const ConversionRecord&) override { throw std::runtime_error("no paper"); }
    };
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    Thrower thrower;
    {
        const Array array = one.make(memory());
        const ObserverScope scope(thrower);
        EXPECT_THROW(convert(array, two), std::runtime_error);
    }
    EXPECT_EQ(released, 1);
    EXPECT_EQ(one.living + two.living, 0);
    EXPECT_EQ(one.scopes + two.scopes, 0);
}

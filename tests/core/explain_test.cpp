// What is explained is what then happens, and explaining does nothing.

#include <arraybridge/conversion.hpp>
#include <arraybridge/error.hpp>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"
#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

const Layout plane = make_layout("plane", {4, 6}, {6, 1});
const Device gpu = Device::accelerator(0);
constexpr CopyMode every_mode[] = {CopyMode::as_needed, CopyMode::never, CopyMode::always};

class Recorder : public ConversionObserver {
public:
    void record(const ConversionRecord& record) override { last = record; }
    ConversionRecord last;  // as it is at first, when the array stays in place
};

}  // namespace

class ExplainTest : public RegistryProcess {
protected:
    TensorView memory(const Layout& layout = plane, DType dtype = DType::float32(), std::size_t offset = 0) {
        return make_tensor(layout, dtype, released, offset);
    }

    /// Explains, checks that nothing was done by that, then converts and compares.
    void expect_explained(const Array& array, SampleLibrary& target, CopyMode copy, const Device& device = HOST) {
        auto& source = static_cast<SampleLibrary&>(array.library());
        const int imports = target.imports;
        const int copies = source.copies + target.copies;
        const int living = source.living + target.living;
        const Explanation explanation = explain(array, target, device, copy);
        EXPECT_EQ(target.imports, imports);
        EXPECT_EQ(source.copies + target.copies, copies);
        EXPECT_EQ(source.living + target.living, living);
        EXPECT_EQ(explanation.copy, copy);
        EXPECT_EQ(explanation.target_device, device);
        EXPECT_EQ(explanation.source_device, source.device_of(array));
        expect_well_told(explanation);

        Recorder recorder;
        const ObserverScope scope(recorder);
        try {
            convert(array, target, device, copy);
            EXPECT_EQ(explanation.mechanism, recorder.last.mechanism);
            EXPECT_EQ(explanation.error, "");
        } catch (const Error& error) {
            EXPECT_FALSE(explanation.mechanism.has_value()) << error.what();
            EXPECT_NE(explanation.error, "");
        }
    }

    /// That every route but the last has a reason, and the last one is what would be done.
    static void expect_well_told(const Explanation& explanation) {
        for (std::size_t i = 0; i < explanation.routes.size(); ++i) {
            const ExplainedRoute& route = explanation.routes[i];
            const bool is_last = i + 1 == explanation.routes.size();
            EXPECT_EQ(route.taken, is_last && explanation.mechanism.has_value());
            EXPECT_EQ(route.taken, route.reason.empty());
        }
        EXPECT_EQ(explanation.mechanism.has_value(), explanation.error.empty());
        if (explanation.mechanism) {
            ASSERT_FALSE(explanation.routes.empty());
            EXPECT_EQ(explanation.routes.back().mechanism, *explanation.mechanism);
        }
    }

    std::atomic<int> released{0};
};

TEST_F(ExplainTest, IsWhatHappensToEveryLayout) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& picky = SampleLibrary::add("picky");
    picky.describes_only_compact = true;
    SampleLibrary* const targets[] = {
        &SampleLibrary::add("any"),
        &SampleLibrary::add("numpy"),
        &SampleLibrary::add("strict", {.imports = R"({"strides": "compact", "alignment": 64})"}),
        &SampleLibrary::add("forward", {.imports = R"({"strides": "non_negative"})"}),
        &SampleLibrary::add("flat", {.imports = R"({"strides": "any", "read_only": true, "max_ndim": 2})"}),
        &SampleLibrary::add("on_request", {.shares_in = R"({"*": "on_request"})"}),
        &SampleLibrary::add("never", {.shares_in = R"({"*": "never"})"}),
        &SampleLibrary::add("deaf", {.dlpack_import = "[]"}),
    };
    for (SampleLibrary* source : {&one, &picky}) {
        for (SampleLibrary* target : targets) {
            // How many axes an array has is not known before its library describes it, for which this one would copy.
            if (source == &picky && target->name() == "flat") continue;
            for (const Layout& layout : every_layout()) {
                for (const CopyMode copy : every_mode) {
                    for (const std::uint32_t flags : {0U, 0U | tensor_read_only}) {
                        SCOPED_TRACE(source->name() + " to " + target->name() + ", " + layout.name + ", mode " +
                                     std::to_string(static_cast<int>(copy)) + ", flags " + std::to_string(flags));
                        TensorView view = memory(layout);
                        view.flags |= flags;
                        expect_explained(source->make(std::move(view)), *target, copy);
                    }
                }
            }
        }
    }
}

TEST_F(ExplainTest, IsWhatHappensAtEveryAddress) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"alignment": 64})"});
    SampleLibrary& three = SampleLibrary::add("three");
    for (const std::size_t offset : {0, 1, 4, 32, 64}) {
        for (const CopyMode copy : every_mode) {
            SCOPED_TRACE(offset);
            expect_explained(one.make(memory(plane, DType::float32(), offset)), two, copy);
            expect_explained(one.make(memory(plane, DType::float32(), offset)), three, copy);
        }
    }
}

TEST_F(ExplainTest, IsWhatHappensToEveryDtype) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.dtypes = R"(["int16", "int64", "float32"])"});
    for (const DType dtype : {DType::int8(), DType::int16(), DType::int32(), DType::int64(), DType::float32(),
                              DType::uint8(), DType::complex64(), DType::boolean()}) {
        for (const CopyMode copy : every_mode) {
            SCOPED_TRACE(dtype.name() + ", mode " + std::to_string(static_cast<int>(copy)));
            expect_explained(one.make(memory(plane, dtype)), two, copy);
        }
    }
}

TEST_F(ExplainTest, IsWhatHappensWithinALibrary) {
    SampleLibrary& one = SampleLibrary::add("one", {.devices = R"(["host", "accelerator"])"});
    one.places = {HOST, gpu};
    for (const CopyMode copy : every_mode) {
        for (const Device& device : {HOST, gpu, Device::accelerator(5)}) {
            SCOPED_TRACE(label(device) + ", mode " + std::to_string(static_cast<int>(copy)));
            expect_explained(one.make(memory()), one, copy, device);
        }
    }
}

TEST_F(ExplainTest, IsWhatHappensBetweenDevices) {
    const Rules rules{.devices = R"(["host", "accelerator"])",
                      .dlpack_import = R"(["host", "accelerator"])",
                      .dlpack_export = R"(["host", "accelerator"])"};
    SampleLibrary& one = SampleLibrary::add("one", rules);
    SampleLibrary& two = SampleLibrary::add("two", rules);
    one.places = two.places = {HOST, gpu};
    for (const CopyMode copy : every_mode) {
        for (const Device& from : {HOST, gpu}) {
            for (const Device& to : {HOST, gpu, Device::named("nowhere")}) {
                SCOPED_TRACE(label(from) + " to " + label(to) + ", mode " + std::to_string(static_cast<int>(copy)));
                TensorView view = memory();
                view.device = from;
                view.dlpack().device = {from.is_host() ? kDLCPU : kDLCUDA, 0};
                expect_explained(one.make(std::move(view)), two, copy, to);
            }
        }
    }
}

TEST_F(ExplainTest, SaysWhyABetterRouteIsDeclined) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.shares_in = R"({"*": "on_request"})"});
    const Explanation explanation = explain(one.make(memory()), two);
    ASSERT_EQ(explanation.routes.size(), 2U);
    EXPECT_EQ(explanation.routes[0].mechanism, Mechanism::dlpack);
    EXPECT_EQ(explanation.routes[0].reason,
              "Library one shares its memory with Library two only when asked to (copy=False)");
    EXPECT_EQ(explanation.routes[1].mechanism, Mechanism::host_copy);
    EXPECT_EQ(explanation.nbytes, 96);
}

TEST_F(ExplainTest, SaysWhyItWouldFail) {
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    one.on_export = [](const ExportRequest&, TensorView&) -> Decline { throw UnsupportedArray("no values at all"); };
    for (const CopyMode copy : every_mode) expect_explained(one.make(memory()), two, copy);
    one.on_export = [](const ExportRequest&, TensorView& out) {
        out.dlpack().ndim = 65;
        return Decline();
    };
    for (const CopyMode copy : every_mode) expect_explained(one.make(memory()), two, copy);
}

TEST_F(ExplainTest, AnErrorThatMustReachTheCallerDoesSo) {
    class OutOfMemory : public FrameworkError {
    public:
        using FrameworkError::FrameworkError;
        bool must_propagate() const noexcept override { return true; }
    };
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two");
    const Array array = one.make(memory());
    one.on_export = [](const ExportRequest&, TensorView&) -> Decline { throw OutOfMemory("nothing left"); };
    EXPECT_THROW(explain(array, two), OutOfMemory);
    one.on_export = [](const ExportRequest&, TensorView&) -> Decline { throw FrameworkError("something else"); };
    EXPECT_EQ(explain(array, two).error, "something else");
    EXPECT_EQ(one.scopes + two.scopes, 0);
}

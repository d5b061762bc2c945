#include <arraybridge/array_library.hpp>
#include <arraybridge/array_math.hpp>
#include <arraybridge/error.hpp>
#include <thread>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"
#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

const Layout plane = make_layout("plane", {4, 6}, {6, 1});
const Device gpu = Device::accelerator(0);
constexpr CopyMode every_mode[] = {CopyMode::as_needed, CopyMode::never, CopyMode::always};

}  // namespace

class ArrayLibraryTest : public RegistryProcess {
protected:
    TensorView memory(const Layout& layout = plane, DType dtype = DType::float32(), std::size_t offset = 0) {
        return make_tensor(layout, dtype, released, offset);
    }

    std::atomic<int> released{0};
};

// ----- devices -----

TEST_F(ArrayLibraryTest, SaysWhichDevicesThereAre) {
    SampleLibrary& library = SampleLibrary::add("sample", {.devices = R"(["host", "accelerator", "named"])"});
    library.places = {HOST, gpu, Device::named("mps:0")};
    EXPECT_EQ(library.available_devices(), library.places);
    for (const Device& device : library.places) EXPECT_NO_THROW(library.require_device(device));
    EXPECT_EQ(message_of<DeviceUnavailable>([&] { library.require_device(Device::named("mps:1")); }),
              "Library sample device device:mps:1 is unavailable; available devices are "
              "('host', 'accelerator:0', 'device:mps:0')");
    library.places = {HOST};
    EXPECT_EQ(message_of<DeviceUnavailable>([&] { library.require_device(gpu); }),
              "Library sample device accelerator:0 is unavailable; available devices are ('host',)");
    EXPECT_EQ(library.scopes, 0);
}

TEST_F(ArrayLibraryTest, ALibraryNeedNotHaveMainMemory) {
    SampleLibrary& library = SampleLibrary::add("sample", {.devices = R"(["accelerator"])"});
    library.places = {gpu};
    EXPECT_THROW(library.require_device(HOST), DeviceUnavailable);
    EXPECT_NO_THROW(library.require_device(gpu));
}

TEST_F(ArrayLibraryTest, MovesAnArrayOnlyIfItIsElsewhere) {
    SampleLibrary& library = SampleLibrary::add("sample", {.devices = R"(["host", "accelerator"])"});
    library.places = {HOST, gpu};
    const Array array = library.make(memory());
    EXPECT_EQ(library.move_to_device(array, HOST).native(), array.native());
    const Array moved = library.move_to_device(array, gpu);
    EXPECT_EQ(library.device_of(moved), gpu);
    EXPECT_EQ(library.device_of(array), HOST);
    EXPECT_THROW(library.move_to_device(array, Device::accelerator(9)), DeviceUnavailable);
    EXPECT_EQ(library.scopes, 0);
}

// ----- from_dlpack -----

TEST_F(ArrayLibraryTest, TakesATensorOver) {
    SampleLibrary& library = SampleLibrary::add("sample");
    {
        TensorView view = memory();
        const void* data = view.data();
        const Array array = library.from_dlpack(ManagedTensor(std::move(view)));
        EXPECT_EQ(array.view().data(), data);
        EXPECT_EQ(released, 0);
    }
    EXPECT_EQ(released, 1);
}

TEST_F(ArrayLibraryTest, CopiesATensorIfToldToOrIfItMust) {
    SampleLibrary& library = SampleLibrary::add("sample", {.imports = R"({"strides": "compact"})"});
    for (const Layout& layout : every_layout()) {
        SCOPED_TRACE(layout.name);
        released = 0;
        TensorView view = memory(layout);
        const auto expected = naive_bytes(view);
        const Array array = library.from_dlpack(ManagedTensor(std::move(view)), CopyMode::always);
        EXPECT_EQ(released, 1);
        EXPECT_EQ(naive_bytes(array.view()), expected);
        const Array again = library.from_dlpack(ManagedTensor(memory(layout)));
        EXPECT_EQ(naive_bytes(again.view()), expected);
    }
}

TEST_F(ArrayLibraryTest, ARefusedTensorIsReleasedOnce) {
    SampleLibrary& library =
        SampleLibrary::add("sample", {.imports = R"({"strides": "compact"})", .dtypes = R"(["float32", "int64"])"});
    const auto refused = [&]<class Error>(TensorView view, CopyMode copy, auto change) {
        released = 0;
        ManagedTensor tensor(std::move(view));
        change(*tensor.get());
        EXPECT_THROW(library.from_dlpack(std::move(tensor), copy), Error);
        EXPECT_EQ(released, 1);
        EXPECT_EQ(library.living, 0);
        EXPECT_EQ(library.scopes, 0);
    };
    const auto nothing = [](DLManagedTensorVersioned&) {};
    for (const CopyMode copy : every_mode) {
        refused.operator()<InvalidTensor>(memory(), copy, [](auto& tensor) { tensor.version.major = 2; });
        refused.operator()<InvalidTensor>(memory(), copy, [](auto& tensor) { tensor.dl_tensor.ndim = 65; });
        refused.operator()<InvalidTensor>(memory(), copy, [](auto& tensor) { tensor.dl_tensor.data = nullptr; });
        refused.operator()<UnsupportedArray>(memory(plane, DType::complex64()), copy, nothing);
    }
    refused.operator()<CannotShare>(memory(make_layout("reversed", {6}, {-1})), CopyMode::never, nothing);
    EXPECT_EQ(library.imports, 0);
    EXPECT_THROW(library.from_dlpack(ManagedTensor{}), InvalidTensor);
}

TEST_F(ArrayLibraryTest, ATensorThatIsNotTakenIsReleasedOnce) {
    SampleLibrary& library = SampleLibrary::add("sample");
    for (const CopyMode copy : every_mode) {
        released = 0;
        library.on_import = [](TensorView&, const ImportRequest&) { return Decline("not today"); };
        EXPECT_EQ(message_of<CannotShare>([&] { library.from_dlpack(ManagedTensor(memory()), copy); }), "not today");
        EXPECT_EQ(released, 1);
        library.on_import = [](TensorView&, const ImportRequest&) -> Decline { throw FrameworkError("never"); };
        EXPECT_EQ(message_of<FrameworkError>([&] { library.from_dlpack(ManagedTensor(memory()), copy); }), "never");
        EXPECT_EQ(released, 2);
    }
}

TEST_F(ArrayLibraryTest, ATensorOfADeviceStaysThere) {
    SampleLibrary& library = SampleLibrary::add("sample", {.devices = R"(["host", "accelerator"])",
                                                           .dlpack_import = R"(["host", "accelerator"])",
                                                           .imports = R"({"strides": "compact"})"});
    library.places = {HOST, gpu};
    const auto on_gpu = [&](const Layout& layout) {
        TensorView view = memory(layout);
        view.dlpack().device = {kDLCUDA, 0};
        return ManagedTensor(std::move(view));
    };
    EXPECT_EQ(library.device_of(library.from_dlpack(on_gpu(plane))), gpu);
    // Memory that cannot be read from here is not copied here.
    EXPECT_THROW(library.from_dlpack(on_gpu(plane), CopyMode::always), CannotShare);
    EXPECT_THROW(library.from_dlpack(on_gpu(make_layout("reversed", {6}, {-1}))), CannotShare);
    EXPECT_EQ(released, 3);
}

// ----- what a library may lack -----

TEST_F(ArrayLibraryTest, AMissingOperationIsNamed) {
    SampleLibrary& library = SampleLibrary::add("sample");
    const Array array = library.make(memory());
    const auto missing = [this](auto call) { return message_of<UnsupportedOperation>(call); };
    const std::string lacks = "Library sample does not have the operation ";
    EXPECT_EQ(missing([&] { library.max(array); }), lacks + "max");
    EXPECT_EQ(missing([&] { library.min(array, 0); }), lacks + "min");
    EXPECT_EQ(missing([&] { library.mean(array, {0, 1}); }), lacks + "mean");
    EXPECT_EQ(missing([&] { library.sum(array); }), lacks + "sum");
    EXPECT_EQ(missing([&] { library.reshape(array, {24}); }), lacks + "reshape");
    EXPECT_EQ(missing([&] { library.broadcast_to(array, {2, 4, 6}); }), lacks + "broadcast_to");
    EXPECT_EQ(missing([&] { library.ones_like(array); }), lacks + "ones_like");
    EXPECT_EQ(missing([&] { library.prepend_axis(array); }), lacks + "prepend_axis");
    EXPECT_EQ(missing([&] { library.assign(array, {}, array); }), lacks + "assign");
    EXPECT_EQ(missing([&] { library.logical_and(array, array); }), lacks + "logical_and");
    EXPECT_EQ(missing([&] { library.stack_arrays(std::span<const Array>{}, HOST); }), lacks + "stack_arrays");
    EXPECT_EQ(missing([&] { library.normalize_planes(array, DType::uint8(), {}); }), lacks + "normalize_planes");
    EXPECT_EQ(missing([&] { library.scale_dtype(array, DType::uint8()); }), lacks + "scale_dtype");
    EXPECT_EQ(library.scopes, 0);
}

TEST_F(ArrayLibraryTest, AMissingCapabilityIsNamed) {
    SampleLibrary& library = SampleLibrary::add("sample");
    EXPECT_EQ(library.query(ArrayMath::capability), nullptr);
    EXPECT_EQ(message_of<UnsupportedOperation>([&] { library.require<ArrayMath>(); }),
              "Library sample does not have arraybridge.ArrayMath/1");
}

TEST_F(ArrayLibraryTest, SupportsWhatItsManifestNames) {
    set_plugin_path({fixture("strict")});
    ArrayLibrary& strict = Registry::instance().named("strict");
    EXPECT_TRUE(strict.supports(DType::float32()));
    EXPECT_FALSE(strict.supports(DType::float16()));
    EXPECT_EQ(strict.current_stream(HOST), no_stream);
    EXPECT_EQ(&strict.manifest(), &strict.entry().manifest());
    EXPECT_EQ(strict.name(), "strict");
}

// ----- arrays of others -----

TEST_F(ArrayLibraryTest, TakesOverNoMemoryThatItCannotReach) {
    SampleLibrary& library = SampleLibrary::add("sample");
    TensorView view = memory();
    view.dlpack().device = {kDLCUDA, 0};
    EXPECT_THROW(library.from_dlpack(ManagedTensor(std::move(view))), CannotShare);
    EXPECT_EQ(released, 1);
}

TEST_F(ArrayLibraryTest, WorksOnItsOwnArraysOnly) {
    SampleLibrary& library = SampleLibrary::add("sample");
    SampleLibrary& other = SampleLibrary::add("other");
    const Array foreign = other.make(memory());
    EXPECT_THROW(library.max(foreign), UnsupportedArray);
    EXPECT_THROW(library.device_of(foreign), UnsupportedArray);
    EXPECT_THROW(library.move_to_device(foreign, HOST), UnsupportedArray);
    EXPECT_THROW(library.max(Array{}), UnsupportedArray);
}

TEST_F(ArrayLibraryTest, AViewOutlivesTheArrayThatItWasTakenFrom) {
    SampleLibrary& library = SampleLibrary::add("sample");
    const TensorView view = library.make(memory()).view();
    EXPECT_EQ(Extents(view.shape().begin(), view.shape().end()), plane.shape);
    EXPECT_EQ(released, 0);
}

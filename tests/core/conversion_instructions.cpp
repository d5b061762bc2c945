// Converts one small array from one library to another 10,000 times, the memory shared: what check_instructions.cmake
// counts the instructions of. The time it takes is no matter.

#include <array>
#include <arraybridge/arraybridge.hpp>
#include <cstdio>
#include <memory>

using namespace arraybridge;

namespace {

constexpr int conversions = 10000;

constexpr const char* manifest_text = R"({
    "schema_version": 1, "name": "NAME", "display_name": "A library", "devices": ["host"],
    "dlpack": {"import": ["host"], "export": ["host"]},
    "host_memory": {"export": {"*": "by_default"}, "import": {"*": "by_default"}},
    "imports": {"alignment": 64, "strides": "non_negative"}, "dtypes": ["float32", "int64"],
    "plugin": {"shared_object": "lib.so", "abi": "1.0", "stamp": "any"}})";

/// A library with a single array, which costs next to nothing itself: what is counted is the way between libraries.
class SingleArrayLibrary : public ArrayLibrary {
public:
    using ArrayLibrary::ArrayLibrary;

    static SingleArrayLibrary& add(const std::string& name) {
        std::string text = manifest_text;
        text.replace(text.find("NAME"), 4, name);
        const LibraryEntry& entry =
            Registry::instance().add(Manifest::parse(text, "/program/manifest.json"),
                                     [](const LibraryEntry& own) { return std::make_unique<SingleArrayLibrary>(own); });
        return static_cast<SingleArrayLibrary&>(entry.library());
    }

    Array array() { return Array::adopt(*this, {this}); }

    const void* last_imported = nullptr;

    void retain(NativeArray) noexcept override {}
    void release(NativeArray) noexcept override {}
    bool accepts(NativeArray) override { return true; }
    std::string describe(NativeArray) override { return "array"; }
    Device device_of(NativeArray) override { return HOST; }
    std::vector<Device> devices() override { return {HOST}; }
    NativeArray move_to_device(NativeArray array, const Device&) override { return array; }

    Decline export_tensor(NativeArray, const ExportRequest&, TensorView& out) override {
        out.dlpack() =
            DLTensor{values_.data(), {kDLCPU, 0}, 2, DType::float32().dlpack(), shape_.data(), strides_.data(), 0};
        out.device = HOST;
        out.flags = 0;
        out.owner = Owner(this, [](void*) noexcept {});
        return {};
    }

    Decline import_tensor(TensorView& tensor, const ImportRequest&, NativeArray& out) override {
        last_imported = tensor.data();
        tensor.owner.reset();
        out.pointer = this;
        return {};
    }

private:
    alignas(64) std::array<float, 16> values_{};
    std::array<std::int64_t, 2> shape_{4, 4};
    std::array<std::int64_t, 2> strides_{4, 1};
};

}  // namespace

/// Has a name and a place of its own, so that counting can start and end with it.
extern "C" [[gnu::noinline, gnu::used]] void convert_many(const Array& array, ArrayLibrary& target) {
    for (int i = 0; i < conversions; ++i) convert(array, target);
}

int main() {
    SingleArrayLibrary& target = SingleArrayLibrary::add("target");
    const Array array = SingleArrayLibrary::add("source").array();
    convert(array, target);
    if (target.last_imported != array.view().data()) {
        std::puts("the memory is not shared");
        return 1;
    }
    convert_many(array, target);
    return 0;
}

// Converts one small array from one library to another 10,000 times, the memory shared: what check_instructions.cmake
// counts the instructions of. The time it takes is no matter.

#include <array>
#include <arraybridge/arraybridge.hpp>
#include <cstdio>
#include <cstdlib>

using namespace arraybridge;

namespace {

constexpr int conversions = 10000;

Array make_array(ArrayLibrary& library) {
    std::array<float, 16> values{};
    std::array<std::int64_t, 2> shape{4, 4};
    TensorView view;
    view.dlpack() = DLTensor{values.data(), {kDLCPU, 0}, 2, DType::float32().dlpack(), shape.data(), nullptr, 0};
    return library.from_dlpack(ManagedTensor(std::move(view)), CopyMode::always);
}

}  // namespace

/// Has a name and a place of its own, so that counting can start and end with it.
extern "C" [[gnu::noinline, gnu::used]] void convert_many(const Array& array, ArrayLibrary& target) {
    for (int i = 0; i < conversions; ++i) convert(array, target, HOST, CopyMode::never);
}

int main() {
    setenv("ARRAYBRIDGE_PLUGIN_PATH", ARRAYBRIDGE_FIXTURES "/good:" ARRAYBRIDGE_FIXTURES "/strict", 1);
    ArrayLibrary& strict = Registry::instance().named("strict");
    const Array array = make_array(Registry::instance().named("good"));
    const Array first = convert(array, strict, HOST, CopyMode::never);
    if (first.view().data() != array.view().data()) {
        std::puts("the memory is not shared");
        return 1;
    }
    convert_many(array, strict);
    return 0;
}

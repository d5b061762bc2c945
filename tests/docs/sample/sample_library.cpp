// The least that a plugin is: a library without arrays, to see that the installed package builds one.

#include <arraybridge/plugin.hpp>
#include <string>
#include <vector>

using namespace arraybridge;

class SampleLibrary : public ArrayLibrary {
public:
    using ArrayLibrary::ArrayLibrary;

    void retain(NativeArray) noexcept override {}
    void release(NativeArray) noexcept override {}
    bool accepts(NativeArray) override { return false; }
    std::string describe(NativeArray) override { return "nothing"; }
    Device device_of(NativeArray) override { return HOST; }
    std::vector<Device> devices() override { return {HOST}; }
    NativeArray move_to_device(NativeArray array, const Device&) override { return array; }
    Decline export_tensor(NativeArray, const ExportRequest&, TensorView&) override {
        return Decline("there are no arrays");
    }
    Decline import_tensor(TensorView&, const ImportRequest&, NativeArray&) override {
        return Decline("there are no arrays");
    }
};

ARRAYBRIDGE_PLUGIN(SampleLibrary)

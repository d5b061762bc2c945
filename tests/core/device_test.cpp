#include <gtest/gtest.h>

#include <arraybridge/device.hpp>
#include <arraybridge/tensor_view.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <vector>

using namespace arraybridge;

static_assert(std::is_trivially_copyable_v<Device>);
static_assert(sizeof(Device) == 2 * sizeof(void*));

TEST(Device, HasALabel) {
    EXPECT_EQ(label(HOST), "host");
    EXPECT_EQ(label(Device::accelerator(0)), "accelerator:0");
    EXPECT_EQ(label(Device::accelerator(11)), "accelerator:11");
    EXPECT_EQ(label(Device::named("mps:0")), "device:mps:0");
    EXPECT_EQ(label(Device::named("")), "device:");
}

TEST(Device, IsHostUnlessSaidOtherwise) {
    EXPECT_EQ(Device(), HOST);
    EXPECT_TRUE(HOST.is_host());
    EXPECT_FALSE(Device::accelerator(0).is_host());
    EXPECT_FALSE(Device::named("host").is_host());
}

TEST(Device, IsEqualByKindAndNumberOrName) {
    EXPECT_EQ(Device::accelerator(1), Device::accelerator(1));
    EXPECT_NE(Device::accelerator(1), Device::accelerator(2));
    EXPECT_NE(Device::accelerator(0), HOST);
    EXPECT_EQ(Device::named(std::string("tpu") + ":0"), Device::named("tpu:0"));
    EXPECT_NE(Device::named("tpu:0"), Device::named("tpu:1"));
    EXPECT_NE(Device::named(""), HOST);
}

TEST(Device, KeepsItsName) {
    std::string text = "a name that does not fit into the string itself";
    const Device device = Device::named(text);
    text.assign(text.size(), 'x');
    EXPECT_EQ(device.name(), "a name that does not fit into the string itself");
    EXPECT_EQ(HOST.name(), "");
    EXPECT_EQ(Device::accelerator(3).name(), "");
    EXPECT_EQ(Device::accelerator(3).index(), 3);
}

TEST(Device, HashesLikeItCompares) {
    std::unordered_set<Device> devices{HOST, Device::accelerator(0), Device::accelerator(1), Device::named("mps:0")};
    EXPECT_EQ(devices.size(), 4U);
    EXPECT_TRUE(devices.contains(Device::named("mps:0")));
    EXPECT_FALSE(devices.contains(Device::named("mps:1")));
}

TEST(Device, NamesAreInternedFromManyThreads) {
    std::vector<Device> devices(16);
    std::vector<std::thread> threads;
    for (Device& device : devices) {
        threads.emplace_back([&device] {
            for (int i = 0; i < 100; ++i) device = Device::named("device number " + std::to_string(i));
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Device& device : devices) EXPECT_EQ(device, Device::named("device number 99"));
}

TEST(Device, AllKindsOfMainMemoryAreHost) {
    EXPECT_EQ(device_from_dlpack({kDLCPU, 0}), HOST);
    EXPECT_EQ(device_from_dlpack({kDLCPU, 3}), HOST);
    EXPECT_EQ(device_from_dlpack({kDLCUDAHost, 1}), HOST);
    EXPECT_EQ(device_from_dlpack({kDLROCMHost, 0}), HOST);
}

TEST(Device, GraphicsProcessorsAreAccelerators) {
    for (const DLDeviceType type : {kDLCUDA, kDLCUDAManaged, kDLROCM, kDLOpenCL}) {
        EXPECT_EQ(device_from_dlpack({type, 2}), Device::accelerator(2));
    }
}

TEST(Device, OtherPlacesHaveANameOfTheirOwn) {
    EXPECT_EQ(device_from_dlpack({kDLMetal, 1}), Device::named("mps:1"));
    EXPECT_EQ(device_from_dlpack({kDLExtDev, 0}).kind(), DeviceKind::named);
    EXPECT_NE(device_from_dlpack({kDLExtDev, 0}), device_from_dlpack({kDLHexagon, 0}));
}

// The fixture that other tests build on has to be right itself.

#include <arraybridge/arraybridge.hpp>

#include "registry_process.hpp"

using namespace arraybridge;

class GoodLibraryTest : public RegistryProcess {
protected:
    void SetUp() override {
        RegistryProcess::SetUp();
        if (IsSkipped()) return;
        set_plugin_path({fixture("good")});
        good = &Registry::instance().named("good");
    }

    Array counting(std::int64_t count) {
        return good->require<ArrayMath>().linspace(0, static_cast<double>(count - 1), count, true);
    }

    static std::vector<double> values(const Array& array) {
        const TensorView view = array.view();
        return {view.data_as<double>(), view.data_as<double>() + view.size()};
    }

    ArrayLibrary* good = nullptr;
};

TEST_F(GoodLibraryTest, LiesInMainMemory) {
    const Array array = counting(6);
    EXPECT_EQ(good->device_of(array), HOST);
    EXPECT_EQ(values(array), (std::vector<double>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(array.view().dtype(), DType::float64());
}

TEST_F(GoodLibraryTest, ReducesOverOneAxisOrAll) {
    const Array array = good->reshape(counting(24), {2, 3, 4});
    EXPECT_EQ(values(good->max(array)), std::vector<double>{23});
    EXPECT_EQ(values(good->max(array, 0)), (std::vector<double>{12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}));
    EXPECT_EQ(values(good->max(array, 1)), (std::vector<double>{8, 9, 10, 11, 20, 21, 22, 23}));
    EXPECT_EQ(values(good->max(array, -1)), (std::vector<double>{3, 7, 11, 15, 19, 23}));
    EXPECT_EQ(good->max(array, -1).view().ndim(), 2);
    EXPECT_THROW(good->max(array, 3), UnsupportedArray);
    EXPECT_THROW(good->min(array), UnsupportedOperation);
}

TEST_F(GoodLibraryTest, SharesMemoryBothWays) {
    const Array array = counting(4);
    const Array alias = good->from_dlpack(ManagedTensor(array.view()), CopyMode::never);
    EXPECT_EQ(alias.view().data(), array.view().data());
    const Array copy = good->from_dlpack(ManagedTensor(array.view()), CopyMode::always);
    EXPECT_NE(copy.view().data(), array.view().data());
    EXPECT_EQ(values(copy), values(array));
}

TEST_F(GoodLibraryTest, AViewOutlivesItsArray) {
    Array array = good->reshape(counting(4), {2, 2});
    const TensorView view = array.view();
    array.reset();
    EXPECT_EQ(view.data_as<double>()[3], 3.0);
}

TEST_F(GoodLibraryTest, MakesArrays) {
    ArrayMath& math = good->require<ArrayMath>();
    EXPECT_EQ(values(math.outer(counting(2), counting(3))), (std::vector<double>{0, 0, 0, 0, 1, 2}));
    EXPECT_EQ(values(math.floor(-1.5)), std::vector<double>{-2});
    EXPECT_EQ(values(math.ones({2, 1}, DType::float64())), (std::vector<double>{1, 1}));
    EXPECT_EQ(good->ones_like(counting(3)).view().dtype(), DType::boolean());
    EXPECT_THROW(math.ones({1}, DType::float16()), UnsupportedOperation);
}

#include <arraybridge/array.hpp>
#include <arraybridge/error.hpp>
#include <barrier>
#include <thread>
#include <type_traits>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"
#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

static_assert(sizeof(Array) == sizeof(void*));
static_assert(std::is_nothrow_copy_constructible_v<Array> && std::is_nothrow_move_constructible_v<Array>);

class ArrayTest : public RegistryProcess {
protected:
    static TensorView memory(std::atomic<int>& released) {
        return make_tensor(make_layout("plane", {2, 3}, {1, 2}), DType::float32(), released);
    }

    std::atomic<int> released{0};
};

TEST_F(ArrayTest, CopiesAreTheSameArray) {
    SampleLibrary& library = SampleLibrary::add("sample");
    Array first = library.make(memory(released));
    const Array second = first;
    EXPECT_EQ(second.native(), first.native());
    EXPECT_EQ(&second.library(), &library);
    first.reset();
    EXPECT_FALSE(first);
    EXPECT_EQ(first.native(), NativeArray{});
    EXPECT_TRUE(second);
    EXPECT_EQ(released, 0);
}

TEST_F(ArrayTest, TheLastDropReleasesOnce) {
    SampleLibrary& library = SampleLibrary::add("sample");
    {
        Array first = library.make(memory(released));
        Array second = first;
        Array third = std::move(first);
        Array& same = third;
        third = same;
        third = std::move(same);
        second = third;
        second = Array{};
        EXPECT_EQ(released, 0);
        EXPECT_EQ(library.living, 1);
    }
    EXPECT_EQ(released, 1);
    EXPECT_EQ(library.living, 0);
}

TEST_F(ArrayTest, AdoptTakesAReferenceAndShareAddsOne) {
    SampleLibrary& library = SampleLibrary::add("sample");
    const Array array = library.make(memory(released));
    {
        const Array shared = Array::share(library, array.native());
    }
    EXPECT_EQ(released, 0);
    library.retain(array.native());
    {
        const Array adopted = Array::adopt(library, array.native());
    }
    EXPECT_EQ(released, 0);
    EXPECT_FALSE(Array::adopt(library, NativeArray{}));
}

TEST_F(ArrayTest, AViewSharesAndKeepsTheMemory) {
    SampleLibrary& library = SampleLibrary::add("sample");
    Array array = library.make(memory(released));
    {
        const TensorView view = array.view();
        EXPECT_EQ(view.data(), array.view().data());
        array.reset();
        EXPECT_EQ(released, 0);
        EXPECT_EQ(naive_bytes(view).size(), 24U);
    }
    EXPECT_EQ(released, 1);
    EXPECT_EQ(library.copies, 0);
    EXPECT_EQ(library.scopes, 0);
}

TEST_F(ArrayTest, AViewNeverCopies) {
    SampleLibrary& library = SampleLibrary::add("sample");
    library.describes_only_compact = true;
    const Array array = library.make(memory(released));
    EXPECT_EQ(message_of<CannotShare>([&] { (void)array.view(); }), "only compact arrays can be described");
    EXPECT_THROW((void)Array{}.view(), UnsupportedArray);
    EXPECT_EQ(library.scopes, 0);
}

TEST_F(ArrayTest, IsCopiedAndDroppedFromManyThreads) {
    SampleLibrary& library = SampleLibrary::add("sample");
    constexpr int count = 16;
    Array array = library.make(memory(released));
    std::barrier start(count);
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&start, own = array]() mutable {
            start.arrive_and_wait();
            for (int round = 0; round < 1000; ++round) {
                Array copy = own;
                Array moved = std::move(copy);
                own = moved;
            }
            own.reset();
        });
    }
    array.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 1);
    EXPECT_EQ(library.living, 0);
}

TEST_F(ArrayTest, OneArrayIsViewedFromManyThreads) {
    SampleLibrary& library = SampleLibrary::add("sample");
    Array array = library.make(memory(released));
    std::vector<std::thread> threads;
    for (int i = 0; i < 16; ++i) {
        threads.emplace_back([shared = array] { EXPECT_EQ(naive_bytes(shared.view()).size(), 24U); });
    }
    array.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(released, 1);
    EXPECT_EQ(library.exports, 16);
}

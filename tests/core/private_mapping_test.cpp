#include <arraybridge/conversion.hpp>
#include <arraybridge/error.hpp>
#include <arraybridge/host_copy.hpp>
#include <cstring>

#include "fixtures/sample_library.hpp"
#include "registry_process.hpp"
#include "tensors.hpp"

#if defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

/// A file that is mapped read-only from a page boundary on, as a memory map of an array library is.
class MappedFile {
public:
    MappedFile(const std::filesystem::path& path, std::size_t length, off_t offset = 0) : length_(length) {
        const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
        data_ = mmap(nullptr, length, PROT_READ, MAP_SHARED, file, offset);
        close(file);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() { munmap(data_, length_); }

    /// A tensor of bytes whose block begins `offset` bytes into the mapping.
    TensorView tensor(const Layout& layout, std::size_t offset, DType dtype = DType::uint8()) const {
        TensorView view;
        DLTensor& tensor = view.dlpack();
        tensor = DLTensor{static_cast<char*>(data_) + offset, {kDLCPU, 0}, 0, dtype.dlpack(), nullptr, nullptr, 0};
        tensor.ndim = static_cast<std::int32_t>(layout.shape.size());
        tensor.byte_offset = static_cast<std::uint64_t>(layout.first) * dtype.itemsize();
        std::copy(layout.shape.begin(), layout.shape.end(), view.shape_storage().begin());
        std::copy(layout.strides.begin(), layout.strides.end(), view.stride_storage().begin());
        tensor.shape = view.shape_storage().data();
        tensor.strides = view.stride_storage().data();
        view.flags = tensor_read_only | tensor_file_backed;
        return view;
    }

private:
    std::size_t length_;
    void* data_ = nullptr;
};

class PrivateMappingTest : public RegistryProcess {
protected:
    static constexpr std::size_t length = 40000;

    /// A file of `length` bytes that differ, on a file system whose numbers are the same in every listing.
    std::filesystem::path make_file(const std::string& name = "data") {
        std::string bytes(length, '\0');
        for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<char>((i * 31 + i / 251) & 0xFFU);
        return write(name, bytes);
    }

    static std::string content(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    const Layout vector = make_layout("vector", {1000}, {1});
};

}  // namespace

TEST_F(PrivateMappingTest, HasTheValuesOfTheFile) {
    const MappedFile file(make_file(), length);
    for (const std::size_t offset : {0, 1, 64, 4095, 4096, 4097, 13333}) {
        SCOPED_TRACE(offset);
        const TensorView source = file.tensor(vector, offset);
        const auto mapped = map_privately(source);
        ASSERT_TRUE(mapped.has_value());
        EXPECT_NE(mapped->data(), source.data());
        EXPECT_EQ(naive_bytes(*mapped), naive_bytes(source));
        EXPECT_FALSE(mapped->is_read_only());
        EXPECT_NE(mapped->flags & tensor_copied, 0U);
    }
}

TEST_F(PrivateMappingTest, KeepsEveryLayout) {
    const MappedFile file(make_file(), length);
    for (const Layout& layout : every_layout()) {
        if (product(layout.shape) == 0) continue;
        SCOPED_TRACE(layout.name);
        const TensorView source = file.tensor(layout, 4000, DType::int16());
        const auto mapped = map_privately(source);
        ASSERT_TRUE(mapped.has_value());
        EXPECT_EQ(naive_bytes(*mapped), naive_bytes(source));
    }
}

TEST_F(PrivateMappingTest, CountsFromWhereTheFileWasMapped) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const MappedFile file(make_file(), length - page, static_cast<off_t>(page));
    const TensorView source = file.tensor(vector, 123);
    const auto mapped = map_privately(source);
    ASSERT_TRUE(mapped.has_value());
    EXPECT_EQ(naive_bytes(*mapped), naive_bytes(source));
}

TEST_F(PrivateMappingTest, WhatIsWrittenStaysHere) {
    const auto path = make_file();
    const std::string before = content(path);
    const MappedFile file(path, length);
    const TensorView source = file.tensor(vector, 5);
    const auto expected = naive_bytes(source);
    const auto mapped = map_privately(source);
    ASSERT_TRUE(mapped.has_value());
    std::memset(mapped->data(), 0x55, 1000);
    EXPECT_EQ(content(path), before);
    EXPECT_EQ(naive_bytes(source), expected);
    EXPECT_EQ(naive_bytes(*mapped), std::vector<std::byte>(1000, std::byte{0x55}));
}

TEST_F(PrivateMappingTest, OutlivesTheFirstMapping) {
    const auto path = make_file();
    std::optional<TensorView> mapped;
    std::vector<std::byte> expected;
    {
        const MappedFile file(path, length);
        const TensorView source = file.tensor(vector, 5);
        expected = naive_bytes(source);
        mapped = map_privately(source);
    }
    std::filesystem::remove(path);
    ASSERT_TRUE(mapped.has_value());
    EXPECT_EQ(naive_bytes(*mapped), expected);
}

TEST_F(PrivateMappingTest, FindsAFileWithAnOddName) {
    const MappedFile file(make_file("a name with spaces and äöü"), length);
    EXPECT_TRUE(map_privately(file.tensor(vector, 5)).has_value());
}

TEST_F(PrivateMappingTest, AConversionMapsALargeFileInsteadOfCopyingIt) {
    constexpr std::int64_t large = std::int64_t{3} << 20U;
    const auto path = write("large", std::string(static_cast<std::size_t>(large), 'a'));
    const MappedFile file(path, static_cast<std::size_t>(large));
    SampleLibrary& one = SampleLibrary::add("one");
    SampleLibrary& two = SampleLibrary::add("two", {.imports = R"({"strides": "any"})"});
    const Array array = one.make(file.tensor(make_layout("vector", {large - 5}, {1}), 5));
    EXPECT_THROW(convert(array, two, HOST, CopyMode::never), CannotShare);

    const TensorView result = convert(array, two).view();
    EXPECT_FALSE(result.is_read_only());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(result.data()) % 4096, 5U) << "a copy would begin at a multiple of 64";
    EXPECT_EQ(std::memcmp(result.data(), array.view().data(), static_cast<std::size_t>(large - 5)), 0);
    std::memset(result.data(), 'b', 100);
    EXPECT_EQ(content(path), std::string(static_cast<std::size_t>(large), 'a'));

    // A copy that was asked for does not depend on the file.
    const TensorView copy = convert(array, two, HOST, CopyMode::always).view();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copy.data()) % 64, 0U);
}

TEST_F(PrivateMappingTest, RefusesAReplacedFile) {
    const auto path = make_file();
    const MappedFile file(path, length);
    std::filesystem::rename(make_file("other"), path);
    EXPECT_FALSE(map_privately(file.tensor(vector, 5)).has_value());
}

TEST_F(PrivateMappingTest, RefusesAFileThatIsGone) {
    const auto path = make_file();
    const MappedFile file(path, length);
    std::filesystem::remove(path);
    EXPECT_FALSE(map_privately(file.tensor(vector, 5)).has_value());
    // The listing calls it "data (deleted)": not even a file of that very name will do.
    make_file("data (deleted)");
    EXPECT_FALSE(map_privately(file.tensor(vector, 5)).has_value());
}

TEST_F(PrivateMappingTest, RefusesMemoryWithoutAFile) {
    std::atomic<int> released{0};
    TensorView heap = make_tensor(vector, DType::uint8(), released);
    heap.flags = tensor_read_only | tensor_file_backed;
    EXPECT_FALSE(map_privately(heap).has_value());
    void* anonymous = mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    TensorView view = make_tensor(vector, DType::uint8(), released);
    view.flags = tensor_read_only | tensor_file_backed;
    view.dlpack().data = anonymous;
    EXPECT_FALSE(map_privately(view).has_value());
    munmap(anonymous, length);
}

TEST_F(PrivateMappingTest, RefusesWhatIsNotSaidToBeAFile) {
    const MappedFile file(make_file(), length);
    TensorView source = file.tensor(vector, 5);
    source.flags = tensor_read_only;
    EXPECT_FALSE(map_privately(source).has_value());
    EXPECT_FALSE(map_privately(file.tensor(make_layout("empty", {0}, {1}), 5)).has_value());
}

TEST_F(PrivateMappingTest, RefusesATensorThatLeavesTheMapping) {
    const MappedFile file(make_file(), 4096);
    EXPECT_TRUE(map_privately(file.tensor(make_layout("inside", {4096}, {1}), 0)).has_value());
    EXPECT_FALSE(map_privately(file.tensor(make_layout("beyond", {std::int64_t{1} << 40}, {1}), 0)).has_value());
}

#endif

// An importer may do as it likes with what it is handed: the source is released exactly once.

#include <gtest/gtest.h>

#include <arraybridge/managed_tensor.hpp>
#include <barrier>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensors.hpp"

using namespace arraybridge;
using namespace arraybridge_test;

namespace {

void call_deleter(DLManagedTensorVersioned* tensor) { tensor->deleter(tensor); }

void call_deleter_elsewhere(DLManagedTensorVersioned* tensor) { std::thread(call_deleter, tensor).join(); }

/// What an importer does with its tensor before it returns, whether it then reports success, and whether it keeps it.
struct Importer {
    std::string name;
    std::function<void(DLManagedTensorVersioned*)> during;
    bool succeeds;
    bool keeps;
};

const std::vector<Importer>& every_importer() {
    static const std::vector<Importer> importers{
        {"fails and leaves the tensor alone", [](auto*) {}, false, false},
        {"fails and calls the deleter", call_deleter, false, false},
        {"fails after another thread called the deleter", call_deleter_elsewhere, false, false},
        {"throws and leaves the tensor alone", [](auto*) { throw std::runtime_error("no"); }, false, false},
        {"throws after it called the deleter",
         [](auto* tensor) {
             call_deleter(tensor);
             throw std::runtime_error("no");
         },
         false, false},
        {"succeeds and keeps the tensor", [](auto*) {}, true, true},
        {"succeeds with a copy and is done with the tensor", call_deleter, true, false},
        {"succeeds, and another thread is done with the tensor", call_deleter_elsewhere, true, false},
    };
    return importers;
}

const Layout layout = make_layout("plane", {2, 3}, {3, 1});

TensorView make_source(std::atomic<int>& released) { return make_tensor(layout, DType::float32(), released); }

/// Lets `importer` import the tensor of `envelope`. Gives what the importer kept.
DLManagedTensorVersioned* import_with(const Importer& importer, Envelope& envelope) {
    try {
        importer.during(envelope.tensor());
    } catch (const std::runtime_error&) {
        return nullptr;
    }
    if (importer.succeeds) envelope.import_succeeded();
    return importer.keeps ? envelope.tensor() : nullptr;
}

}  // namespace

TEST(Envelope, ReleasesTheSourceOnce) {
    for (const Importer& importer : every_importer()) {
        SCOPED_TRACE(importer.name);
        std::atomic<int> released{0};
        DLManagedTensorVersioned* kept = nullptr;
        {
            Envelope envelope(make_source(released));
            kept = import_with(importer, envelope);
            EXPECT_EQ(released, 0) << "the caller has a reference too";
        }
        EXPECT_EQ(released, kept == nullptr ? 1 : 0);
        if (kept != nullptr) call_deleter(kept);
        EXPECT_EQ(released, 1);
    }
}

TEST(Envelope, ReleasesATensorMadeElsewhereOnce) {
    for (const Importer& importer : every_importer()) {
        SCOPED_TRACE(importer.name);
        std::atomic<int> released{0};
        DLManagedTensorVersioned* kept = nullptr;
        {
            Envelope envelope{ManagedTensor(make_source(released))};
            kept = import_with(importer, envelope);
        }
        if (kept != nullptr) call_deleter(kept);
        EXPECT_EQ(released, 1);
    }
}

TEST(Envelope, GivesTheOwnerBackAfterAFailure) {
    for (const Importer& importer : every_importer()) {
        if (importer.succeeds) continue;
        SCOPED_TRACE(importer.name);
        std::atomic<int> released{0};
        {
            TensorView view = make_source(released);
            const auto expected = naive_bytes(view);
            {
                Envelope envelope(std::move(view));
                import_with(importer, envelope);
                envelope.give_back(view);
            }
            EXPECT_EQ(released, 0);
            EXPECT_TRUE(view.owner);
            EXPECT_EQ(naive_bytes(view), expected);
        }
        EXPECT_EQ(released, 1);
    }
}

TEST(Envelope, KnowsWhetherTheImporterLetGo) {
    std::atomic<int> released{0};
    Envelope envelope(make_source(released));
    EXPECT_FALSE(envelope.importer_released());
    call_deleter(envelope.tensor());
    EXPECT_TRUE(envelope.importer_released());
}

TEST(Envelope, IsReleasedOnceWhenBothLetGoAtTheSameTime) {
    for (int round = 0; round < 200; ++round) {
        std::atomic<int> released{0};
        std::barrier start(2);
        std::thread importer;
        {
            Envelope envelope(make_source(released));
            importer = std::thread([&start, tensor = envelope.tensor()] {
                start.arrive_and_wait();
                call_deleter(tensor);
            });
            envelope.import_succeeded();
            start.arrive_and_wait();
        }
        importer.join();
        ASSERT_EQ(released, 1);
    }
}

TEST(Envelope, TheImportersTensorOutlivesTheView) {
    std::atomic<int> released{0};
    DLManagedTensorVersioned* kept = nullptr;
    std::vector<std::byte> expected;
    {
        TensorView view = make_source(released);
        expected = naive_bytes(view);
        Envelope envelope(std::move(view));
        envelope.import_succeeded();
        kept = envelope.tensor();
    }
    const TensorView imported = ManagedTensor(kept).into_view(HOST);
    EXPECT_EQ(naive_bytes(imported), expected);
    EXPECT_EQ(released, 0);
}

TEST(Envelope, BorrowedMemoryIsNobodysToRelease) {
    float values[6] = {};
    TensorView view;
    view.dlpack() = DLTensor{values, {kDLCPU, 0}, 0, DType::float32().dlpack(), nullptr, nullptr, 0};
    Envelope envelope(std::move(view));
    EXPECT_EQ(envelope.tensor()->dl_tensor.data, values);
}

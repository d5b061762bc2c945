#include "arraybridge/conversion.hpp"

#include <chrono>
#include <utility>

#include "arraybridge/error.hpp"
#include "arraybridge/host_copy.hpp"
#include "arraybridge/validate.hpp"
#include "require_device.hpp"
#include "share_at_once.hpp"
#include "unlocked_scope.hpp"

namespace arraybridge {

namespace {

using Declined = std::vector<std::pair<Mechanism, std::string>>;

/// Below this many bytes a copy is done sooner than Python's lock is handed over, or a file looked up.
constexpr std::int64_t worthwhile_bytes = std::int64_t{1} << 20U;

TensorView copy_unlocked(TensorView& tensor) {
    tensor.own_extents();  // while others run they may reshape the array in place
    const UnlockedScope unlocked(tensor.nbytes() < worthwhile_bytes ? nullptr : Registry::instance().runtime("python"));
    return copy_on_host(tensor);
}

/// One conversion between two libraries, or within one: what both carrying it out and explaining it need to know.
class Conversion {
public:
    /// `import_failed` says why the target would not take the array's memory, if that was tried already.
    Conversion(NativeArray array, ArrayLibrary& source, ArrayLibrary& target, const Device& device, CopyMode copy,
               Decline import_failed = {})
        : array_(array),
          source_(source),
          target_(target),
          device_(device),
          copy_(copy),
          import_failed_(std::move(import_failed)) {}

    NativeArray run(ConversionRecord* record);
    Explanation explain();

private:
    NativeArray run_within(ConversionRecord* record);
    NativeArray run_between(ConversionRecord* record);
    NativeArray copy_within();
    static bool describe(ArrayLibrary& library, NativeArray array, TensorView& view);
    void remember();

    void export_source(CopyMode copy, bool to_host);
    void prepare(CopyMode copy);
    void widen(DType wider);
    std::optional<DType> wider_dtype() const;
    bool target_has(DType dtype) const { return target_.manifest().dtypes.contains(dtype) && target_.supports(dtype); }
    std::string missing_dtype() const;

    Decline try_route(Mechanism mechanism, bool last, NativeArray& result);
    Decline carry(Mechanism mechanism, NativeArray& result);
    Decline share(NativeArray& result);
    Decline copy_into_target(NativeArray& result);
    Decline hand_over(TensorView& tensor, NativeArray& result);

    void fill_in(ConversionRecord& record, Mechanism mechanism, NativeArray result, Declined declined) const;
    bool shares_memory_with(NativeArray result) const;
    [[noreturn]] void fail(const Declined& declined) const;
    std::string why_not_shared(const ConversionRoute& route) const;
    void explain_within(Explanation& explanation);
    void explain_between(Explanation& explanation);
    Decline check_copy() const;

    NativeArray array_;
    ArrayLibrary& source_;
    ArrayLibrary& target_;
    const Device& device_;
    CopyMode copy_;
    Decline import_failed_;

    TensorView tensor_;  // the source's memory, until it is handed over
    bool exported_ = false;
    // What is to be told of that memory, whatever the importer does with the view: kept only for a record.
    bool recording_ = false;
    const void* address_ = nullptr;
    std::int64_t nbytes_ = 0;
    bool is_copy_ = false;
    Array widened_;  // keeps the shape that `tensor_` points to
};

// ----- carrying it out -----

NativeArray Conversion::run(ConversionRecord* record) {
    recording_ = record != nullptr;
    return &source_ == &target_ ? run_within(record) : run_between(record);
}

NativeArray Conversion::run_within(ConversionRecord* record) {
    const Device source_device = source_.device_of(array_);
    if (source_device == device_ && copy_ != CopyMode::always) {
        if (record != nullptr) record->mechanism = Mechanism::stays_in_place;
        source_.retain(array_);
        return array_;
    }
    require_device_of(target_, device_);
    NativeArray result;
    Mechanism mechanism = Mechanism::device_move;
    if (source_device != device_) {
        if (copy_ == CopyMode::never) {
            throw CannotShare("the array is on " + label(source_device) + ": bringing it to " + label(device_) +
                              " is a copy");
        }
        result = target_.move_to_device(array_, device_);
    } else {
        mechanism = device_.is_host() ? Mechanism::host_copy : Mechanism::device_move;
        result = copy_within();
    }
    if (record != nullptr) {
        record->source_device = source_device;
        if (!exported_ && describe(target_, result, tensor_)) remember();
        fill_in(*record, mechanism, result, {});
    }
    return result;
}

NativeArray Conversion::copy_within() {
    if (const NativeArray copy = source_.copy(array_)) return copy;
    export_source(device_.is_host() ? CopyMode::as_needed : CopyMode::always, false);
    NativeArray result;
    if (const Decline declined = copy_into_target(result)) throw ConversionError(declined.reason());
    return result;
}

/// Describes an array, if it can be described without a copy: for telling, not for carrying.
bool Conversion::describe(ArrayLibrary& library, NativeArray array, TensorView& view) try {
    return !library.export_tensor(array, {.copy = CopyMode::never}, view);
} catch (const FrameworkError& error) {
    if (error.must_propagate()) throw;
    return false;
} catch (const Error&) {
    return false;  // an array that no other library could take stays or is copied within its own
}

void Conversion::remember() {
    address_ = tensor_.data();
    nbytes_ = tensor_.nbytes();
    is_copy_ = (tensor_.flags & tensor_copied) != 0;
}

NativeArray Conversion::run_between(ConversionRecord* record) {
    require_device_of(target_, device_);
    prepare(copy_ == CopyMode::never ? CopyMode::never : CopyMode::as_needed);
    const ConversionRoute route =
        ConversionRoute::between(source_.entry(), tensor_.device, target_.entry(), device_, copy_);
    if (record != nullptr) record->source_device = tensor_.device;
    const auto candidates = route.candidates();
    Declined declined;
    for (const Mechanism& mechanism : candidates) {
        NativeArray result;
        Decline why = try_route(mechanism, &mechanism == &candidates.back(), result);
        if (!why) {
            if (record != nullptr) fill_in(*record, mechanism, result, std::move(declined));
            return result;
        }
        declined.emplace_back(mechanism, why.reason());
    }
    if (declined.empty()) declined.emplace_back(Mechanism::dlpack, why_not_shared(route));
    fail(declined);
}

/// A framework's own error declines a route while there is another one; the last route's error is the caller's.
Decline Conversion::try_route(Mechanism mechanism, bool last, NativeArray& result) {
    if (last) return carry(mechanism, result);
    try {
        return carry(mechanism, result);
    } catch (const FrameworkError& error) {
        if (error.must_propagate()) throw;
        return Decline{error.what()};
    }
}

Decline Conversion::carry(Mechanism mechanism, NativeArray& result) {
    return mechanism == Mechanism::host_copy ? copy_into_target(result) : share(result);
}

Decline Conversion::share(NativeArray& result) {
    if (import_failed_) return std::move(import_failed_);
    if (Decline unimportable = check_layout(tensor_, target_.manifest())) return unimportable;
    return hand_over(tensor_, result);
}

Decline Conversion::copy_into_target(NativeArray& result) {
    if (!tensor_.device.is_host()) export_source(CopyMode::as_needed, true);
    if (!tensor_.device.is_host()) {
        return Decline{source_.manifest().display_name + " did not bring the array from " + label(tensor_.device) +
                       " to main memory"};
    }
    const Manifest& rules = target_.manifest();
    // An upload copies anyway, and so did an exporter that made fresh memory: no second copy if the target takes it.
    const bool fresh = (tensor_.flags & tensor_copied) != 0 || !device_.is_host();
    if (fresh && !check_layout(tensor_, rules)) return hand_over(tensor_, result);
    if (copy_ == CopyMode::as_needed && tensor_.nbytes() >= worthwhile_bytes) {
        if (std::optional<TensorView> mapped = map_privately(tensor_); mapped && !check_layout(*mapped, rules)) {
            return hand_over(*mapped, result);
        }
    }
    TensorView copy = copy_unlocked(tensor_);
    if (Decline unimportable = check_layout(copy, rules)) return unimportable;
    return hand_over(copy, result);
}

Decline Conversion::hand_over(TensorView& tensor, NativeArray& result) {
    ImportRequest request{.device = device_, .copy = copy_};
    if (!tensor.device.is_host()) request.producer_stream = source_.current_stream(tensor.device);
    return target_.import_tensor(tensor, request, result);
}

// ----- getting at the source's memory -----

void Conversion::export_source(CopyMode copy, bool to_host) {
    ExportRequest request{.copy = copy, .to_host = to_host};
    const NativeArray array = widened_ ? widened_.native() : array_;
    if (const Decline declined = source_.export_tensor(array, request, tensor_)) {
        if (copy == CopyMode::never) throw CannotShare(declined.reason());
        throw ConversionError(declined.reason());
    }
    if (!tensor_.device.is_host()) {
        // Only now is it known that there are streams: export once more, ordered before the consumer's work.
        request.consumer_stream = target_.current_stream(tensor_.device);
        if (request.consumer_stream != no_stream) {
            if (const Decline declined = source_.export_tensor(array, request, tensor_)) {
                throw ConversionError(declined.reason());
            }
        }
    }
    if (const Decline bad = check_well_formed(tensor_.dlpack())) throw InvalidTensor(bad.reason());
    exported_ = true;
    if (recording_) remember();
}

void Conversion::prepare(CopyMode copy) {
    export_source(copy, false);
    if (target_has(tensor_.dtype())) [[likely]]
        return;
    const std::optional<DType> wider = wider_dtype();
    if (!wider) throw UnsupportedArray(missing_dtype());
    if (copy == CopyMode::never) throw CannotShare(missing_dtype());
    widen(*wider);
}

std::optional<DType> Conversion::wider_dtype() const {
    const std::optional<DType> wider = widened(tensor_.dtype(), target_.manifest().dtypes);
    return wider && target_.supports(*wider) && source_.supports(*wider) ? wider : std::nullopt;
}

std::string Conversion::missing_dtype() const {
    return target_.manifest().display_name + " has no dtype " + tensor_.dtype().name() + "; it has " +
           target_.manifest().dtypes.names();
}

/// Goes on with the source's values in a wider dtype of the same kind: the source library makes them. From an alias
/// that is nothing but the memory: a tensor of PyTorch may track a gradient, and so would what is computed from it.
void Conversion::widen(DType wider) {
    NativeArray alias;
    Decline no_alias = check_layout(tensor_, source_.manifest());
    if (!no_alias) no_alias = source_.import_tensor(tensor_, {.device = tensor_.device}, alias);
    const Array held = no_alias ? Array{} : Array::adopt(source_, alias);
    widened_ = Array::adopt(source_, source_.astype(no_alias ? array_ : alias, wider));
    tensor_ = TensorView{};
    export_source(CopyMode::as_needed, false);
    tensor_.flags |= tensor_copied;
    is_copy_ = true;
}

// ----- telling what was done -----

bool Conversion::shares_memory_with(NativeArray result) const {
    TensorView view;
    if (is_copy_) return false;
    // Without elements or outside main memory there is no address to compare.
    if (nbytes_ == 0 || !device_.is_host()) return true;
    return describe(target_, result, view) && view.data() == address_;
}

void Conversion::fill_in(ConversionRecord& record, Mechanism mechanism, NativeArray result, Declined declined) const {
    const Array held = Array::adopt(target_, result);  // lets it go if telling fails
    record.source_library = source_.name();
    record.target_library = target_.name();
    record.target_device = device_;
    record.nbytes = nbytes_;
    const bool claims_sharing = mechanism == Mechanism::dlpack || mechanism == Mechanism::shared_host_buffer;
    if (claims_sharing && !shares_memory_with(result)) {
        declined.emplace_back(mechanism, "the result begins at another address");
        mechanism = Mechanism::host_copy;
    }
    record.mechanism = mechanism;
    record.declined = std::move(declined);
    target_.retain(result);
}

void Conversion::fail(const Declined& declined) const {
    const std::string& reason = declined.back().second;
    if (copy_ == CopyMode::never) throw CannotShare(reason);
    throw ConversionError(reason);
}

std::string Conversion::why_not_shared(const ConversionRoute& route) const {
    const std::string& from = source_.manifest().display_name;
    const std::string& to = target_.manifest().display_name;
    if (tensor_.device.kind() != device_.kind()) {
        return "the array is on " + label(tensor_.device) + ": bringing it to " + label(device_) + " is a copy";
    }
    if (route.sharing() == Sharing::never) return from + " and " + to + " cannot share memory";
    if (copy_ == CopyMode::always) return "a copy was asked for (copy=True)";
    return from + " shares its memory with " + to + " only when asked to (copy=False)";
}

// ----- telling what would be done -----

Explanation Conversion::explain() {
    Explanation explanation;
    explanation.target_device = device_;
    explanation.copy = copy_;
    try {
        if (&source_ == &target_) {
            explain_within(explanation);
        } else {
            explain_between(explanation);
        }
    } catch (const FrameworkError& error) {
        if (error.must_propagate()) throw;
        explanation.error = error.what();
    } catch (const Error& error) {
        explanation.error = error.what();
    }
    return explanation;
}

void Conversion::explain_within(Explanation& explanation) {
    explanation.source_device = source_.device_of(array_);
    TensorView view;
    explanation.nbytes = describe(source_, array_, view) ? view.nbytes() : -1;
    const bool same_place = explanation.source_device == device_;
    if (same_place && copy_ != CopyMode::always) {
        explanation.mechanism = Mechanism::stays_in_place;
        explanation.routes.push_back({Mechanism::stays_in_place, true, {}});
        return;
    }
    const std::string why = same_place
                                ? "a copy was asked for (copy=True)"
                                : "the array is on " + label(explanation.source_device) + ", not on " + label(device_);
    explanation.routes.push_back({Mechanism::stays_in_place, false, why});
    require_device_of(target_, device_);
    if (copy_ == CopyMode::never) throw CannotShare(why + ": bringing it there is a copy");
    explanation.mechanism = same_place && device_.is_host() ? Mechanism::host_copy : Mechanism::device_move;
    explanation.routes.push_back({*explanation.mechanism, true, {}});
}

void Conversion::explain_between(Explanation& explanation) {
    explanation.source_device = source_.device_of(array_);
    explanation.nbytes = -1;
    require_device_of(target_, device_);
    const ConversionRoute route =
        ConversionRoute::between(source_.entry(), explanation.source_device, target_.entry(), device_, copy_);
    tensor_.device = explanation.source_device;
    // A shared route is explained even where the manifests rule it out.
    const bool with_numpy = source_.name() == "numpy" || target_.name() == "numpy";
    const Mechanism shared =
        with_numpy && explanation.source_device.is_host() ? Mechanism::shared_host_buffer : Mechanism::dlpack;
    const bool candidate = !route.candidates().empty() && route.candidates().front() == shared;

    std::string why;
    const Decline undescribed = source_.export_tensor(array_, {.copy = CopyMode::never}, tensor_);
    if (undescribed) {
        why = undescribed.reason();
    } else {
        if (const Decline bad = check_well_formed(tensor_.dlpack())) throw InvalidTensor(bad.reason());
        explanation.nbytes = tensor_.nbytes();
        if (!target_has(tensor_.dtype())) {
            why = missing_dtype();
            if (!wider_dtype()) throw UnsupportedArray(why);
        } else if (const Decline unimportable = check_layout(tensor_, target_.manifest())) {
            why = unimportable.reason();
        }
    }
    if (!candidate) why = why_not_shared(route);
    explanation.routes.push_back({shared, why.empty(), why});
    if (why.empty()) {
        explanation.mechanism = shared;
        return;
    }
    if (copy_ == CopyMode::never) throw CannotShare(why);
    if (!undescribed) {
        if (const Decline uncopyable = check_copy()) throw ConversionError(uncopyable.reason());
    }
    explanation.routes.push_back({Mechanism::host_copy, true, {}});
    explanation.mechanism = Mechanism::host_copy;
}

/// Whether the target can take over a copy of the array: compact, aligned, writable.
Decline Conversion::check_copy() const {
    TensorView copy;
    copy.dlpack() = tensor_.dlpack();
    copy.dlpack().data = nullptr;
    copy.dlpack().byte_offset = 0;
    copy.dlpack().strides = nullptr;
    return check_layout(copy, target_.manifest());
}

}  // namespace

NativeArray convert_native(NativeArray array, ArrayLibrary& source, ArrayLibrary& target, const Device& device,
                           CopyMode copy, ConversionRecord* record) {
    const bool usual = record == nullptr && copy == CopyMode::as_needed && device.is_host() && &source != &target;
    Decline import_failed;
    if (usual) [[likely]] {
        if (const NativeArray shared = share_at_once(array, source, target, import_failed)) [[likely]]
            return shared;
    }
    Conversion conversion(array, source, target, device, copy, std::move(import_failed));
    if (record == nullptr) return conversion.run(nullptr);
    const auto started = std::chrono::steady_clock::now();
    const NativeArray result = conversion.run(record);
    record->seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    return result;
}

Explanation explain_native(NativeArray array, ArrayLibrary& source, ArrayLibrary& target, const Device& device,
                           CopyMode copy) {
    return Conversion(array, source, target, device, copy).explain();
}

Array convert(const Array& array, ArrayLibrary& target, const Device& device, CopyMode copy) {
    if (!array) throw UnsupportedArray("there is no array to convert");
    ArrayLibrary& source = array.library();
    const CallScope source_scope(source);
    const CallScope target_scope(target);
    ConversionObserver* observer = ConversionObserver::current();
    if (observer == nullptr) {
        return Array::adopt(target, convert_native(array.native(), source, target, device, copy, nullptr));
    }
    ConversionRecord record;
    Array result = Array::adopt(target, convert_native(array.native(), source, target, device, copy, &record));
    if (record.mechanism != Mechanism::stays_in_place) observer->record(record);
    return result;
}

Explanation explain(const Array& array, ArrayLibrary& target, const Device& device, CopyMode copy) {
    if (!array) throw UnsupportedArray("there is no array to convert");
    const CallScope source_scope(array.library());
    const CallScope target_scope(target);
    return explain_native(array.native(), array.library(), target, device, copy);
}

}  // namespace arraybridge

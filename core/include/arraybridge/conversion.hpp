#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arraybridge/array.hpp"
#include "arraybridge/array_library.hpp"
#include "arraybridge/conversion_record.hpp"
#include "arraybridge/conversion_route.hpp"
#include "arraybridge/exchange.hpp"
#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// `array` as an array of `target` on `device`: the one path that every conversion takes.
///
/// Throws DeviceUnavailable before anything moves if the target does not have the device, CannotShare under
/// CopyMode::never if memory cannot be shared, UnsupportedArray for an array without values or of another library,
/// and what the last route's framework raised.
ARRAYBRIDGE_API Array convert(const Array& array, ArrayLibrary& target, const Device& device = HOST,
                              CopyMode copy = CopyMode::as_needed);

/// Likewise between native arrays, for callers that are inside the call scopes of both libraries: a language binding.
/// The result carries a reference. Fills in `record`, if there is one, unless the array stays in place:
/// `record->mechanism` then says so and the rest is left alone.
ARRAYBRIDGE_API NativeArray convert_native(NativeArray array, ArrayLibrary& source, ArrayLibrary& target,
                                           const Device& device, CopyMode copy, ConversionRecord* record);

/// One route in an explanation.
struct ExplainedRoute {
    Mechanism mechanism;
    bool taken = false;
    std::string reason;  ///< why it is declined; empty for the one that would be taken
};

/// What a conversion of one particular array would do.
struct Explanation {
    Device source_device;
    Device target_device;
    CopyMode copy = CopyMode::as_needed;
    std::int64_t nbytes = 0;
    std::vector<ExplainedRoute> routes;  ///< every mechanism that is better than the one taken, then that one
    std::optional<Mechanism> mechanism;  ///< what would be done; empty if the conversion would fail
    std::string error;                   ///< why it would fail
};

/// What `convert_native` would do with this array, by the same rules. Nothing is converted or copied.
ARRAYBRIDGE_API Explanation explain_native(NativeArray array, ArrayLibrary& source, ArrayLibrary& target,
                                           const Device& device, CopyMode copy);

/// Likewise for an array in C++.
ARRAYBRIDGE_API Explanation explain(const Array& array, ArrayLibrary& target, const Device& device = HOST,
                                    CopyMode copy = CopyMode::as_needed);

}  // namespace arraybridge

#pragma once

#include "arraybridge/array_library.hpp"
#include "arraybridge/exchange.hpp"

namespace arraybridge {

/// The first route of nearly every conversion, walked without a detour: an array in main memory that the other library
/// shares by default and can take as it lies. Null if anything about it is out of the ordinary; the conversion then
/// starts over, looks at everything and says what it finds. Inside the call scopes of two different libraries.
/// `import_failed` says why, if the array was ordinary and the importer still declined it: that is not tried again.
///
/// It is what `Conversion` does, less what only a record, a copy or a message needs, and it checks the same rules.
NativeArray share_at_once(NativeArray array, ArrayLibrary& source, ArrayLibrary& target, Decline& import_failed);

}  // namespace arraybridge

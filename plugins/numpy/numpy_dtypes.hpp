#pragma once

#include "arraybridge/dtype.hpp"
#include "numpy_api.hpp"

namespace arraybridge {

/// What DLPack calls the dtype of an array: NumPy's own numbers and ml_dtypes' types. A dtype without a name (`index()`
/// is -1) for all others: structured, datetime, object, strings, long double. The byte order is not looked at.
DType from_numpy_dtype(PyArray_Descr* descriptor);

/// The dtypes that NumPy has by itself, without ml_dtypes.
const DTypeSet& own_numpy_dtypes() noexcept;

/// A new reference to NumPy's dtype. Imports ml_dtypes for what only that package has, and throws NotInstalled, naming
/// it, if it is missing. Throws UnsupportedArray for a dtype that neither has.
PyArray_Descr* to_numpy_dtype(DType dtype);

}  // namespace arraybridge

#include "arraybridge/error.hpp"

// The destructors are the key functions: defining them here puts each class's type_info into libarraybridge.

namespace arraybridge {

Error::~Error() = default;
UnknownLibrary::~UnknownLibrary() = default;
NotInstalled::~NotInstalled() = default;
ManifestError::~ManifestError() = default;
PluginError::~PluginError() = default;
DeviceUnavailable::~DeviceUnavailable() = default;
CannotShare::~CannotShare() = default;
UnsupportedArray::~UnsupportedArray() = default;
InvalidTensor::~InvalidTensor() = default;
UnsupportedOperation::~UnsupportedOperation() = default;
FrameworkError::~FrameworkError() = default;
ConversionError::~ConversionError() = default;

bool FrameworkError::must_propagate() const noexcept { return false; }

}  // namespace arraybridge

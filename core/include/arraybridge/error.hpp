#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "arraybridge/visibility.hpp"

namespace arraybridge {

/// Base of every exception that leaves this library. Each class has its key function in libarraybridge, so that one
/// type_info exists in the process and a plugin's `throw` meets a program's `catch`.
class ARRAYBRIDGE_API Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
    ~Error() override;
};

/// No library of that name is known. Python: ValueError.
class ARRAYBRIDGE_API UnknownLibrary : public Error {
public:
    using Error::Error;
    ~UnknownLibrary() override;
};

/// The framework that a library stands for is not installed. Python: ModuleNotFoundError.
class ARRAYBRIDGE_API NotInstalled : public Error {
public:
    /// `module` is what could not be imported.
    NotInstalled(const std::string& message, std::string module) : Error(message), module_(std::move(module)) {}
    ~NotInstalled() override;

    const std::string& module() const noexcept { return module_; }

private:
    std::string module_;
};

/// A manifest could not be read; the message has its path and a line or JSON pointer. Python: ImportError.
class ARRAYBRIDGE_API ManifestError : public Error {
public:
    using Error::Error;
    ~ManifestError() override;
};

/// A plugin's shared object could not be loaded or was refused. Python: ImportError.
class ARRAYBRIDGE_API PluginError : public Error {
public:
    using Error::Error;
    ~PluginError() override;
};

/// A library does not have the device that was asked for. Python: ValueError.
class ARRAYBRIDGE_API DeviceUnavailable : public Error {
public:
    using Error::Error;
    ~DeviceUnavailable() override;
};

/// Memory was to be shared and cannot be. Python: BufferError.
class ARRAYBRIDGE_API CannotShare : public Error {
public:
    using Error::Error;
    ~CannotShare() override;
};

/// An array is not one of the library it was said to be, or has no values to convert. Python: TypeError.
class ARRAYBRIDGE_API UnsupportedArray : public Error {
public:
    using Error::Error;
    ~UnsupportedArray() override;
};

/// A tensor description is not well-formed: an exporter lies or is broken. Python: BufferError.
class ARRAYBRIDGE_API InvalidTensor : public Error {
public:
    using Error::Error;
    ~InvalidTensor() override;
};

/// A library does not have the operation. Python: NotImplementedError.
class ARRAYBRIDGE_API UnsupportedOperation : public Error {
public:
    using Error::Error;
    ~UnsupportedOperation() override;
};

/// A framework raised an error of its own. What crosses keeps the framework's exception; see `PythonError`.
class ARRAYBRIDGE_API FrameworkError : public Error {
public:
    using Error::Error;
    ~FrameworkError() override;

    /// Whether it must reach the caller even where another route could be tried: out of memory, an interrupt, an exit.
    virtual bool must_propagate() const noexcept;
};

/// No route carried the array. Python: MemoryConversionError.
class ARRAYBRIDGE_API ConversionError : public Error {
public:
    using Error::Error;
    ~ConversionError() override;
};

}  // namespace arraybridge

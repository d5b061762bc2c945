"""ArrayLibrary: one object and one class per library, known from its manifest."""

from __future__ import annotations

import copy
import pickle
import sys
from types import ModuleType

import numpy as np
import pytest

from arraybridge import HOST, AcceleratorDevice, Array, ArrayLibrary, libraries
from arraybridge.libraries import (
    AcceleratorDevices,
    ArrayMath,
    CudaLibrary,
    DLPackImport,
    DLPackProtocolExport,
    HostDevices,
    InPlaceAssignment,
    MutableArrays,
    NumpyArrayApi,
    NumpyBufferSharing,
    NvidiaWheelLibraries,
)

NUMPY, TORCH = ArrayLibrary.named("numpy"), ArrayLibrary.named("torch")
ARRAY = np.arange(12, dtype=np.float32).reshape(3, 4)


# ----- identity -----


def test_one_object_per_library() -> None:
    assert ArrayLibrary.named("numpy") is NUMPY
    assert NUMPY in ArrayLibrary.all()
    assert type(NUMPY)() is NUMPY
    assert copy.deepcopy(NUMPY) is NUMPY
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(NUMPY, protocol)) is NUMPY


def test_one_class_per_library() -> None:
    assert libraries.NumpyLibrary is type(NUMPY)
    assert libraries.TorchLibrary is type(TORCH)
    assert ArrayLibrary.__registry__["torch"] is libraries.TorchLibrary
    assert list(ArrayLibrary.__registry__) == [library.name for library in ArrayLibrary.all()]
    assert pickle.loads(pickle.dumps(type(TORCH))) is type(TORCH)
    assert "TorchLibrary" in dir(libraries)
    with pytest.raises(AttributeError, match="AbacusLibrary"):
        libraries.AbacusLibrary  # noqa: B018


def test_texts() -> None:
    assert (repr(NUMPY), str(NUMPY)) == ("<NumpyLibrary>", "numpy")
    assert (TORCH.name, TORCH.display_name, TORCH.import_name) == ("torch", "PyTorch", "torch")
    assert (libraries.TorchLibrary.name, libraries.TorchLibrary.display_name) == ("torch", "PyTorch")
    assert NUMPY.recognized_module_names == {"numpy"}
    assert NUMPY.module_aliases == ()


def test_the_family_is_no_library() -> None:
    with pytest.raises(TypeError):
        ArrayLibrary()
    with pytest.raises(TypeError):
        HostDevices()


def test_subscription() -> None:
    assert ArrayLibrary[Array].__origin__ is ArrayLibrary  # type: ignore[attr-defined]
    assert isinstance(NUMPY, ArrayLibrary)


# ----- lookup -----


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(
        ValueError, match=r"^'abacus' is not a registered array library\. Available: \[.*'numpy'"
    ) as caught:
        ArrayLibrary.named("abacus")
    names = str(caught.value).partition("Available: ")[2]
    assert names == str(sorted(names.strip("[]").replace("'", "").split(", ")))
    with pytest.raises(ValueError, match="'3' is not a registered"):
        ArrayLibrary.named(3)  # type: ignore[arg-type]


def test_of() -> None:
    class Derived(np.ndarray):  # type: ignore[type-arg]
        pass

    assert ArrayLibrary.of(ARRAY) is NUMPY
    assert ArrayLibrary.of(ARRAY.view(Derived)) is NUMPY
    assert ArrayLibrary.of(np.float32(1)) is NUMPY
    with pytest.raises(ValueError, match=r"^Unknown memory type for <class 'int'> \(module: builtins\)$"):
        ArrayLibrary.of(3)


def test_for_module_name() -> None:
    assert ArrayLibrary.for_module_name("torch.nn.functional") is TORCH
    with pytest.raises(ValueError, match=r"^No array library owns module 'abacus\.beads'$"):
        ArrayLibrary.for_module_name("abacus.beads")


# ----- roles -----


def test_roles() -> None:
    for role in (HostDevices, NumpyBufferSharing, InPlaceAssignment, ArrayMath, NumpyArrayApi, MutableArrays):
        assert isinstance(NUMPY, role)
    for role in (AcceleratorDevices, CudaLibrary, DLPackImport, DLPackProtocolExport, NvidiaWheelLibraries):
        assert not isinstance(NUMPY, role)
    for role in (
        HostDevices,
        NumpyBufferSharing,
        AcceleratorDevices,
        CudaLibrary,
        DLPackImport,
        DLPackProtocolExport,
        ArrayMath,
        InPlaceAssignment,
    ):
        assert isinstance(TORCH, role)
    assert not isinstance(TORCH, NumpyArrayApi)


def test_what_the_manifest_says_of_sharing() -> None:
    gpu = AcceleratorDevice(0)
    assert (NUMPY.imports_dlpack, TORCH.imports_dlpack) == (False, True)
    assert not NUMPY.imports_dlpack_from(HOST)
    assert TORCH.imports_dlpack_from(HOST) and TORCH.imports_dlpack_from(gpu)
    assert not NUMPY.exports_dlpack_from(HOST)
    assert TORCH.exports_dlpack_from(HOST) and TORCH.exports_dlpack_from(gpu)
    assert NUMPY.shares_numpy_buffer_on(HOST) and TORCH.shares_numpy_buffer_on(HOST)
    assert not TORCH.shares_numpy_buffer_on(gpu)


# ----- arrays -----


def test_isinstance_of_array() -> None:
    assert isinstance(ARRAY, Array)
    assert isinstance(ARRAY, NUMPY.array_class)
    assert not isinstance(ARRAY, TORCH.array_class)
    assert not isinstance([1, 2], Array)
    assert issubclass(np.ndarray, NUMPY.array_class)
    assert issubclass(NUMPY.array_class, Array)
    assert NUMPY.accepts(ARRAY)
    assert not NUMPY.accepts([1, 2])


# ----- module -----


def test_modules() -> None:
    assert NUMPY.is_installed()
    assert NUMPY.module is NUMPY.import_module() is NUMPY.import_if_installed() is NUMPY.loaded_module() is np


def test_a_library_that_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hidden:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name.partition(".")[0] == "torch":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    for name in [name for name in sys.modules if name.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Hidden, *sys.meta_path])
    assert not TORCH.is_installed()
    assert TORCH.loaded_module() is None
    assert TORCH.import_if_installed() is None
    assert TORCH.accelerator_devices() == ()
    assert ArrayLibrary.named("torch") is TORCH
    with pytest.raises(ValueError, match="PyTorch device accelerator:0 is unavailable"):
        TORCH.require_device(AcceleratorDevice(0))


def test_a_module_that_is_still_executing_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    half = ModuleType("torch")
    half.__spec__ = type("Spec", (), {"_initializing": True})()
    monkeypatch.setitem(sys.modules, "torch", half)
    assert TORCH.loaded_module() is None


def test_child_environment() -> None:
    environment = ArrayLibrary.child_environment({"PATH": "/bin"})
    assert environment["PATH"].endswith("/bin")
    assert NUMPY.extend_child_environment({}) == {}


# ----- devices -----


def test_numpy_has_main_memory_only() -> None:
    assert NUMPY.host_devices() == NUMPY.available_devices() == (HOST,)
    assert NUMPY.accelerator_devices() == ()
    assert NUMPY.device_of(ARRAY) == HOST
    assert NUMPY.require_device(HOST) is None
    text = r"^NumPy device accelerator:0 is unavailable; available devices are \('host',\)$"
    with pytest.raises(ValueError, match=text):
        NUMPY.require_device(AcceleratorDevice(0))
    with pytest.raises(ValueError, match=text):
        NUMPY.move_to_device(ARRAY, AcceleratorDevice(0))
    assert NUMPY.move_to_device(ARRAY, HOST) is ARRAY


# ----- conversion and operations -----


def test_sizes_and_addresses() -> None:
    assert NUMPY.nbytes_of(ARRAY) == 48
    assert NUMPY.host_address_of(ARRAY) == ARRAY.ctypes.data
    assert NUMPY.dtype_name(float) == "float64"


def test_torch_and_back() -> None:
    torch = pytest.importorskip("torch")
    tensor = TORCH.from_numpy(ARRAY, HOST)
    assert isinstance(tensor, torch.Tensor)
    assert TORCH.host_address_of(tensor) == ARRAY.ctypes.data
    assert np.shares_memory(TORCH.to_numpy(tensor), ARRAY)
    copied = NUMPY.convert_to(ARRAY, TORCH, HOST, copy=True)
    assert TORCH.host_address_of(copied) != ARRAY.ctypes.data
    assert TORCH.device_of(tensor) == HOST
    assert TORCH.module is torch


def test_the_bare_error() -> None:
    with pytest.raises(ValueError) as caught:
        NUMPY.convert_to(ARRAY, NUMPY, AcceleratorDevice(0))
    assert type(caught.value).__name__ != "ConversionDeviceError"


def test_operations() -> None:
    assert NUMPY.max(ARRAY, 0).tolist() == [8, 9, 10, 11]
    assert NUMPY.min(ARRAY, (0, 1)) == 0
    assert NUMPY.sum(ARRAY) == 66
    assert NUMPY.mean(ARRAY, 1).tolist() == [1.5, 5.5, 9.5]
    assert NUMPY.astype(ARRAY, "uint8").dtype == np.uint8
    assert NUMPY.reshape(ARRAY, (4, 3)).shape == (4, 3)
    assert NUMPY.broadcast_to(ARRAY, (2, 3, 4)).shape == (2, 3, 4)
    assert NUMPY.ones_like(ARRAY).dtype == bool
    assert NUMPY.ones_like(ARRAY, shape=(2,), dtype=np.int16).tolist() == [1, 1]
    assert NUMPY.prepend_axis(ARRAY).shape == (1, 3, 4)
    target = ARRAY.copy()
    assert NUMPY.assign(target, slice(0, 1), np.zeros((1, 4), np.float32)) is target
    assert NUMPY.sum(target) == 60
    assert NUMPY.logical_and(ARRAY, ARRAY).tolist()[0] == [False, True, True, True]
    assert NUMPY.stack_arrays([ARRAY, ARRAY], HOST).shape == (2, 3, 4)
    assert NUMPY.normalize_planes(ARRAY, np.float32, [None, 2, 4])[1].tolist() == [2, 2.5, 3, 3.5]
    with pytest.raises(ValueError):
        NUMPY.normalize_planes(ARRAY, np.float32, [1])
    assert NUMPY.scale_dtype(ARRAY, np.uint8).max() == 255
    assert NUMPY.scale_dtype("no array", np.uint8) == "no array"
    assert NUMPY.linspace(0, 1, 5, endpoint=False).tolist() == [0, 0.2, 0.4, 0.6000000000000001, 0.8]
    assert NUMPY.ones((2, 2), "float32").sum() == 4
    assert NUMPY.outer(np.arange(2), np.arange(3)).tolist() == [[0, 0, 0], [0, 1, 2]]
    assert NUMPY.floor(2.5) == 2


def test_out_of_memory() -> None:
    assert NUMPY.is_oom_error(RuntimeError("Cannot allocate memory"))
    assert not NUMPY.is_oom_error(RuntimeError("something else"))
    assert TORCH.is_oom_error(RuntimeError("CUDA out of memory. Tried to allocate"))


def test_torch_says_out_of_memory_by_its_exception() -> None:
    torch = pytest.importorskip("torch")
    assert TORCH.is_oom_error(torch.cuda.OutOfMemoryError("x"))

"""What fails says so: by class, by words, before anything moves, and wherever the error travels."""

from __future__ import annotations

import pickle
import sys
import traceback
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crossing import Recorder, refused  # noqa: E402

from arraybridge import (  # noqa: E402
    HOST,
    AcceleratorDevice,
    ArrayLibrary,
    MemoryConversionError,
    NamedDevice,
    convert,
    convert_memory,
    explain,
)
from arraybridge.exceptions import (  # noqa: E402
    ConversionBufferError,
    ConversionDeviceError,
    ConversionModuleNotFoundError,
)


class SaysItIsAnArray:
    __class__ = np.ndarray  # type: ignore[assignment]
    shape = (3,)
    dtype = np.dtype("float32")


class SaysItIsATensor:
    __class__ = torch.Tensor  # type: ignore[assignment]
    shape = (3,)
    dtype = torch.float32


class SaysItIsAParameter(SaysItIsATensor):
    __class__ = torch.nn.Parameter  # type: ignore[assignment]


class HasEveryProtocol:
    __array_interface__ = np.ones(3).__array_interface__

    def __array__(self, *arguments: Any, **keywords: Any) -> np.ndarray:
        return np.ones(3)

    def __dlpack__(self, **keywords: Any) -> Any:
        return np.ones(3).__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


class HasNoAttributes:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("leave me alone")


NO_ARRAYS: list[Any] = [
    [1.0, 2.0],
    (1, 2),
    None,
    3,
    2.5,
    True,
    "text",
    b"bytes",
    bytearray(8),
    memoryview(b"12345678"),
    object(),
    {},
    range(3),
    int,
    np,
    torch,
    SaysItIsAnArray(),
    SaysItIsATensor(),
    SaysItIsAParameter(),
    HasEveryProtocol(),
    type("ndarray", (), {"__module__": "numpy"})(),
    type("Tensor", (), {"__module__": "torch"})(),
    lambda: None,
]


@pytest.mark.parametrize(
    "value", [*NO_ARRAYS, np.ndarray, np.dtype("f4"), np.sum, torch.ones(2)], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("copy", [None, False, True])
def test_no_array_of_numpy(value: Any, copy: bool | None) -> None:
    error = refused(value, "numpy", "torch", copy, match="NumPy", detected=False)
    assert type(value).__name__ in error.reason


@pytest.mark.parametrize(
    "value",
    [
        *NO_ARRAYS,
        torch.Tensor,
        torch.float32,
        torch.Size([2]),
        torch.device("cpu"),
        torch.ones(2).untyped_storage(),
        np.ones(2),
    ],
    ids=lambda v: type(v).__name__,
)
@pytest.mark.parametrize("copy", [None, False, True])
def test_no_tensor_of_torch(value: Any, copy: bool | None) -> None:
    error = refused(value, "torch", "numpy", copy, match="PyTorch", detected=False)
    assert type(value).__name__ in error.reason


@pytest.mark.parametrize("value", NO_ARRAYS, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_no_array_within_one_library(value: Any, library: str) -> None:
    for copy in (None, False, True):
        try:
            result = convert_memory(value, library, library, HOST, copy=copy)
        except MemoryConversionError as error:
            assert type(value).__name__ in error.reason
        else:
            assert (result is value, library, copy) == (True, "numpy", None) or copy is False


@pytest.mark.parametrize("value", NO_ARRAYS, ids=lambda v: type(v).__name__)
def test_what_no_library_made(value: Any) -> None:
    with pytest.raises((ValueError, MemoryConversionError), match=type(value).__name__):
        convert(value, "torch")
    with pytest.raises((ValueError, MemoryConversionError), match=type(value).__name__):
        convert(value, "numpy", copy=True)
    with pytest.raises((ValueError, TypeError, MemoryConversionError)):
        convert(np.ones(2), value)


def test_an_object_that_raises_when_it_is_asked_for_anything() -> None:
    for source, target in (("numpy", "torch"), ("torch", "numpy")):
        with pytest.raises(MemoryConversionError, match="HasNoAttributes"):
            convert_memory(HasNoAttributes(), source, target, HOST)
    with pytest.raises(ValueError, match="HasNoAttributes"):
        convert(HasNoAttributes(), "torch")


def test_a_class_whose_metaclass_raises() -> None:
    class Meta(type):
        def __getattribute__(cls, name: str) -> Any:
            raise RuntimeError("leave me alone")

    class Hidden(metaclass=Meta):
        pass

    value = object.__new__(Hidden)
    for library in ("numpy", "torch"):
        other = "torch" if library == "numpy" else "numpy"
        with pytest.raises(MemoryConversionError, match="Hidden"):
            convert_memory(value, library, other, HOST)


# ----- devices -----

MISSING = [AcceleratorDevice(0), AcceleratorDevice(63), NamedDevice("mps:0"), NamedDevice("tpu:3"), NamedDevice("")]


@pytest.mark.parametrize("device", MISSING, ids=lambda device: device.label)
@pytest.mark.parametrize("target", ["numpy", "torch"])
@pytest.mark.parametrize("source", ["numpy", "torch"])
def test_a_device_that_is_missing(source: str, target: str, device: Any) -> None:
    if device in ArrayLibrary.named(target).available_devices():
        pytest.skip("this machine has it")
    array = np.ones(3) if source == "numpy" else torch.ones(3)
    for copy in (None, False, True):
        recorder = Recorder()
        with recorder.installed(), pytest.raises(MemoryConversionError, match="host") as caught:
            convert_memory(array, source, target, device, copy=copy)
        assert recorder.records == []
        assert type(caught.value) is ConversionDeviceError
        assert isinstance(caught.value, ValueError)
        assert device.label in caught.value.reason
        told = explain(array, target, device=device, copy=copy)
        assert (told.mechanism, told.error) == (None, caught.value.reason)
        with pytest.raises(ValueError, match="host"):
            convert(array, target, device=device, copy=copy)


def test_a_missing_device_is_found_before_the_array_is_looked_at() -> None:
    vast = np.broadcast_to(np.int8(1), (2**31, 2**30))
    tracked = torch.ones(3, requires_grad=True) * 2
    for array, source, target in ((vast, "numpy", "torch"), (tracked, "torch", "numpy")):
        with pytest.raises(ConversionDeviceError):
            convert_memory(array, source, target, NamedDevice("nowhere"))


@pytest.mark.parametrize(
    "device", ["cpu", "host", 0, None, object(), torch.device("cpu")], ids=lambda d: type(d).__name__
)
def test_what_is_no_device(device: Any) -> None:
    if device is not None:
        with pytest.raises((TypeError, MemoryConversionError), match="NamedDevice"):
            convert(np.ones(2), "torch", device=device)
    with pytest.raises((TypeError, MemoryConversionError), match="NamedDevice"):
        convert_memory(np.ones(2), "numpy", "torch", device)


@pytest.mark.parametrize("copy", ["no", 2, 1.5, [], object()], ids=lambda copy: type(copy).__name__)
def test_what_is_no_answer_to_copy(copy: Any) -> None:
    for call in (
        lambda: convert_memory(np.ones(2), "numpy", "torch", HOST, copy=copy),
        lambda: convert(np.ones(2), "torch", copy=copy),
        lambda: explain(np.ones(2), "torch", copy=copy),
    ):
        with pytest.raises((TypeError, ValueError, MemoryConversionError), match="copy"):
            call()


@pytest.mark.parametrize(
    "name", ["abacus", "", "NumPy", "numpy ", "torch\0", "ü" * 100, "../numpy"], ids=lambda name: name[:9]
)
def test_an_unknown_library(name: str) -> None:
    for call in (
        lambda: convert_memory(np.ones(2), name, "torch", HOST),
        lambda: convert_memory(np.ones(2), "numpy", name, HOST),
        lambda: convert(np.ones(2), name),
    ):
        with pytest.raises(ValueError, match=r"numpy.*torch"):
            call()


# ----- the errors themselves -----


def an_error_of_each_class() -> list[MemoryConversionError]:
    errors = []
    read_only = np.ones(3)
    read_only.flags.writeable = False
    for call in (
        lambda: convert_memory([1], "numpy", "torch", HOST),
        lambda: convert_memory(read_only, "numpy", "torch", HOST, copy=False),
        lambda: convert_memory(read_only, "numpy", "torch", NamedDevice("nowhere")),
    ):
        with pytest.raises(MemoryConversionError) as caught:
            call()
        errors.append(caught.value)
    return errors


def test_classes() -> None:
    classes = [type(error) for error in an_error_of_each_class()]
    assert classes == [MemoryConversionError, ConversionBufferError, ConversionDeviceError]
    assert isinstance(an_error_of_each_class()[1], BufferError)
    assert isinstance(an_error_of_each_class()[2], ValueError)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_they_pickle(protocol: int) -> None:
    for error in an_error_of_each_class():
        error.add_note("seen") if sys.version_info >= (3, 11) else None
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is type(error)
        assert (str(again), again.args) == (str(error), error.args)
        assert vars(again) == vars(error)
        for name in ("source_type", "target_type", "method", "reason"):
            assert getattr(again, name) == getattr(error, name)
    missing = ConversionModuleNotFoundError("a", "b", "c", "d")
    missing.name = "torch"
    assert pickle.loads(pickle.dumps(missing, protocol)).name == "torch"


def test_causes() -> None:
    kinds = [type(error.__cause__) for error in an_error_of_each_class()]
    assert kinds == [TypeError, BufferError, ValueError]
    for error in an_error_of_each_class():
        assert str(error.__cause__) == error.reason
        assert error.__suppress_context__
        assert "direct cause" in "".join(traceback.format_exception(error))


def test_an_error_of_the_framework_keeps_its_type_and_traceback() -> None:
    class Broken(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
            raise LookupError("lost")

    with pytest.raises(MemoryConversionError, match="lost") as caught:
        convert(torch.ones(2).as_subclass(Broken), "numpy")
    cause = caught.value.__cause__
    assert type(cause) is LookupError
    assert any(frame.name == "__torch_function__" for frame in traceback.extract_tb(cause.__traceback__))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit])
def test_what_has_to_reach_the_caller_as_it_is(kind: type[BaseException]) -> None:
    class Interrupting(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
            raise kind("now")

    tensor = torch.ones(2).as_subclass(Interrupting)
    for call in (
        lambda: convert_memory(tensor, "torch", "numpy", HOST),
        lambda: convert(tensor, "numpy", copy=True),
        lambda: explain(tensor, "numpy"),
    ):
        with pytest.raises(kind, match="now"):
            call()


def test_an_observer_that_raises() -> None:
    class Raising(Recorder):
        def record(self, record: Any) -> None:
            raise LookupError("not now")

    with Raising().installed(), pytest.raises((LookupError, MemoryConversionError), match="not now"):
        convert(np.ones(2), "torch")
    assert convert(np.ones(2), "torch").sum() == 2

"""Files that NumPy maps read-only are mapped once more, privately, on their way to PyTorch."""

from __future__ import annotations

import gc
import mmap
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crossing import COPIED, SHARED, address, bits, cross, refused  # noqa: E402

from arraybridge import HOST, convert, convert_memory, explain  # noqa: E402

COUNT = 1 << 20  # float32 elements: 4 MiB

needs_maps = pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells about mappings")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "values.bin"
    np.arange(COUNT, dtype=np.float32).tofile(file)
    return file


def mappings(path: Path) -> list[tuple[int, int, str]]:
    """Begin, end and access of each mapping of the file in this process."""
    found = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith(str(path.resolve())):
            begin, end = line.split()[0].split("-")
            found.append((int(begin, 16), int(end, 16), line.split()[1]))
    return found


def private_bytes(path: Path) -> int:
    """Bytes of this process's own copies of pages of the file."""
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split()[0] and not line.split()[0].endswith(":"):
            inside = line.endswith(str(path.resolve()))
        elif inside and line.startswith(("Private_Dirty:", "Anonymous:")) and "Anon" in line:
            total += 1024 * int(line.split()[1])
    return total


def is_mapped_again(array: np.ndarray, result: torch.Tensor, path: Path) -> bool:
    at = address(result)
    return at != address(array) and any(begin <= at < end and "p" in access for begin, end, access in mappings(path))


@needs_maps
def test_it_is_mapped_and_not_copied(path: Path) -> None:
    array = np.memmap(path, np.float32, "r")
    crossed = cross(array, "numpy", "torch")
    result = crossed.result
    assert crossed.mechanism == COPIED
    assert is_mapped_again(array, result, path)
    assert private_bytes(path) == 0
    assert result.sum(dtype=torch.float64) == COUNT * (COUNT - 1) / 2
    assert private_bytes(path) == 0


@needs_maps
def test_a_result_is_writable_and_the_file_is_not_written(path: Path) -> None:
    before = path.read_bytes()
    array = np.memmap(path, np.float32, "r")
    result = convert(array, "torch")
    assert is_mapped_again(array, result, path)
    result += 1
    assert result[:3].tolist() == [1, 2, 3]
    assert array[:3].tolist() == [0, 1, 2]
    assert path.read_bytes() == before
    assert private_bytes(path) >= 4 * COUNT


@needs_maps
def test_the_mapping_goes_with_the_result(path: Path) -> None:
    array = np.memmap(path, np.float32, "r")
    with_the_source = len(mappings(path))
    result = convert(array, "torch")
    part = result[5:10]
    del result, array
    gc.collect()
    assert part.tolist() == [5, 6, 7, 8, 9]
    assert len(mappings(path)) == with_the_source
    del part
    gc.collect()
    assert mappings(path) == []


@needs_maps
@pytest.mark.parametrize(
    "part",
    [
        np.s_[1:],
        np.s_[3 : COUNT - 5],
        np.s_[::2],
        np.s_[1021 : COUNT - 7 : 3],
        np.s_[: 1 << 18],
        np.s_[COUNT - (1 << 18) :],
    ],
    ids=str,
)
def test_parts(path: Path, part: slice) -> None:
    array = np.memmap(path, np.float32, "r")[part]
    result = cross(array, "numpy", "torch").result
    assert is_mapped_again(array, result, path)
    assert bits(result) == bits(array)
    assert result.stride() == tuple(step // 4 for step in array.strides)
    result[...] = -1
    assert path.read_bytes() == np.arange(COUNT, dtype=np.float32).tobytes()


@needs_maps
def test_views_of_views_and_plain_arrays_of_them(path: Path) -> None:
    mapped = np.memmap(path, np.float32, "r", shape=(1024, 1024))
    for array in (
        np.asarray(mapped),
        mapped.T,
        mapped.reshape(-1)[2:].view(np.ndarray),
        mapped.view(np.int32),
        mapped[:, ::2],
        mapped.view(np.complex64),
    ):
        result = cross(array, "numpy", "torch").result
        assert is_mapped_again(array, result, path)
        assert bits(result) == bits(array)


def test_what_cannot_be_mapped_again_is_copied(path: Path) -> None:
    mapped = np.memmap(path, np.float32, "r")
    foreign = np.memmap(path, ">f4", "r")
    misaligned = np.memmap(path, np.uint8, "r")[1 : 1 + 4 * (COUNT - 1)].view(np.float32)
    misplaced = np.memmap(path, np.float64, "r", offset=4, shape=(COUNT // 2 - 1,))
    for array in (mapped[::-1], mapped[::-2], foreign, misaligned, misplaced, mapped[: COUNT // 8]):
        crossed = cross(array, "numpy", "torch")
        assert crossed.mechanism == COPIED
        assert not is_mapped_again(array, crossed.result, path)
        assert bits(crossed.result) == bits(array)
        crossed.result[...] = 0
        assert bits(array) != bits(crossed.result)


def test_a_copy_that_was_asked_for_is_one(path: Path) -> None:
    array = np.memmap(path, np.float32, "r")
    copied = cross(array, "numpy", "torch", True).result
    assert not is_mapped_again(array, copied, path)
    np.memmap(path, np.float32, "r+")[:10] = 99
    assert copied[:3].tolist() == [0, 1, 2]


def test_sharing_is_refused(path: Path) -> None:
    refused(np.memmap(path, np.float32, "r"), "numpy", "torch", False, match="read-only", kind=BufferError)


def test_a_writable_mapping_is_shared(path: Path) -> None:
    array = np.memmap(path, np.float32, "r+")
    crossed = cross(array, "numpy", "torch")
    assert (crossed.mechanism, address(crossed.result)) == (SHARED, address(array))
    crossed.result[0] = 7
    array.flush()
    assert np.fromfile(path, np.float32, 1).tolist() == [7]


def test_a_writable_mapping_that_was_made_read_only(path: Path) -> None:
    array = np.memmap(path, np.float32, "r+")
    array[1] = 50
    array.flags.writeable = False
    result = cross(array, "numpy", "torch").result
    assert result[:3].tolist() == [0, 50, 2]
    result[0] = 8
    array.flush()
    assert np.fromfile(path, np.float32, 3).tolist() == [0, 50, 2]


def test_a_private_mapping_keeps_its_own_values(path: Path) -> None:
    array = np.memmap(path, np.float32, "c")
    array[1], array[COUNT - 1] = 50, 60
    array.flags.writeable = False
    for each in (array, array[1:], np.asarray(array)[::-1]):
        assert bits(cross(each, "numpy", "torch").result) == bits(each)
    result = convert(array, "torch")
    result[2] = 70
    assert (array[1], array[2], result[1], result[COUNT - 1]) == (50, 2, 50, 60)
    assert np.fromfile(path, np.float32)[1] == 1


def test_a_file_that_is_gone_or_another_one_by_now(path: Path) -> None:
    array = np.memmap(path, np.float32, "r")
    path.unlink()
    assert bits(cross(array, "numpy", "torch").result) == bits(array)
    np.zeros(COUNT, np.float32).tofile(path)
    assert bits(cross(array, "numpy", "torch").result) == bits(array)
    # The kernel says " (deleted)" behind the path of a file that is gone: a file of that very name is not it.
    np.zeros(COUNT, np.float32).tofile(path.with_name(path.name + " (deleted)"))
    assert bits(cross(array, "numpy", "torch").result) == bits(array)


def test_a_file_that_was_renamed(path: Path) -> None:
    array = np.memmap(path, np.float32, "r")
    path.rename(path.with_name("renamed.bin"))
    np.zeros(COUNT, np.float32).tofile(path)
    assert bits(cross(array, "numpy", "torch").result) == bits(array)


@pytest.mark.parametrize(
    "name", ["with space.bin", "ünïcode.bin", "new\nline.bin", "back\\slash.bin", "a (deleted)", "-"]
)
def test_names_that_are_hard_to_read_back(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    np.arange(COUNT, dtype=np.float32).tofile(file)
    array = np.memmap(file, np.float32, "r")
    result = cross(array, "numpy", "torch").result
    assert bits(result) == bits(array)
    result[0] = 5
    assert array[0] == 0


def test_a_mapping_that_begins_inside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "two.npy"
    np.save(file, np.arange(COUNT, dtype=np.float32).reshape(1024, -1))
    array = np.load(file, mmap_mode="r")
    crossed = cross(array, "numpy", "torch")
    assert bits(crossed.result) == bits(array)
    late = np.memmap(file, np.float32, "r", offset=4096 * 5 + 128, shape=(COUNT - 6000,))
    assert bits(cross(late, "numpy", "torch").result) == bits(late)


def test_a_mapping_of_pythons_own(path: Path) -> None:
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    array = np.frombuffer(memory, np.float32)
    result = cross(array, "numpy", "torch").result
    assert bits(result) == bits(array)
    result[0] = 5
    assert array[0] == 0


def test_an_array_that_only_looks_like_a_part_of_a_mapping(path: Path) -> None:
    # Its base is a memmap, and its memory is not that of the file.
    anonymous = np.arange(COUNT, dtype=np.float32)
    stranger = anonymous.view(np.memmap)
    stranger.flags.writeable = False
    result = cross(stranger, "numpy", "torch").result
    result[0] = 5
    assert (anonymous[0], bits(result)[4:] == bits(anonymous)[4:]) == (0, True)


def test_back_again_a_read_only_mapping_stays_in_place(path: Path) -> None:
    array = np.memmap(path, np.float32, "r")
    assert convert_memory(array, "numpy", "numpy", HOST) is array
    assert explain(array, "numpy").mechanism == "stays in place"
    copied = convert_memory(array, "numpy", "numpy", HOST, copy=True)
    assert copied.flags.writeable and bits(copied) == bits(array)
    assert not np.shares_memory(copied, array)


@needs_maps
def test_a_file_that_this_process_can_still_write_to_is_copied(path: Path) -> None:
    mapped = np.memmap(path, np.float32, "r+")
    array = mapped[:]
    array.flags.writeable = False
    result = convert(array, "torch")
    assert not is_mapped_again(array, result, path)
    mapped[5] = 77
    assert result[5] == 5

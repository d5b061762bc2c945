"""Many threads at once: the first use, every use after it, and interrupts in between."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from arraybridge import HOST, MemoryConversionError, convert, convert_memory, explain  # noqa: E402
from arraybridge.conversion import ConversionCounters  # noqa: E402


def run(code: str, *arguments: str, timeout: float = 120) -> str:
    """What a new interpreter prints that runs `code`. It has to end well and without a word on stderr."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def in_threads(work: Callable[[int], None], count: int = 16) -> None:
    """Runs `work` in threads that start together. The first error of any of them is raised."""
    ready, errors = threading.Barrier(count), []

    def begin(number: int) -> None:
        ready.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


TOGETHER = """
import sys, threading
from arraybridge import HOST, ArrayLibrary, convert, convert_memory, detect_memory_type, explain

def in_threads(work):
    ready, answers = threading.Barrier(16), [None] * 16
    def begin(number):
        ready.wait()
        try:
            answers[number] = work(number)
        except BaseException as error:
            answers[number] = repr(error)
    threads = [threading.Thread(target=begin, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    return answers
"""


@pytest.mark.parametrize("imports", ["import numpy as np", "import numpy as np, torch", "np = None"])
def test_sixteen_threads_make_the_first_use_together(imports: str) -> None:
    told = run(
        TOGETHER
        + imports
        + textwrap.dedent("""

        def work(number):
            if np is None:
                modules = ArrayLibrary.named("torch").module, ArrayLibrary.named("numpy").module
                tensor = modules[0].ones(3)
            else:
                tensor = convert_memory(np.ones(3), "numpy", "torch", HOST)
            return float(convert_memory(tensor, "torch", "numpy", HOST).sum())

        print(*in_threads(work))
        """)
    )
    assert told.split() == ["3.0"] * 16


def test_threads_whose_first_uses_are_of_different_kinds() -> None:
    told = run(
        TOGETHER
        + textwrap.dedent("""
        import numpy as np
        import arraybridge

        def work(number):
            array = np.ones(3)
            return [
                lambda: float(convert(array, "torch").sum()),
                lambda: explain(array, "torch").nbytes / 8,
                lambda: float(len(ArrayLibrary.named("torch").available_devices()) and 3),
                lambda: 3.0 * (detect_memory_type(array) == "numpy"),
                lambda: 3.0 * ArrayLibrary.named("torch").is_installed(),
                lambda: float(len(arraybridge._arraybridge.problems()) + 3),
                lambda: 3.0 * (len(ArrayLibrary.all()) > 1),
                lambda: float(ArrayLibrary.named("numpy").sum(array)),
            ][number % 8]()

        print(*in_threads(work))
        """)
    )
    assert told.split() == ["3.0"] * 16


def test_the_import_itself_in_sixteen_threads() -> None:
    told = run("""
        import threading
        ready, answers = threading.Barrier(16), []

        def work():
            ready.wait()
            from arraybridge import HOST, convert_memory
            import numpy as np
            answers.append(float(convert_memory(np.ones(3), "numpy", "torch", HOST).sum()))

        threads = [threading.Thread(target=work) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(*answers)
        """)
    assert told.split() == ["3.0"] * 16


def test_a_thread_that_holds_the_import_lock_of_a_framework() -> None:
    # While one thread is inside `import torch`, which converts in the middle, others make their first use of it.
    told = run("""
        import sys, threading
        import numpy as np
        from arraybridge import HOST, convert_memory
        import importlib.abc, importlib.machinery

        started = threading.Event()

        class Slow(importlib.abc.MetaPathFinder):
            def find_spec(self, name, path, target=None):
                if name == "torch.nn":
                    started.set()
                    import time
                    time.sleep(0.3)
                return None

        sys.meta_path.insert(0, Slow())
        answers = []

        def importing():
            import torch
            answers.append(1.0)

        def converting():
            started.wait()
            answers.append(float(convert_memory(np.ones(3), "numpy", "torch", HOST).sum()) / 3)

        threads = [threading.Thread(target=importing)] + [threading.Thread(target=converting) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        print(*answers)
        """)
    assert told.split() == ["1.0"] * 5


def test_conversions_in_sixteen_threads() -> None:
    shared = np.arange(64.0)
    shared_tensor = torch.arange(64.0)

    def work(number: int) -> None:
        own = np.full((8, 8), float(number))
        for turn in range(150):
            tensor = convert_memory(own, "numpy", "torch", HOST)
            assert convert(tensor, "numpy").ctypes.data == own.ctypes.data
            assert convert(own[::-1], "torch", copy=None).sum() == 64 * number
            assert convert(shared, "torch").data_ptr() == shared.ctypes.data
            assert convert(shared_tensor, "numpy", copy=True).sum() == 2016
            if turn % 10 == 0:
                assert explain(own, "torch").shared
                with pytest.raises(MemoryConversionError):
                    convert(own.view("M8[s]"), "torch")

    before = sys.getrefcount(shared), sys.getrefcount(shared_tensor)
    in_threads(work)
    convert(shared_tensor, "numpy")
    assert (sys.getrefcount(shared), sys.getrefcount(shared_tensor)) == before


def test_results_are_released_by_threads_that_did_not_make_them() -> None:
    import queue
    import weakref

    made: queue.SimpleQueue = queue.SimpleQueue()
    seen: list[weakref.ref] = []

    def work(number: int) -> None:
        for _ in range(200):
            if number % 2:
                array = np.ones(16)
                seen.append(weakref.ref(array))
                made.put(convert(convert(array, "torch"), "numpy") if number % 4 == 1 else convert(array, "torch"))
            else:
                assert made.get().sum() == 16

    in_threads(work)
    assert made.empty()
    convert(torch.ones(1), "numpy")
    assert [reference for reference in seen if reference() is not None] == []


def test_large_copies_in_threads_let_others_run() -> None:
    # 2 MiB and more are copied without the interpreter's lock.
    array = np.arange(1 << 19, dtype=np.float64)
    expected = float(array.sum())

    def work(number: int) -> None:
        for _ in range(3):
            assert float(convert(array[::-1], "torch").sum()) == expected
            assert float(convert(array, "torch", copy=True).sum()) == expected

    in_threads(work, 6)


def test_each_thread_has_its_own_observer() -> None:
    array = np.ones(4)
    counts = [0] * 16

    def work(number: int) -> None:
        counters = ConversionCounters()
        if number % 2:
            with counters.installed():
                for _ in range(number):
                    convert(array, "torch")
        else:
            convert(array, "torch")
        counts[number] = sum(total.count for total in counters.totals.values())

    in_threads(work)
    assert counts == [number if number % 2 else 0 for number in range(16)]


# ----- interrupts -----


SLOW_TORCH = """
import importlib.abc, os, signal, sys, threading, time
import numpy as np
from arraybridge import HOST, MemoryConversionError, convert_memory

# A process that was started in the background ignores interrupts, and so would its children.
signal.signal(signal.SIGINT, signal.default_int_handler)

class Slow(importlib.abc.MetaPathFinder):
    slow = True

    def find_spec(self, name, path, target=None):
        if name == "torch" and Slow.slow:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            time.sleep(20)
        return None

sys.meta_path.insert(0, Slow())
"""


def test_an_interrupt_during_a_slow_first_import() -> None:
    told = run(
        SLOW_TORCH
        + textwrap.dedent("""
        try:
            convert_memory(np.ones(3), "numpy", "torch", HOST)
        except KeyboardInterrupt as error:
            assert not isinstance(error, MemoryConversionError)
            print("interrupted")
        Slow.slow = False
        print(convert_memory(np.ones(3), "numpy", "torch", HOST).sum().item())
        """)
    )
    assert told.split() == ["interrupted", "3.0"]


def test_an_interrupt_reaches_the_main_thread_while_others_import() -> None:
    told = run(
        SLOW_TORCH
        + textwrap.dedent("""
        answers = []

        def work():
            Slow.slow = False
            answers.append(convert_memory(np.ones(3), "numpy", "torch", HOST).sum().item())

        try:
            convert_memory(np.ones(3), "numpy", "torch", HOST)
        except KeyboardInterrupt:
            print("interrupted")
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        print(*answers)
        """)
    )
    assert told.split() == ["interrupted", "3.0"]


def test_an_import_that_fails_is_tried_again() -> None:
    told = run("""
        import importlib.abc, sys
        import numpy as np
        from arraybridge import HOST, MemoryConversionError, convert_memory

        class Failing(importlib.abc.MetaPathFinder):
            error = None

            def find_spec(self, name, path, target=None):
                if name == "torch":
                    raise self.error
                return None

        failing = Failing()
        sys.meta_path.insert(0, failing)
        for failing.error in (
            ImportError("half installed"),
            RuntimeError("no driver"),
            ModuleNotFoundError("gone", name="torch"),
            ModuleNotFoundError("gone", name="something_else"),
            MemoryError("no room"),
            SystemExit(3),
            KeyboardInterrupt("now"),
        ):
            for _ in range(2):
                try:
                    convert_memory(np.ones(3), "numpy", "torch", HOST)
                except MemoryConversionError as error:
                    assert error.__cause__ is not None
                    asked = getattr(failing.error, "name", None) == "torch"
                    assert isinstance(error, ModuleNotFoundError) or not asked
                    assert ("arraybridge[torch]" if asked else str(failing.error)) in str(error), error
                except BaseException as error:
                    assert error is failing.error
                print(type(failing.error).__name__)
        sys.meta_path.remove(failing)
        print(convert_memory(np.ones(3), "numpy", "torch", HOST).sum().item())
        """)
    assert told.split()[::2] == [
        *("ImportError", "RuntimeError", "ModuleNotFoundError", "ModuleNotFoundError"),
        *("MemoryError", "SystemExit", "KeyboardInterrupt", "3.0"),
    ]


def test_interrupts_between_conversions_leak_nothing() -> None:
    told = run("""
        import gc, signal, sys, weakref
        import numpy as np, torch
        from arraybridge import HOST, convert_memory

        array, tensor = np.ones(16), torch.ones(16)
        convert_memory(convert_memory(array, "numpy", "torch", HOST), "torch", "numpy", HOST)
        before = sys.getrefcount(array), sys.getrefcount(tensor)
        caught = 0

        def interrupt(*arguments):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, interrupt)
        while caught < 200:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001)
                while True:
                    convert_memory(array, "numpy", "torch", HOST)
                    convert_memory(array[::-1], "numpy", "torch", HOST)
                    convert_memory(tensor, "torch", "numpy", HOST)
                    convert_memory(tensor, "torch", "numpy", HOST, copy=True)
            except KeyboardInterrupt:
                caught += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.collect()
        print(sys.getrefcount(array) - before[0], sys.getrefcount(tensor) - before[1])
        """)
    assert told.split() == ["0", "0"]


def test_an_array_may_be_reshaped_while_it_is_copied() -> None:
    code = """
    import threading
    import numpy as np
    from arraybridge import convert

    array = np.zeros((2, 1 << 20), np.float32)
    stop = threading.Event()

    def reshape():
        while not stop.is_set():
            array.shape = (1 << 20, 2)
            array.shape = (2, 1 << 20)

    other = threading.Thread(target=reshape)
    other.start()
    for _ in range(60):
        assert convert(array, "numpy", copy=True).size == array.size
    stop.set()
    other.join()
    print("done")
    """
    assert run(code) == "done\n"

"""Leaving the process: at the interpreter's end, by force, in a child of fork, with threads at work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import pytest

PREAMBLE = """
import atexit, os, signal, sys, threading, time
import numpy as np
from arraybridge import HOST, convert, convert_memory, explain
"""
TORCH = """
import torch

def there(array, **keywords):
    return convert_memory(array, "numpy", "torch", HOST, **keywords)

def back(tensor, **keywords):
    return convert_memory(tensor, "torch", "numpy", HOST, **keywords)
"""


def run(code: str, *, torch: bool = True, timeout: float = 60) -> str:
    """What a new interpreter prints that runs `code`. It has to end well and without a word on stderr."""
    text = PREAMBLE + (TORCH if torch else "") + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=timeout, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return done.stdout


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# ----- arrays that outlive the interpreter -----


def test_arrays_of_both_directions_in_module_globals() -> None:
    run("""
        array = np.arange(12.0).reshape(3, 4)
        tensor = there(array)
        again = back(tensor)
        view = back(torch.arange(5))[1:]
        copied = there(array, copy=True)
        several = [there(np.ones(n)) for n in range(100)] + [back(torch.ones(n)) for n in range(100)]
    """)


# How a process can end: what it does, its exit status, and what it prints.
ENDINGS = {
    "arrays in a cycle that only the collector breaks": (
        """
        class Node:
            pass

        for _ in range(50):
            node = Node()
            node.self = node
            node.array = np.ones(7)
            node.tensor = there(node.array)
            node.again = back(node.tensor)
        """,
        0,
        "",
    ),
    "arrays that a module of the standard library keeps": (
        """
        sys.kept_array = back(there(np.ones(3)))
        os.environ.kept_tensor = there(np.ones(3))
        threading.kept = [back(torch.ones(3))]
        """,
        0,
        "",
    ),
    "arrays used in atexit handlers": (
        """
        array = np.arange(4.0)
        tensor = there(array)

        @atexit.register
        def late():
            print(there(np.ones(3)).sum().item(), back(tensor).sum(), tensor.sum().item())
        """,
        0,
        "3.0 6.0 6.0",
    ),
    "without finalisation": (
        """
        array = np.ones(5)
        tensor = there(array)
        again = back(tensor)
        os._exit(0)
        """,
        0,
        "",
    ),
    "threads that end before the interpreter": (
        """
        def work():
            for _ in range(300):
                back(there(np.ones(16)))

        for _ in range(8):
            threading.Thread(target=work).start()
        """,
        0,
        "",
    ),
    "daemon threads that only hold arrays": (
        """
        ready = threading.Barrier(5)

        def hold():
            array = np.ones(16)
            tensor = there(array)
            again = back(tensor)
            ready.wait()
            time.sleep(60)

        for _ in range(4):
            threading.Thread(target=hold, daemon=True).start()
        ready.wait()
        """,
        0,
        "",
    ),
    "by an exception": (
        """
        tensor = there(np.ones(3))
        again = back(tensor)
        raise SystemExit(7)
        """,
        7,
        "",
    ),
}


@pytest.fixture(scope="module")
def endings() -> dict[str, list]:
    """Exit status, output and errors of each ending: of processes forked from one that has loaded everything."""
    codes = {name: textwrap.dedent(code) for name, (code, _, _) in ENDINGS.items()}
    told = run(f"""
        import json, tempfile
        back(there(np.ones(3)))
        told, chosen = {{}}, ""
        for name, code in {codes!r}.items():
            output, errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
            child = os.fork()
            if child == 0:
                os.dup2(output.fileno(), 1)
                os.dup2(errors.fileno(), 2)
                told, chosen = {{}}, code
                break
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            told[name] = [status, *(each.seek(0) or each.read().strip() for each in (output, errors))]
        if told:
            print(json.dumps(told))
        exec(chosen)
    """)
    return json.loads(told)


@needs_fork
@pytest.mark.parametrize("name", ENDINGS)
def test_ending(name: str, endings: dict[str, list]) -> None:
    _, status, output = ENDINGS[name]
    assert endings[name] == [status, output, ""]


def test_a_handler_that_was_registered_before_the_package_was_imported() -> None:
    # It runs after the package's own hook: what is converted there works, and is never released.
    code = """
        import atexit
        kept = []

        @atexit.register
        def very_late():
            tensor = convert_memory(np.ones(4), "numpy", "torch", HOST)
            kept.extend([tensor, convert_memory(tensor, "torch", "numpy", HOST)])
            convert_memory(np.ones(1 << 18), "numpy", "torch", HOST, copy=True)
            print(tensor.sum().item())

        import numpy as np
        import torch
        from arraybridge import HOST, convert_memory
        kept.append(convert_memory(np.ones(4), "numpy", "torch", HOST))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4.0\n", "")


def test_a_first_use_in_a_handler_that_was_registered_before_the_package_was_imported() -> None:
    code = """
        import atexit
        kept = []

        @atexit.register
        def very_late():
            kept.append(convert_memory(np.ones(4), "numpy", "torch", HOST))
            kept.append(convert_memory(kept[0], "torch", "numpy", HOST))
            print(kept[1].sum())

        import numpy as np
        import torch
        from arraybridge import HOST, convert_memory
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4.0\n", "")


# ----- threads at work -----


# PyTorch itself aborts when a daemon thread drops a tensor, or asks a float tensor `is_neg()`, while the interpreter
# ends: before Python 3.14 a thread that comes for the GIL then is unwound, here through noexcept functions of PyTorch.
# So these threads drop no tensors, and have integers.
#
# Several processes end that way: children that are forked once everything is loaded, then the one that loaded it.
@needs_fork
@pytest.mark.parametrize(
    ("work", "torch"),
    [
        ("convert_memory(large, 'numpy', 'numpy', HOST, copy=True)", False),
        ("convert_memory(small, 'numpy', 'numpy', HOST, copy=True)", False),
        ("convert_memory(small, 'numpy', 'numpy', HOST)", False),
        ("kept.append(there(small))", True),
        ("kept.append(back(tensor))", True),
        ("explain(small, 'torch'), explain(tensor, 'numpy')", True),
    ],
)
def test_daemon_threads_that_convert_while_the_interpreter_ends(work: str, torch: bool) -> None:
    run(
        f"""
        small, large = np.ones(16), np.ones(1 << 19)
        tensor = torch.ones(16, dtype=torch.int32) if {torch} else None
        back(there(small)) if {torch} else convert_memory(small, "numpy", "numpy", HOST, copy=True)
        kept = []

        def work():
            while True:
                {work}

        for _ in range(2):
            child = os.fork()
            if child == 0:
                break
            assert os.waitpid(child, 0)[1] == 0
        for _ in range(4):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.03)
        """,
        torch=torch,
    )


# ----- child processes -----


@needs_fork
def test_a_child_of_fork_converts_and_ends() -> None:
    told = run("""
        array = np.arange(4.0)
        tensor = there(array)
        child = os.fork()
        if child == 0:
            tensor[0] = 5
            assert back(there(np.ones(3))).sum() == 3 and array[0] == 5
            del tensor
            sys.exit(0)
        print(os.waitpid(child, 0)[1], array[0], tensor.sum().item())
    """)
    assert told.split() == ["0", "0.0", "6.0"]


@needs_fork
def test_a_child_of_fork_makes_the_first_use() -> None:
    told = run(
        """
        child = os.fork()
        if child == 0:
            assert convert_memory(convert_memory(np.ones(3), "numpy", "torch", HOST), "torch", "numpy", HOST).sum() == 3
            sys.exit(0)
        print(os.waitpid(child, 0)[1])
        """,
        torch=False,
    )
    assert told.split() == ["0"]


@needs_fork
@pytest.mark.parametrize("work", ["there(array)", "convert_memory(large, 'numpy', 'numpy', HOST, copy=True)"])
def test_fork_while_threads_convert(work: str) -> None:
    # A thread that is on its way to the GIL at that moment does not exist in the child, which must not wait for it.
    told = run(f"""
        array, large = np.ones(16), np.ones(1 << 18)
        back(there(array))
        stop = False

        def work():
            while not stop:
                {work}

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        answers = []
        for _ in range(6):
            child = os.fork()
            if child == 0:
                ok = back(there(array)).sum() == 16
                atexit._run_exitfuncs()
                os._exit(0 if ok else 1)
            limit = time.monotonic() + 5
            answer = (0, 0)
            while answer[0] == 0 and time.monotonic() < limit:
                answer = os.waitpid(child, os.WNOHANG)
                time.sleep(0.002)
            answers.append(answer[1] if answer[0] else "hangs")
            if answer[0] == 0:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
        stop = True
        for thread in threads:
            thread.join()
        print(*answers)
    """)
    assert told.split() == ["0"] * 6


def test_processes_that_are_spawned(tmp_path) -> None:
    script = tmp_path / "spawning.py"
    script.write_text(
        textwrap.dedent("""
            import multiprocessing
            import numpy as np
            from arraybridge import HOST, convert_memory

            def total(array):
                tensor = convert_memory(array, "numpy", "torch", HOST)
                return float(convert_memory(tensor, "torch", "numpy", HOST).sum())

            if __name__ == "__main__":
                with multiprocessing.get_context("spawn").Pool(2) as pool:
                    print(*pool.map(total, [np.ones(n) for n in (1, 2, 3)]))
                    # Functions go to workers by name.
                    print(pool.apply(convert_memory, (np.ones(2), "numpy", "numpy", HOST)).sum())
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["1.0", "2.0", "3.0", "2.0"], "")

"""What the documentation shows is what happens: every block of README.md, and the Python of the other pages, is run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from blocks import ROOT, Block, blocks_of

import arraybridge

SAMPLE = Path(__file__).parent / "sample"
PACKAGE = Path(arraybridge.__file__).parent
README = blocks_of(ROOT / "README.md")
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
EVERY_BLOCK = README + [block for page in PAGES for block in blocks_of(page)]

# The forms a line of a shell block may have, its comment left out. What makes and tests the package is run by whoever
# runs these tests; of the rest the options are looked at.
SHELL = re.compile(
    r"""make\ [a-z]+(\ [A-Z]+=("[^"]*"|\S+))*
    | bash\ \.ci/run
    | pip\ install\ ("\.\[(?P<extras>[a-z,]+)\]"|\.)
    | python\ -m\ arraybridge(?P<arguments>(\ [a-z-]+)*)
    | cmake\ (-S\ \.\ -B\ build/\w+|--build\ build/\w+|--install\ build/\w+\ --prefix\ \w+)
      (?P<options>(\ -D\w+=\S*)*)
    | (cmake|ctest)\ --preset\ (?P<preset>[a-z-]+)
    | \.venv/bin/\w+(\ \S+)*
    """,
    re.VERBOSE,
)


def of(language: str, blocks: list[Block]) -> list[Block]:
    return [block for block in blocks if block.language == language]


def run(command: list[str], folder: Path, **environment: str) -> str:
    """What the command prints; it has to succeed without a warning of ours or of the compiler."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr.lower(), done.stderr
    return done.stdout


def build(folder: Path) -> Path:
    """Builds the CMake project in `folder` against the installed package. Returns its build folder."""
    configure = [
        *("cmake", "-S", ".", "-B", "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={PACKAGE}"),
        *(f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror"),
    ]
    run(configure, folder)
    run(["cmake", "--build", "build"], folder)
    return folder / "build"


def test_readme_has_what_it_should() -> None:
    assert {block.language for block in README} == {"python", "cpp", "cmake", "sh"}
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:30]
    assert any(line.startswith("make demo") for line in first_screen)
    assert any(line.startswith("make test") for line in first_screen)


@pytest.mark.parametrize("block", of("python", EVERY_BLOCK), ids=str)
def test_python(block: Block, tmp_path: Path) -> None:
    run([sys.executable, "-W", "error", "-c", block.text], tmp_path)


def test_cpp_program(tmp_path: Path) -> None:
    (program,) = of("cpp", README)
    project, _ = of("cmake", README)
    (tmp_path / "example.cpp").write_text(program.text)
    (tmp_path / "CMakeLists.txt").write_text(project.text)
    executable = build(tmp_path) / "example"
    printed = run([str(executable)], tmp_path, PYTHONPATH=sysconfig.get_path("purelib"))
    assert printed == "262144 pixels, the first is 1\n"


def test_plugin_out_of_tree(tmp_path: Path) -> None:
    _, project = of("cmake", README)
    shutil.copytree(SAMPLE, tmp_path, dirs_exist_ok=True)
    preface = "cmake_minimum_required(VERSION 3.21)\nproject(sample LANGUAGES CXX)\n"
    (tmp_path / "CMakeLists.txt").write_text(preface + project.text)
    plugins = build(tmp_path) / "plugins"
    look = "from arraybridge import ArrayLibrary; print(ArrayLibrary.named('sample').available_devices())"
    printed = run([sys.executable, "-c", look], tmp_path, ARRAYBRIDGE_PLUGIN_PATH=str(plugins))
    assert printed == "(HostDevice(),)\n"


@pytest.mark.parametrize("block", of("sh", EVERY_BLOCK), ids=str)
def test_shell(block: Block, tmp_path: Path) -> None:
    for line in block.text.splitlines():
        command = re.sub(r"\s*#.*", "", line)
        if not command:
            continue
        match = SHELL.fullmatch(command)
        assert match, f"{command}: a form that is not known here"
        check_make(command)
        for extra in (match["extras"] or "").split(","):
            assert not extra or re.search(rf"^{extra} = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE), extra
        for option in re.findall(r"-D(ARRAYBRIDGE_\w+)", match["options"] or ""):
            assert re.search(rf"\b(option|set)\({option} ", (ROOT / "CMakeLists.txt").read_text()), option
        if match["preset"]:
            assert f'"{match["preset"]}"' in (ROOT / "CMakePresets.json").read_text()
        if match["arguments"] is not None:
            run([sys.executable, *command.split()[1:]], tmp_path)


def check_make(command: str) -> None:
    """The target and the variables of a `make` line are in the Makefile."""
    makefile = (ROOT / "Makefile").read_text()
    if command.startswith("make "):
        target = command.split()[1]
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
        for variable in re.findall(r"([A-Z]+)=", command):
            assert f"$({variable})" in makefile, variable


def test_links() -> None:
    for page in [ROOT / "README.md", *PAGES]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_wheel_has_one_file_of_each_library() -> None:
    assert sorted(path.name for path in (PACKAGE / "lib").glob("*.so*")) == [
        "libarraybridge.so.1",
        "libarraybridge_python.so.1",
    ]
    for name in ("dlpack/dlpack.h", "arraybridge/arraybridge.hpp", "arraybridge/python/python_library.hpp"):
        assert (PACKAGE / "include" / name).is_file()
    assert (PACKAGE / "share" / "arraybridge" / "manifest.schema.json").is_file()


@pytest.mark.skipif(sys.platform != "linux", reason="ldd")
def test_no_framework_and_no_libpython_is_linked() -> None:
    linked = {path.name: run(["ldd", str(path)], ROOT) for path in sorted(PACKAGE.rglob("*.so*"))}
    assert len(linked) >= 5
    for name, libraries in linked.items():
        assert not re.search("libpython|torch|numpy|cuda", re.sub(r"=>.*", "", libraries).replace(name, "")), name
        assert "not found" not in libraries


def test_build_requirements_agree() -> None:
    """What `make` installs to build with is what pip installs in an isolated build."""
    pyproject = (ROOT / "pyproject.toml").read_text()
    section = re.search(r"^requires = \[(.*?)^\]", pyproject, re.MULTILINE | re.DOTALL)
    assert section
    wanted = set(re.findall(r'"([^"]+)"', section[1]))
    listed = (ROOT / "requirements" / "build.txt").read_text().splitlines()
    assert wanted <= set(listed), wanted - set(listed)

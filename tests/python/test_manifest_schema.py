"""The JSON Schema of a manifest and the core's own validator take and refuse the same documents."""

from __future__ import annotations

import copy
import json
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

REPOSITORY = Path(__file__).parents[2]
CORPUS = REPOSITORY / "tests/core/corpus"
SCHEMA = json.loads((REPOSITORY / "core/schema/manifest.schema.json").read_text())
VALID = sorted((CORPUS / "valid").glob("*.json"))
INVALID = sorted((CORPUS / "invalid").glob("*.json"))
# Not JSON, or not JSON as the core reads it: a schema has nothing to say about these.
SYNTAX = [path for path in INVALID if path.name.startswith("syntax_")]


def manifest_check() -> Path:
    """The program that says whether the core takes a manifest: built with the C++ tests."""
    if named := os.environ.get("ARRAYBRIDGE_MANIFEST_CHECK"):
        found = [Path(named)]
    elif build := os.environ.get("ARRAYBRIDGE_BUILD_DIR"):
        found = [Path(build) / "tests/core/manifest_check"]
    else:
        found = list((REPOSITORY / "build").glob("**/tests/core/manifest_check"))
    usable = [path for path in found if os.access(path, os.X_OK)]
    assert usable, f"build the C++ tests, or set ARRAYBRIDGE_MANIFEST_CHECK; looked for {found or 'build/**'}"
    return max(usable, key=lambda path: path.stat().st_mtime)


def core_verdicts(paths: Iterable[Path]) -> dict[Path, str]:
    """What the core says of each file: an empty text, or what is wrong with it."""
    command = [str(manifest_check()), *map(str, paths)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode in (0, 1), told.stderr
    verdicts = {}
    for line in told.stdout.splitlines():
        verdict, path, *reason = line.split("\t")
        assert verdict == ("bad" if reason else "ok")
        verdicts[Path(path)] = "".join(reason)
    return verdicts


@pytest.fixture(scope="module")
def validator() -> Any:
    validator_class = jsonschema.validators.validator_for(SCHEMA)
    assert validator_class is jsonschema.Draft202012Validator
    validator_class.check_schema(SCHEMA)
    return validator_class(SCHEMA)


@pytest.fixture(scope="module")
def verdicts() -> dict[Path, str]:
    return core_verdicts([*VALID, *INVALID])


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_corpus_is_there() -> None:
    assert len(VALID) > 10
    assert len(INVALID) - len(SYNTAX) > 80
    assert len(SYNTAX) > 20


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_valid(path: Path, validator: Any, verdicts: dict[Path, str]) -> None:
    assert verdicts[path] == ""
    assert [error.message for error in validator.iter_errors(load(path))] == []


@pytest.mark.parametrize("path", [path for path in INVALID if path not in SYNTAX], ids=lambda path: path.stem)
def test_invalid(path: Path, validator: Any, verdicts: dict[Path, str]) -> None:
    assert str(path) in verdicts[path], "a problem names its file"
    assert not validator.is_valid(load(path))


@pytest.mark.parametrize("path", SYNTAX, ids=lambda path: path.stem)
def test_syntax(path: Path, verdicts: dict[Path, str]) -> None:
    assert str(path) in verdicts[path]


def test_our_own_manifests(validator: Any) -> None:
    """Those in the tree lack what the build adds."""
    build = {"shared_object": "library.so", "abi": "1.0", "stamp": "any"}
    manifests = list((REPOSITORY / "plugins").glob("*/manifest.json"))
    assert manifests
    for path in manifests:
        problems = [error.message for error in validator.iter_errors({**load(path), "plugin": build})]
        assert problems == [], path


# ----- documents with one thing changed -----

ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 64, 65, 1.0, 1.5, 2**31 - 1, 2**31, 10**20, 1e300),
    *("", " ", "x", "host", "*", "never", "1.0", "a.b", "..", "a/../b", "name\n", "\u00e9", "a" * 65),
    *([], [""], ["host"], ["host", "host"], ["float32", 1], [[]]),
    *({}, {"x-note": [None]}, {"unknown": 1}, {"*": "never"}, {"*": 1}),
]


def changed(document: Any) -> Iterator[Any]:
    """Copies of the document, each with one member or item left out, replaced or added."""
    for parent, key in list(places(document)):
        old = parent[key]
        for value in ODD_VALUES:
            parent[key] = value
            yield copy.deepcopy(document)
        parent[key] = old
        if isinstance(parent, list):
            parent.append(old)
            yield copy.deepcopy(document)
            parent.pop()
        else:
            del parent[key]
            yield copy.deepcopy(document)
            parent[f"{key}_"] = old
            yield copy.deepcopy(document)
            del parent[f"{key}_"]
            parent[key] = old


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, dict):
        keys: Iterable[Any] = list(value)
    elif isinstance(value, list):
        keys = range(min(len(value), 2))
    else:
        return
    for key in keys:
        yield value, key
        yield from places(value[key])


def test_changed_documents(tmp_path: Path, validator: Any) -> None:
    documents = list(changed(load(CORPUS / "valid/full.json")))
    assert len(documents) > 1000
    paths = []
    for number, document in enumerate(documents):
        paths.append(tmp_path / f"{number}.json")
        paths[-1].write_text(json.dumps(document))
    told = core_verdicts(paths)
    differing = [
        (document, told[path])
        for path, document in zip(paths, documents, strict=True)
        if validator.is_valid(document) != (told[path] == "")
    ]
    assert differing == []

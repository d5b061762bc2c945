"""What `python -m arraybridge` lists: every library that was found, and what is wrong."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from importlib import metadata
from typing import Any

import arraybridge
from arraybridge import _arraybridge
from arraybridge._cli.tables import print_table
from arraybridge.libraries import ArrayLibrary

# A framework that fails to import may raise anything, and one of them must not hide the others.
ANY_FAILURE = (Exception, SystemExit)


@dataclass
class FoundLibrary:
    """One library.

    Attributes:
        name: What it is asked for by.
        display_name: What people call it.
        state: "ready", "installed" (and not loaded, as told), "not installed", "too old" or "broken".
        version: The installed version; None if it is not installed or does not say.
        minimum_version: The oldest that works; may be empty.
        devices: Labels of the devices that it can place arrays on here.
        error: What is wrong with it; empty if nothing is.
        source: Where its manifest was found.
        manifest: Path of the manifest.
        shared_object: Path of the plugin.
        install: How to install it, if it is not.
    """

    name: str
    display_name: str
    state: str
    version: str | None
    minimum_version: str
    devices: list[str]
    error: str
    source: str
    manifest: str
    shared_object: str
    install: str


@dataclass
class Inventory:
    """All that was found."""

    package: dict[str, str]
    libraries: list[FoundLibrary] = field(default_factory=list)
    problems: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def taken(cls, load: bool) -> Inventory:
        """Looks. With `load` every installed library is imported, as only then its devices are known."""
        inventory = cls(
            {
                "version": arraybridge.__version__,
                "abi": _arraybridge.abi,
                "stamp": _arraybridge.stamp,
                "runtime": _arraybridge.runtime,
                "core": _arraybridge.core_path,
            }
        )
        inventory.libraries = [_look_at(entry, load) for entry in _arraybridge.every_entry()]
        inventory.problems = [
            {"name": each.name, "path": each.path, "reason": each.reason, "shadowed": each.shadowed}
            for each in _arraybridge.problems()
        ]
        return inventory

    @property
    def all_is_well(self) -> bool:
        """Whether nothing that is there is broken. A library that is not installed is not broken."""
        return not any(each.error for each in self.libraries) and all(each["shadowed"] for each in self.problems)

    def to_json(self) -> dict[str, Any]:
        """Everything, by name."""
        return {
            "arraybridge": self.package,
            "libraries": [asdict(each) for each in self.libraries],
            "problems": self.problems,
        }

    def print(self) -> None:
        """Writes it to standard output for people."""
        print("arraybridge {version}, plugin interface {abi}, {runtime}\n{core}\n".format(**self.package))
        rows = [
            (
                each.display_name,
                each.state,
                each.version or "",
                each.minimum_version,
                ", ".join(each.devices),
                each.source,
                each.manifest,
            )
            for each in self.libraries
        ]
        print_table(("library", "state", "version", "at least", "devices", "found by", "manifest"), rows)
        for each in self.libraries:
            if each.error:
                print(f"\n{each.display_name} is {each.state}: {each.error}")
            elif each.install:
                print(f"\n{each.display_name} is not installed: {each.install}")
        if self.problems:
            print()
            print_table(
                ("problem", "state", "reason", "path"),
                [
                    (each["name"], "hidden" if each["shadowed"] else "unusable", each["reason"], each["path"])
                    for each in self.problems
                ],
            )


def _look_at(entry: _arraybridge.Entry, load: bool) -> FoundLibrary:
    found = FoundLibrary(
        name=entry.name,
        display_name=entry.display_name,
        state="not installed",
        version=None,
        minimum_version=entry.minimum_version,
        devices=[],
        error="",
        source=entry.source,
        manifest=str(entry.path),
        shared_object=str(entry.shared_object),
        install="",
    )
    try:
        library = ArrayLibrary.named(entry.name)
        if not library.is_installed():
            found.install = _how_to_install(entry)
            return found
        found.state = "installed"
        found.version = _version_of(library)
        if load:
            entry.load()
            found.devices = [device.label for device in library.available_devices()]
            found.version = found.version or _version_of(library)
            found.state = "ready"
    except ANY_FAILURE as error:
        missing = isinstance(error, ModuleNotFoundError) and entry.import_module in ("", error.name)
        found.state = "not installed" if missing else "broken"
        found.error = f"{type(error).__name__}: {error}"
    if not found.error and _is_older(found.version, found.minimum_version):
        found.state = "too old"
        found.error = f"version {found.version} is installed, {found.minimum_version} or newer is needed"
    return found


def _how_to_install(entry: _arraybridge.Entry) -> str:
    if entry.extra:
        return f'pip install "arraybridge[{entry.extra}]"'
    return f"pip install {entry.distribution}" if entry.distribution else ""


def _version_of(library: ArrayLibrary[Any]) -> str | None:
    distribution = library._entry.distribution
    if distribution:
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            pass  # several packages may bring one module: cupy-cuda12x
    version = getattr(library.loaded_module(), "__version__", None)
    return None if version is None else str(version)


def _is_older(version: str | None, minimum: str) -> bool:
    return bool(version and minimum) and _numbers(version or "") < _numbers(minimum)


def _numbers(version: str) -> tuple[int, ...]:
    """ "2.13.0+cpu" gives (2, 13, 0)."""
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()

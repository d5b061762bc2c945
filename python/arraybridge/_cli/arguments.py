"""What can be asked on the command line, and the exit status of each answer."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from arraybridge._cli.measurement import Pair

DEFAULT_PICTURE = Path("arraybridge-routes.png")

EXIT_STATUS = "Exit status: 0 if all is well, 1 if something is broken (the output says what), 2 for a wrong call."


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status.

    Args:
        arguments: Those after `python -m arraybridge`; by default those of this process.
    """
    chosen = _parser().parse_args(arguments)
    return _routes(chosen) if chosen.command == "routes" else _inventory(chosen)


def _parser() -> argparse.ArgumentParser:
    as_json = argparse.ArgumentParser(add_help=False)
    # Without a default of its own the option of a command does not undo the one that stands before the command.
    as_json.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, for machines")
    parser = argparse.ArgumentParser(
        prog="python -m arraybridge",
        description="Lists the array libraries that were found: where, which version, which devices, which problems.",
        epilog=EXIT_STATUS,
        parents=[as_json],
    )
    parser.add_argument("--no-load", action="store_true", help="import no library, which leaves the devices unknown")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    routes = commands.add_parser(
        "routes",
        parents=[as_json],
        help="measure the conversions between the libraries that can be used here",
        description="Converts an array between every two places (a library on a device) and prints the route that was "
        "taken, the microseconds until the call returned, the bytes copied, and whether memory is shared.",
        epilog=EXIT_STATUS,
    )
    routes.add_argument("--shape", type=_shape, default=(1024, 1024), help="of the array; default 1024x1024")
    routes.add_argument("--dtype", default="float32", help="of the array; default float32")
    routes.add_argument(
        "--repeat", type=_positive, default=21, help="measurements per pair, of which the median is told"
    )
    picture = routes.add_mutually_exclusive_group()
    picture.add_argument(
        "--output", type=Path, metavar="FILE", help=f"the picture to write; default {DEFAULT_PICTURE}, with --json none"
    )
    picture.add_argument("--no-picture", action="store_true", help="write no picture")
    return parser


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.replace(",", "x").split("x"))
    except ValueError:
        shape = (-1,)
    if min(shape) < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a shape such as 1024x1024")
    return shape


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above zero")
    return int(text)


def _inventory(chosen: argparse.Namespace) -> int:
    from arraybridge._cli.inventory import Inventory

    inventory = Inventory.taken(load=not chosen.no_load)
    if getattr(chosen, "json", False):
        print(json.dumps(inventory.to_json(), indent=2))
    else:
        inventory.print()
    return 0 if inventory.all_is_well else 1


def _routes(chosen: argparse.Namespace) -> int:
    from arraybridge._cli.measurement import measured_pairs, print_pairs, usable_places

    as_json = getattr(chosen, "json", False)
    try:
        places, unusable, broken = usable_places(chosen.shape, chosen.dtype)
    except (ImportError, TypeError, ValueError) as error:
        print(f"arraybridge routes: {error}", file=sys.stderr)
        return 2 if isinstance(error, TypeError) else 1
    pairs = measured_pairs(places, chosen.repeat)
    if as_json:
        print(
            json.dumps({"pairs": [pair.to_json() for pair in pairs], "unusable": unusable, "broken": broken}, indent=2)
        )
    else:
        print_pairs(pairs, unusable | broken)
    drawn = chosen.no_picture or _draw(chosen, [place.label for place in places], pairs)
    return 1 if broken or not drawn or any(pair.error for pair in pairs) else 0


def _draw(chosen: argparse.Namespace, labels: list[str], pairs: list[Pair]) -> bool:
    """Writes the picture. False if it was asked for and could not be."""
    as_json = getattr(chosen, "json", False)
    if as_json and chosen.output is None:
        return True
    output = chosen.output or DEFAULT_PICTURE
    try:
        from arraybridge._cli.picture import draw_pairs
    except ImportError:
        print('no picture: matplotlib is not installed (pip install "arraybridge[cli]")', file=sys.stderr)
        return chosen.output is None
    try:
        draw_pairs(labels, pairs, output)
    except (OSError, ValueError) as error:
        print(f"no picture: {error}", file=sys.stderr)
        return False
    if not as_json:
        print(f"wrote {output}")
    return True

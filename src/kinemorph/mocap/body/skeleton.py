"""Which joints of a recorded skeleton move which bones of a figure: tables of names, built in or your own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinemorph._files import FileError, PathLike, read_bytes
from kinemorph._toml import table_of
from kinemorph.io.motion.bvh import Bvh
from kinemorph.spatial.arguments.annotated import checked_first

NEEDED = ("pelvis", "chest", "head", "upper arm", "forearm", "thigh", "shank", "foot")
SIDED = ("clavicle", "upper arm", "forearm", "hand", "thigh", "shank", "foot", "toe")
KNOWN = ("pelvis", "abdomen", "chest", "head", *SIDED)
LARGEST_TABLE = 1 << 20  # bytes


@dataclass(frozen=True)
class Moves:
    """A bone hangs on one joint of the recording and turns with another, or the same; indices."""

    where: int
    turns: int


@checked_first
@dataclass(frozen=True)
class Skeleton:
    """The joints of a recording that move bones, by name: "pelvis", "left thigh", "right toe"."""

    name: str
    bones: Mapping[str, Moves]


def built_in() -> dict[str, Any]:
    """The tables that come with kinemorph, by name."""
    return read_tables(Path(__file__).with_name("skeletons.toml"))


def read_tables(path: PathLike) -> dict[str, Any]:
    """Tables of a TOML file."""
    content = read_bytes(path, LARGEST_TABLE)
    try:
        return table_of(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: this is not a TOML file: {str(error)[:200]}") from None


@checked_first
def match(bvh: Bvh, names: str | PathLike | Mapping[str, Any] | None = None) -> Skeleton:
    """The joints of a recording that move the bones of a figure.

    `names` is the name of a table that is built in, a TOML file of tables, or a table; if not given, the first one of
    those built in that fits.
    """
    if isinstance(names, Mapping):
        tables = {"names": names}
    elif names is None:
        tables = built_in()
    elif names in (known := built_in()):
        tables = {str(names): known[str(names)]}
    elif Path(names).suffix == ".toml":
        tables = read_tables(names)
    else:
        there = ", ".join(known)
        raise ValueError(f"there is no table {names!r} of a skeleton; there are {there}, or name a .toml file")
    if not tables:
        raise FileError(f"{names}: there is no table of a skeleton in it")
    lacks = {}
    for name, table in tables.items():
        bones, missing = _bones(bvh, name, table)
        if not missing:
            return Skeleton(name, bones)
        lacks[name] = missing
    nearest = min(lacks, key=lambda name: len(lacks[name]))
    raise ValueError(
        f"BVH {bvh.name!r}: no table of the names of a skeleton fits; by {nearest!r}, the nearest, it has no joint for "
        f"{', '.join(lacks[nearest])}; name its joints in a TOML file (docs/mocap_body.md): "
        f"{', '.join(bvh.names)[:400]}"
    )


def _bones(bvh: Bvh, name: str, table: Any) -> tuple[dict[str, Moves], list[str]]:
    """The bones that a table finds, and the required ones that it does not."""
    if not isinstance(table, Mapping):
        raise ValueError(f"skeleton {name!r} must be a table of names, not {table!r}")
    joints = {_plain(joint): k for k, joint in reversed([*enumerate(bvh.names)])}
    sides = table.get("sides", ["Left", "Right"])
    if not (isinstance(sides, (list, tuple)) and len(sides) == 2 and all(isinstance(s, str) for s in sides)):
        raise ValueError(f"skeleton {name!r}: sides must be two texts, left and right, not {sides!r}")
    bones: dict[str, Moves] = {}
    missing: list[str] = []
    for part in table:
        if part != "sides" and part not in KNOWN:
            raise ValueError(f"skeleton {name!r}: there is no bone {part!r}; there are {', '.join(KNOWN)}")
    for part in KNOWN:
        for side, spelled in zip(("left ", "right "), sides, strict=True) if part in SIDED else (("", ""),):
            found = _moves(name, part, table[part], spelled, joints) if part in table else None
            if found is not None:
                bones[f"{side}{part}"] = found
            elif part in NEEDED:
                missing.append(f"{side}{part}")
    return bones, missing


def _moves(name: str, part: str, value: Any, side: str, joints: Mapping[str, int]) -> Moves | None:
    pair = [value, value] if isinstance(value, str) else value
    if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and all(isinstance(x, str) for x in pair)):
        raise ValueError(f"skeleton {name!r}: {part} must be the name of a joint, or two names, not {value!r}")
    found = []
    for choices in pair:
        here = [joints[key] for one in choices.split("|") if (key := _plain(one.replace("*", side))) in joints]
        if not here:
            return None
        found.append(here[0])
    return Moves(*found)


def _plain(name: str) -> str:
    return name.rpartition(":")[2].lower().replace("_", "").replace(" ", "").replace("-", "")

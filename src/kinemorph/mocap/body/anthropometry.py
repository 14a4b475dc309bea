"""How heavy the parts of a body are, where their centres of mass lie, and how they turn: tables, with their sources.

Every ratio is a share of a length between two landmarks, and means nothing without them; so each row names both ends,
and `centre` always counts from the first. Radii of gyration are about the centre of mass: about the axis forward (the
"sagittal" one of the tables), about the axis to the left ("transverse"), and along the segment ("longitudinal"). Of a
foot, which lies, "forward" is up, and "up" forward.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinemorph._toml import Toml
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_choice

LIMBS = ("upper arm", "forearm", "hand", "thigh", "shank", "foot")  # both sides have one


@checked_first
@dataclass(frozen=True)
class Segment:
    """A row of a table: shares of the body's mass, of its height (`length`), and of the segment's length (the rest)."""

    start: str  # landmark that `centre` counts from
    end: str
    length: float
    mass: float
    centre: float
    gyration: tuple[float, float, float]  # about the axes forward, to the left, and along the segment
    aside: tuple[float, float] = (0.0, 0.0)  # how far the centre lies beside the line: forward, and outward
    # products of inertia as radii with a sign: forward and up, forward and outward, up and outward
    products: tuple[float, float, float] = (0.0, 0.0, 0.0)


@checked_first
@dataclass(frozen=True)
class Table:
    """Segments of a body, by name. Limbs are there once, and both sides have them."""

    name: str
    sex: str
    source: str
    segments: Mapping[str, Segment]

    def total(self) -> float:
        """The sum of all shares of mass."""
        return sum(s.mass * (2.0 if name in LIMBS else 1.0) for name, s in self.segments.items())

    def share(self, name: str) -> float:
        """The mass of a segment, as a share of the body's; printed tables add up to 1 but for their last digit."""
        return self.segments[check_choice("share: name", name, self.segments)].mass / self.total()


def _de_leva(rows: dict[str, Any]) -> dict[str, Segment]:
    height = rows.pop("height")
    return {
        name: Segment(start, end, length / height, mass / 100.0, centre / 100.0, (x / 100.0, y / 100.0, z / 100.0))
        for name, (start, end, length, mass, centre, x, y, z) in rows.items()
    }


def _winter(rows: dict[str, Any]) -> dict[str, Segment]:
    segments = {}
    for name, (start, end, share, thick, mass, centre, across) in rows.items():
        length = math.hypot(*share) if isinstance(share, list) else share
        segments[name] = Segment(start, end, length, mass, centre, (across, across, thick / length / 2.0**0.5))
    return segments


def _dumas(ends: dict[str, Any], rows: dict[str, Any]) -> dict[str, Segment]:
    segments = {}
    for name, (mass, (x, y, z), (xx, yy, zz), (xy, xz, yz)) in rows.items():
        if name == "foot":  # its line is the axis x
            centre, aside, radii, products = x, (y, z), (yy, zz, xx), (xy, yz, xz)
        else:
            centre, aside, radii, products = abs(y), (x, z), (xx, zz, yy), (xy, xz, yz)
        a, b, c = (r / 100.0 for r in radii)
        d, e, f = (r / 100.0 for r in products)
        place = (aside[0] / 100.0, aside[1] / 100.0)
        start, end, length = ends[name]
        segments[name] = Segment(start, end, length, mass / 100.0, centre / 100.0, (a, b, c), place, (d, e, f))
    return segments


def _read_tables() -> tuple[dict[str, str], dict[tuple[str, str], Table]]:
    """Landmarks by name, and tables by name and sex."""
    file = Toml(Path(__file__).with_suffix(".toml")).table
    tables = {}
    for sex in ("male", "female"):
        for name, kind, rows in (
            ("de Leva", sex, _de_leva(file["de Leva"][sex])),
            ("Winter", "", _winter(file["Winter"]["both"])),
            ("Dumas", sex, _dumas(file["Dumas"]["ends"], file["Dumas"][sex])),
        ):
            tables[name, sex] = Table(name, kind, file[name]["source"], rows)
    return file["landmarks"], tables


LANDMARKS, TABLES = _read_tables()


@checked_first
def table_of(name: str = "de Leva", sex: str = "male") -> Table:
    """A table by its name and a sex; Winter's makes no difference between them."""
    try:
        return TABLES[name, sex]
    except KeyError:
        known = ", ".join(f"{table!r} ({sex})" for table, sex in TABLES)
        raise ValueError(f"there is no table {name!r} for sex {sex!r}; there are {known}") from None

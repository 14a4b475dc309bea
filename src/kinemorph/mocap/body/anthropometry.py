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

from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.arguments.checks import check_choice

LANDMARKS = {
    "VERT": "vertex, the top of the head",
    "CERV": "cervicale, the tip of the seventh cervical vertebra",
    "SUPR": "suprasternale, the notch above the breastbone",
    "XYPH": "xiphion, the lower end of the breastbone",
    "OMPH": "omphalion, the navel",
    "MIDH": "the middle between both hip joint centres",
    "SJC": "shoulder joint centre",
    "EJC": "elbow joint centre",
    "WJC": "wrist joint centre",
    "MET3": "third metacarpale, the knuckle of the middle finger",
    "DAC3": "third dactylion, the tip of the middle finger",
    "HJC": "hip joint centre",
    "KJC": "knee joint centre",
    "AJC": "ankle joint centre",
    "HEEL": "pternion, the back of the heel",
    "TTIP": "acropodion, the tip of the longest toe",
    "MHEADS": "the middle between the heads of the first and the fifth metatarsal",
    "NECK": "the joint between the chest and the neck",
    "WAIST": "the joint between the pelvis and the chest",
}
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


_DE_LEVA = (
    "P. de Leva, Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, "
    "Journal of Biomechanics 29 (1996), 1223-1230, table 4"
)


Row = tuple[str, str, float, float, float, float, float, float]


def _de_leva(sex: str, height: float, rows: Mapping[str, Row]) -> Table:
    """Lengths in mm of people of a mean height in mm, everything else in percent, as printed."""
    segments = {
        name: Segment(start, end, length / height, mass / 100.0, centre / 100.0, (x / 100.0, y / 100.0, z / 100.0))
        for name, (start, end, length, mass, centre, x, y, z) in rows.items()
    }
    return Table("de Leva", sex, _DE_LEVA, segments)


# start, end, length, mass, centre, radii about the sagittal, transverse and longitudinal axis. Where the paper offers
# several ends, those that joints of a skeleton can be: CERV for the head and the upper trunk, AJC for the shank.
TABLES: dict[tuple[str, str], Table] = {
    ("de Leva", "male"): _de_leva(
        "male",
        1741.0,
        {
            "head": ("VERT", "CERV", 242.9, 6.94, 50.02, 30.3, 31.5, 26.1),
            "upper trunk": ("CERV", "XYPH", 242.1, 15.96, 50.66, 50.5, 32.0, 46.5),
            "middle trunk": ("XYPH", "OMPH", 215.5, 16.33, 45.02, 48.2, 38.3, 46.8),
            "lower trunk": ("OMPH", "MIDH", 145.7, 11.17, 61.15, 61.5, 55.1, 58.7),
            "upper arm": ("SJC", "EJC", 281.7, 2.71, 57.72, 28.5, 26.9, 15.8),
            "forearm": ("EJC", "WJC", 268.9, 1.62, 45.74, 27.6, 26.5, 12.1),
            "hand": ("WJC", "MET3", 86.2, 0.61, 79.00, 62.8, 51.3, 40.1),
            "thigh": ("HJC", "KJC", 422.2, 14.16, 40.95, 32.9, 32.9, 14.9),
            "shank": ("KJC", "AJC", 440.3, 4.33, 43.95, 25.1, 24.6, 10.2),
            "foot": ("HEEL", "TTIP", 258.1, 1.37, 44.15, 25.7, 24.5, 12.4),
        },
    ),
    ("de Leva", "female"): _de_leva(
        "female",
        1735.0,
        {
            "head": ("VERT", "CERV", 243.7, 6.68, 48.41, 27.1, 29.5, 26.1),
            "upper trunk": ("CERV", "XYPH", 228.0, 15.45, 50.50, 46.6, 31.4, 44.9),
            "middle trunk": ("XYPH", "OMPH", 205.3, 14.65, 45.12, 43.3, 35.4, 41.5),
            "lower trunk": ("OMPH", "MIDH", 181.5, 12.47, 49.20, 43.3, 40.2, 44.4),
            "upper arm": ("SJC", "EJC", 275.1, 2.55, 57.54, 27.8, 26.0, 14.8),
            "forearm": ("EJC", "WJC", 264.3, 1.38, 45.59, 26.1, 25.7, 9.4),
            "hand": ("WJC", "MET3", 78.0, 0.56, 74.74, 53.1, 45.4, 33.5),
            "thigh": ("HJC", "KJC", 368.5, 14.78, 36.12, 36.9, 36.4, 16.2),
            "shank": ("KJC", "AJC", 438.6, 4.81, 43.52, 26.7, 26.3, 9.2),
            "foot": ("HEEL", "TTIP", 228.3, 1.29, 40.14, 29.9, 27.9, 13.9),
        },
    ),
}


def _winter(start: str, end: str, length: float, mass: float, centre: float, across: float, along: float) -> Segment:
    return Segment(start, end, length, mass, centre, (across, across, along))


_FOOT = math.hypot(0.110, 0.025)  # from the ankle to the toes
# Winter's table knows one radius, across the segment; along it each segment is a cylinder as thick as the figure's.
# Trunk and head have the ends that joints of a figure are, and the radii of ellipsoids there.
_WINTER = Table(
    "Winter",
    "",
    "D. A. Winter, Biomechanics and Motor Control of Human Movement, table 4.1 (masses and limbs, "
    "after Dempster 1955); lengths after Drillis and Contini 1966, figure 4.1",
    {
        "head": _winter("NECK", "VERT", 0.182, 0.081, 0.60, 0.30, 0.052 / 0.182 / 2.0**0.5),
        "chest": _winter("WAIST", "NECK", 0.228, 0.355, 0.52, 0.33, 0.075 / 0.228 / 2.0**0.5),
        "pelvis": _winter("MIDH", "WAIST", 0.060, 0.142, 0.30, 0.90, 0.070 / 0.060 / 2.0**0.5),
        "upper arm": _winter("SJC", "EJC", 0.186, 0.028, 0.436, 0.322, 0.027 / 0.186 / 2.0**0.5),
        "forearm": _winter("EJC", "WJC", 0.146, 0.016, 0.430, 0.303, 0.022 / 0.146 / 2.0**0.5),
        "hand": _winter("WJC", "DAC3", 0.080, 0.006, 0.506, 0.297, 0.020 / 0.080 / 2.0**0.5),
        "thigh": _winter("HJC", "KJC", 0.245, 0.100, 0.433, 0.323, 0.042 / 0.245 / 2.0**0.5),
        "shank": _winter("KJC", "AJC", 0.246, 0.0465, 0.433, 0.302, 0.030 / 0.246 / 2.0**0.5),
        "foot": _winter("AJC", "TTIP", _FOOT, 0.0145, 0.50, 0.475, 0.018 / _FOOT / 2.0**0.5),
    },
)
for _sex in ("male", "female"):
    TABLES["Winter", _sex] = _WINTER


_DUMAS = (
    "R. Dumas, L. Chèze, J.-P. Verriest, Adjustments to McConville et al. and Young et al. body segment inertial "
    "parameters, Journal of Biomechanics 40 (2007), 543-553; numbers as J. Wojtusch uses them for the HuMoD database; "
    "lengths after Drillis and Contini 1966"
)
_ENDS = {  # from where centres count, to where; and the length, a share of the height
    "head": ("NECK", "VERT", 0.182), "chest": ("NECK", "WAIST", 0.228), "pelvis": ("WAIST", "MIDH", 0.060),
    "upper arm": ("SJC", "EJC", 0.186), "forearm": ("EJC", "WJC", 0.146), "hand": ("WJC", "DAC3", 0.080),
    "thigh": ("HJC", "KJC", 0.245), "shank": ("KJC", "AJC", 0.246), "foot": ("AJC", "MHEADS", 0.076),
}  # fmt: skip

Numbers = tuple[float, float, float]


def _dumas(sex: str, rows: Mapping[str, tuple[float, Numbers, Numbers, Numbers]]) -> Table:
    """Percent, as printed: mass, centre, radii and products, in the axes of the ISB: x forward, y up, z to the right.

    A product with an imaginary radius is a negative one. Products are those of the axes x y, x z, y z.
    """
    segments = {}
    for name, (mass, (x, y, z), (xx, yy, zz), (xy, xz, yz)) in rows.items():
        start, end, length = _ENDS[name]
        if name == "foot":  # its line is the axis x
            centre, aside, radii, products = x, (y, z), (yy, zz, xx), (xy, yz, xz)
        else:
            centre, aside, radii, products = abs(y), (x, z), (xx, zz, yy), (xy, xz, yz)
        a, b, c = (r / 100.0 for r in radii)
        d, e, f = (r / 100.0 for r in products)
        place = (aside[0] / 100.0, aside[1] / 100.0)
        segments[name] = Segment(start, end, length, mass / 100.0, centre / 100.0, (a, b, c), place, (d, e, f))
    return Table("Dumas", sex, _DUMAS, segments)


TABLES["Dumas", "male"] = _dumas(
    "male",
    {
        "head": (6.7, (-6.2, 55.5, 0.1), (31, 25, 33), (-9, -2, 3)),
        "chest": (33.3, (-3.6, -42.0, -0.2), (27, 25, 28), (18, 2, -4)),
        "pelvis": (14.2, (2.8, -28.0, -0.6), (101, 106, 95), (-25, -12, -8)),
        "upper arm": (2.4, (1.7, -45.2, -2.6), (31, 14, 32), (6, 5, 2)),
        "forearm": (1.7, (1.0, -41.7, 1.4), (28, 11, 27), (3, 2, -8)),
        "hand": (0.6, (3.5, -35.7, 3.2), (26, 16, 24), (9, 7, -8)),
        "thigh": (12.3, (-4.1, -42.9, 3.3), (29, 15, 30), (7, -2, -7)),
        "shank": (4.8, (-4.8, -41.0, 0.7), (28, 10, 28), (-4, -2, 5)),
        "foot": (1.2, (43.6, -2.5, -0.7), (11, 25, 25), (9, -6, 0)),
    },
)
TABLES["Dumas", "female"] = _dumas(
    "female",
    {
        "head": (6.7, (-7.0, 59.7, 0.0), (32, 27, 34), (-6, 1, -1)),
        "chest": (30.4, (-1.6, -43.6, -0.6), (29, 27, 29), (22, 5, -5)),
        "pelvis": (14.6, (-0.9, -23.2, 0.2), (91, 100, 79), (-34, -1, -1)),
        "upper arm": (2.2, (-7.3, -45.4, -2.8), (33, 17, 33), (3, -5, -14)),
        "forearm": (1.3, (2.1, -41.1, 1.9), (26, 14, 25), (10, 4, -13)),
        "hand": (0.5, (3.3, -32.7, 2.1), (27, 18, 25), (12, 10, -12)),
        "thigh": (14.6, (-7.7, -37.7, 0.9), (31, 19, 32), (7, -2, -7)),
        "shank": (4.5, (-4.9, -40.4, 3.1), (28, 10, 28), (2, 1, 6)),
        "foot": (1.0, (44.3, 4.4, -2.5), (12, 25, 25), (-7, 5, -3)),
    },
)


@checked_first
def table_of(name: str = "de Leva", sex: str = "male") -> Table:
    """A table by its name and a sex; Winter's makes no difference between them."""
    try:
        return TABLES[name, sex]
    except KeyError:
        known = ", ".join(f"{table!r} ({sex})" for table, sex in TABLES)
        raise ValueError(f"there is no table {name!r} for sex {sex!r}; there are {known}") from None

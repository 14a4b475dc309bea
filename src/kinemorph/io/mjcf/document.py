"""An MJCF file with all that it includes, its compiler settings, and its classes of defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from kinemorph._files import PathLike, quoted
from kinemorph._xml import MOST_ELEMENTS, Element, known_numbers, read_xml
from kinemorph.io.mesh_paths import LONGEST_PATH, MeshPaths
from kinemorph.io.mjcf.schema import DRIVES, check_attributes
from kinemorph.spatial.pose import Pose, rotation_of_quaternion

DEEPEST_MJCF = 2000  # elements in elements: the bodies of a chain are
MOST_FILES = 50  # included in each other
MOST_CLASSES = 50  # of defaults, in each other
MAIN = "main"  # the class of all that names none
SECTIONS = (
    "compiler", "option", "size", "visual", "statistic", "default", "custom", "extension", "asset", "worldbody",
    "contact", "deformable", "tendon", "equality", "actuator", "sensor", "keyframe",
)  # fmt: skip
TRUE_FALSE = {"true": True, "false": False}
LIMITED = {"true": "true", "false": "false", "auto": "auto"}
T = TypeVar("T")
Classes = dict[str, dict[str, list[Element]]]  # of each class and element: defaults, outermost first

_IDENTITY = np.eye(3)


class Document:
    """The sections of a file, in their order, with the files that it includes read into their places."""

    def __init__(self, root: Element, folder: Path, inside: PathLike | None) -> None:
        if root.tag != "mujoco":
            raise root.error("this is not an MJCF file: its outermost element must be <mujoco>")
        self.root = root
        self.paths = MeshPaths(folder, (), None if inside is None else Path(inside))
        self.paths.what, self.paths.option = "files", "root"
        self._include(root)
        check_attributes(root)
        self.sections: dict[str, list[Element]] = {tag: [] for tag in SECTIONS}
        for section in root.children:
            if section.tag not in self.sections:
                raise section.error(f"there is no such section; there is {', '.join(SECTIONS)}")
            self.sections[section.tag].append(section)
        self.compiler = self._merged("compiler")
        self.option = self._merged("option")
        self.flags = Element("flag", {}, root.source, root.line, root)
        for section in self.sections["option"]:
            for flag in section.children:
                check_attributes(flag if flag.tag == "flag" else section, "flag")
                self.flags.attributes.update(flag.attributes)
        self.degrees = parse_choice(self.compiler, "angle", {"degree": True, "radian": False}, True)
        self.autolimits = parse_choice(self.compiler, "autolimits", TRUE_FALSE, True)
        self.eulerseq = self.compiler.attributes.get("eulerseq", "xyz")
        if len(self.eulerseq) != 3 or not set(self.eulerseq.lower()) <= set("xyz"):
            raise self.compiler.error(f"eulerseq={quoted(self.eulerseq)}: expected three of x, y, z, X, Y, Z")
        if self.compiler.attributes.get("coordinate", "local") != "local":
            raise self.compiler.error('coordinate="global": this is no longer MJCF; use local coordinates')
        self.classes: Classes = {MAIN: {}}
        for section in self.sections["default"]:
            self._read_defaults(section, MAIN, top=True)
        self._settled: dict[tuple[str, str], dict[str, str]] = {}

    def off(self, *flags: str) -> bool:
        """Whether one of these is switched off."""
        named = {"enable": False, "disable": True}
        return any(parse_choice(self.flags, flag, named, False) for flag in flags if flag in self.flags.attributes)

    # --------------------------------------------------------------------------------------------------- reading

    def _include(self, root: Element) -> None:
        """Put what is included into its place. A file can be included once, so that there is an end to it."""
        if not _includes(root):
            return
        seen: set[str] = set()
        count = 0
        waiting: list[tuple[Element, int]] = [(root, 0)]
        while waiting:
            parent, depth = waiting.pop()
            if any(child.tag == "include" for child in parent.children):
                parent.children = list(self._expanded(parent, seen, 1))
            count += len(parent.children)
            if count > MOST_ELEMENTS:
                raise parent.error(f"with all that is included, there are more than {MOST_ELEMENTS} elements")
            if depth > DEEPEST_MJCF:
                raise parent.error(f"with all that is included, elements are nested more than {DEEPEST_MJCF} deep")
            waiting.extend((child, depth + 1) for child in parent.children)

    def _expanded(self, parent: Element, seen: set[str], depth: int) -> Iterator[Element]:
        for child in parent.children:
            if child.tag != "include":
                yield child
                continue
            path = self.file(child, "")
            if str(path) in seen:
                raise child.error(f"file={quoted(child.attribute('file'))}: it is included already")
            seen.add(str(path))
            if depth > MOST_FILES:
                raise child.error(f"more than {MOST_FILES} files include each other")
            if not path.is_file():
                raise child.error(f"file={quoted(child.attribute('file'))}: {path}: there is no such file")
            inner = read_xml(path, DEEPEST_MJCF)
            if any(element.tag == "include" for element in inner.children):
                inner.children = list(self._expanded(inner, seen, depth + 1))
            for element in inner.children:
                element.parent = parent
                yield element

    def file(self, element: Element, folder: str) -> Path:
        """The path that an element's `file` names, which must lie inside the folders that are meant for it."""
        value = element.attribute("file").strip()
        where = f"file={quoted(value)}"
        if len(value) + len(folder) > LONGEST_PATH or "\0" in value + folder:
            raise element.error(f"{where}: a path of {len(value)} characters, the limit is {LONGEST_PATH}")
        value = value.replace("\\", "/")
        if element.tag != "include" and parse_choice(self.compiler, "strippath", TRUE_FALSE, False):
            value = value.rpartition("/")[2]
        others = [Path(element.source).parent] if element.source != self.root.source else []  # it is included itself
        return self.paths.inside(element, where, os.path.join(folder.replace("\\", "/"), value), *others)

    @property
    def mesh_folder(self) -> str:
        given = self.compiler.attributes
        return given.get("meshdir", given.get("assetdir", ""))

    def _merged(self, tag: str) -> Element:
        """All sections of a kind as one: what is said last counts."""
        sections = self.sections[tag]
        where = sections[-1] if sections else self.root
        merged = Element(tag, {}, where.source, where.line, self.root)
        for section in sections:
            check_attributes(section)
            merged.attributes.update(section.attributes)
        return merged

    def _read_defaults(self, element: Element, outer: str, top: bool = False, depth: int = 0) -> None:
        check_attributes(element)
        if depth > MOST_CLASSES:
            raise element.error(f"more than {MOST_CLASSES} classes lie in each other")
        name = element.attributes.get("class", MAIN if top else "")
        if not name:
            raise element.error("the attribute 'class' is missing")
        if top and name != MAIN:
            raise element.error(f"class={quoted(name)}: the outermost class is {MAIN!r}; put this one into <default>")
        if not top:
            if name in self.classes:
                raise element.error(f"there is already a class {quoted(name)}")
            self.classes[name] = {tag: list(known) for tag, known in self.classes[outer].items()}
        own, seen = self.classes[name], {"default"}
        for child in element.children:
            if child.tag in seen - {"default"}:
                raise child.error(f"class {quoted(name)} has one already")
            seen.add(child.tag)
            if child.tag in DRIVES or child.tag in _OTHER_DRIVES:
                own.setdefault("actuator", []).append(child)
            elif child.tag in _WITH_DEFAULTS:
                own.setdefault(child.tag, []).append(child)
            elif child.tag != "default":
                raise child.error("there are no defaults of this")
        for child in element.children:
            if child.tag == "default":
                self._read_defaults(child, name, depth=depth + 1)

    def defaults(self, element: Element, kind: str, childclass: str) -> tuple[str, list[Element]]:
        """The class of an element, and the defaults that it has from it, outermost first."""
        name = element.attributes.get("class") or childclass
        if name not in self.classes:
            raise element.error(f"class={quoted(name)}: there is no such class")
        return name, self.classes[name].get(kind, [])

    def settled(self, element: Element, childclass: str = MAIN, schema: str = "", kind: str = "") -> Element:
        """An element with all that it has from its class; `schema` and `kind` name it in the schema and in defaults."""
        kind = kind or element.tag
        check_attributes(element, schema or element.tag)
        name, found = self.defaults(element, kind, childclass)
        if not found:
            return element
        known = self._settled.get((name, kind))
        if known is None:
            known = self._settled[name, kind] = {}
            for default in found:
                check_attributes(default, schema or element.tag)
                known.update(merge_attributes(known, default.attributes))
            known.pop("class", None)
        own = {**known, **merge_attributes(known, element.attributes)}
        return Element(element.tag, own, element.source, element.line, element.parent)

    # ----------------------------------------------------------------------------------------------------- places

    def pose(self, element: Element) -> Pose:
        """Where an element says that it is."""
        given = element.attributes
        position = np.array(element.numbers("pos", 3)) if "pos" in given else np.zeros(3)
        return Pose.known(position, self.rotation(element))

    def rotation(self, element: Element) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        given = element.attributes
        ways = [way for way in _WAYS if way in given]
        if len(ways) > 1:
            raise element.error(f"{ways[0]} and {ways[1]} both say how it is turned; delete one")
        if not ways:
            return quaternion(element, "quat") if "quat" in given else _IDENTITY
        way = ways[0]
        if way == "euler":
            return self.euler(element)
        if way == "axisangle":
            *axis, angle = element.numbers("axisangle", 4)
            return turn(unit(element, way, axis), self.angle(angle))
        if way == "zaxis":
            return from_z(unit(element, way, element.numbers("zaxis", 3)))
        numbers = element.numbers("xyaxes", 6)
        x = unit(element, way, numbers[:3])
        y = np.array(numbers[3:])
        y = np.array(unit(element, way, (y - (y @ x) * np.array(x)).tolist()))
        return np.array([x, y, np.cross(x, y)]).T

    def euler(self, element: Element) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        R = _IDENTITY
        for letter, angle in zip(self.eulerseq, element.numbers("euler", 3), strict=True):
            about = turn(_AXES[letter.lower()], self.angle(angle))
            R = R @ about if letter.islower() else about @ R
        return R

    def limited(self, element: Element, flag: str, low: float, high: float) -> bool:
        """Whether a range counts: it does if that is said, or if it is given and nothing is said."""
        said = parse_choice(element, flag, LIMITED, "auto")
        return said == "true" or (said == "auto" and self.autolimits and (low != 0.0 or high != 0.0))

    def angle(self, value: float) -> float:
        """In radians."""
        return math.radians(value) if self.degrees else value


def _includes(root: Element) -> bool:
    """Whether there is an <include> anywhere."""
    waiting = [root]
    while waiting:
        children = waiting.pop().children
        if any(child.tag == "include" for child in children):
            return True
        waiting += [child for child in children if child.children]
    return False


_WAYS = ("axisangle", "xyaxes", "zaxis", "euler")
_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_WITH_DEFAULTS = (
    "joint", "geom", "site", "mesh", "pair", "equality", "tendon", "camera", "light", "material", "texture",
)  # fmt: skip
_PARTLY = frozenset(("size", "friction", "stiffness", "damping", "gear"))  # lists that may be short
_OTHER_DRIVES = ("orientation", "pid", "cylinder", "muscle", "adhesion", "dcmotor", "plugin")


def merge_attributes(known: Mapping[str, str], given: dict[str, str]) -> dict[str, str]:
    """Attributes over those of a class: where an element gives fewer numbers, the last ones are still the class's."""
    shared = _PARTLY.intersection(given, known)
    if not shared:
        return given
    result = dict(given)
    for name in shared:
        own, others = given[name].split(), known[name].split()
        result[name] = " ".join([*own, *others[len(own) :]])
    return result


def parse_choice(element: Element, name: str, words: Mapping[str, T], default: T) -> T:
    """The value of an attribute that is one of a few words."""
    value = element.attributes.get(name)
    if value is None:
        return default
    if value.strip() not in words:
        raise element.error(f"{name}={quoted(value)}: expected {' or '.join(words)}")
    return words[value.strip()]


def parse_integer(element: Element, name: str, default: int) -> int:
    """A whole number."""
    if name not in element.attributes:
        return default
    value = element.number(name)
    if value != int(value) or abs(value) > 2**32:
        raise element.error(f"{name}={quoted(element.attribute(name))}: expected a whole number")
    return int(value)


def padded_numbers(element: Element, name: str, default: Sequence[float]) -> Sequence[float]:
    """Numbers of which the last ones may be missing, and are then as usual."""
    value = element.attributes.get(name)
    if value is None:
        return default
    count = len(known_numbers(value) or element.attribute(name).split())
    if count > len(default):
        raise element.error(
            f"{name}={quoted(element.attribute(name))}: expected {len(default)} numbers at most, got {count}"
        )
    return [*element.numbers(name, count), *default[count:]]


def exact_numbers(element: Element, name: str) -> list[float]:
    """As many numbers as there are."""
    return element.numbers(name, len(element.attribute(name).split()))


def unit(element: Element, name: str, values: Iterable[float]) -> list[float]:
    numbers = list(values)
    length = math.hypot(*numbers)
    if length < 1e-12:
        raise element.error(f"{name}={quoted(element.attribute(name))}: this vector has no direction")
    return [x / length for x in numbers]


def quaternion(element: Element, name: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return rotation_of_quaternion(*unit(element, name, element.numbers(name, 4)))


def turn(axis: Sequence[float], angle: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The rotation by an angle about a unit axis."""
    x, y, z = axis
    s, c = math.sin(angle), math.cos(angle)
    k = 1.0 - c
    rows = (
        (c + k * x * x, k * x * y - s * z, k * x * z + s * y),
        (k * x * y + s * z, c + k * y * y, k * y * z - s * x),
        (k * x * z - s * y, k * y * z + s * x, c + k * z * z),
    )
    return np.array(rows)


def from_z(z: Sequence[float]) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """The shortest rotation that takes the z axis to a unit vector."""
    x, y, height = z
    sine = math.hypot(x, y)
    if sine < 1e-10:
        return _IDENTITY if height > 0.0 else np.diag([1.0, -1.0, -1.0])
    return turn((-y / sine, x / sine, 0.0), math.atan2(sine, height))

"""Actuators of MJCF files: each shortcut is a general one with some numbers set, and so are its defaults."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.io.mjcf.document import MAIN, Document, exact_numbers, merge_attributes, padded_numbers
from kinemorph.io.mjcf.mujoco_parts import JointPart, Unsupported, range_ends
from kinemorph.io.mjcf.schema import DRIVES, check_attributes
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.equipment import NO_RANGE, Actuator

KEPT = (
    "gear", "ctrlrange", "ctrllimited", "forcerange", "forcelimited", "armature", "damping", "delay", "inheritrange"
)  # fmt: skip


@dataclass
class _Drive:
    """A general actuator while its attributes are collected."""

    given: dict[str, str] = field(default_factory=dict)  # attributes that all kinds have
    gain: list[float] = field(default_factory=lambda: [1.0, 0.0, 0.0])
    bias: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    gaintype: str = "fixed"
    biastype: str = "none"
    dyntype: str = "none"

    def copy(self) -> _Drive:
        kinds = self.gaintype, self.biastype, self.dyntype
        return _Drive(dict(self.given), list(self.gain), list(self.bias), *kinds)

    def take(self, element: Element) -> None:
        """Override the settings so far by the attributes of an element."""
        check_attributes(element)
        attributes = element.attributes
        self.given.update(merge_attributes(self.given, {name: attributes[name] for name in KEPT if name in attributes}))
        tag = element.tag
        if tag == "general":
            self._general(element)
            return
        self.gaintype, self.dyntype = "fixed", "none"
        if tag == "motor":
            self.gain, self.bias, self.biastype = [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], "none"
        elif tag in ("position", "intvelocity"):
            self.gain[0] = element.number("kp", self.gain[0])
            self.bias[:2], self.biastype = [0.0, -self.gain[0]], "affine"
            if "kv" in attributes and "dampratio" in attributes:
                raise element.error("it has both kv and dampratio; delete one")
            if "kv" in attributes:
                self.bias[2] = -element.number("kv")
            if "dampratio" in attributes:
                self.bias[2] = element.number("dampratio")  # a positive number is a ratio, until masses are known
            if tag == "intvelocity" or element.number("timeconst", 0.0) > 0.0:
                self.dyntype = "filter" if tag == "position" else "integrator"
        elif tag == "velocity":
            self.gain[0] = element.number("kv", self.gain[0])
            self.bias, self.biastype = [0.0, 0.0, -self.gain[0]], "affine"
        else:  # a damper: its gain depends on the velocity
            self.gaintype = "affine"

    def _general(self, element: Element) -> None:
        attributes = element.attributes
        for name, values in (("gainprm", self.gain), ("biasprm", self.bias)):
            if name in attributes:
                numbers = exact_numbers(element, name)
                if len(numbers) > 10:
                    raise element.error(f"{name} has {len(numbers)} numbers, 10 at most")
                values[: min(len(numbers), 3)] = numbers[:3]
        self.gaintype = attributes.get("gaintype", self.gaintype)
        self.biastype = attributes.get("biastype", self.biastype)
        self.dyntype = attributes.get("dyntype", self.dyntype)


def read_actuators(
    document: Document, joints: Mapping[str, JointPart], ranges: Mapping[str, tuple[float, float]],
    unsupported: Unsupported,
) -> list[tuple[Element, Actuator]]:  # fmt: skip
    """All actuators that drive joints in a way that can be had."""
    found: list[tuple[Element, Actuator]] = []
    names: dict[str, Element] = {}
    known: dict[str, _Drive] = {}  # what the classes say
    number = 0
    for section in document.sections["actuator"]:
        for element in section.children:
            name = element.attributes.get("name") or f"actuator{number}"
            number += 1
            if name in names:
                raise element.error(f"there is already an actuator of this name in line {names[name].line}")
            names[name] = element
            actuator = _actuator(element, name, document, known, joints, ranges, unsupported)
            if actuator is not None:
                found.append((element, actuator))
    return found


def _actuator(
    element: Element, name: str, document: Document, known: dict[str, _Drive], joints: Mapping[str, JointPart],
    ranges: Mapping[str, tuple[float, float]], unsupported: Unsupported,
) -> Actuator | None:  # fmt: skip
    leave: Callable[[str], None] = lambda what: unsupported.found("actuator", element, what)  # noqa: E731
    if element.tag not in DRIVES:
        leave(f"<{element.tag}> is not read, only motors and linear servos are")
        return None
    name_of_class, defaults = document.defaults(element, "actuator", MAIN)
    if name_of_class not in known:
        known[name_of_class] = _Drive()
        for default in defaults:
            if default.tag in DRIVES:
                known[name_of_class].take(default)
    drive = known[name_of_class].copy()
    drive.take(element)
    settled = Element(element.tag, {**element.attributes, **drive.given}, element.source, element.line, element.parent)
    if "tendon" in element.attributes:
        unsupported.found("tendon", element, "it drives a tendon")
        return None
    target = next((key for key in ("joint", "jointinparent") if key in element.attributes), "")
    if not target:
        leave("only actuators of joints are read")
        return None
    joint = joints.get(element.attribute(target))
    if joint is None:
        raise element.error(f"{target}={quoted(element.attribute(target))}: there is no joint of this name")
    single = joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
    bias = drive.bias if drive.biastype == "affine" else [0.0, 0.0, 0.0]
    if drive.dyntype != "none" or settled.number("delay", 0.0):
        leave("its force lags behind its control, which is not read")
    elif drive.gaintype != "fixed" or drive.biastype not in ("none", "affine"):
        leave("only motors and linear servos are read")
    elif settled.number("armature", 0.0) or any(padded_numbers(settled, "damping", (0.0,) * 3)):
        leave("an armature or a damping of its own is not read; give it to the joint")
    elif joint.kind is JointKind.FREE or (not single and (any(bias) or target == "jointinparent")):
        leave(f"of a {'free' if joint.kind is JointKind.FREE else 'ball'} joint this is not read")
    else:
        gear = padded_numbers(settled, "gear", (1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        gears = (gear[0],) if single else tuple(gear[:3])
        at = bias[0] + bias[1] * gear[0] * joint.ref
        control = _range(settled, "ctrl", document)
        part = settled.number("inheritrange", 0.0)
        if part > 0.0:
            control = _inherited(settled, part, ranges.get(joint.name))
        try:
            return Actuator(
                name, joint.name, drive.gain[0], (at, bias[1], bias[2]), gears, control,
                _range(settled, "force", document),
            )  # fmt: skip
        except ValueError as error:
            raise element.error(str(error)) from None
    return None


def _inherited(element: Element, part: float, known: Sequence[float] | None) -> tuple[float, float]:
    if known is None:
        raise element.error("inheritrange: its joint has no range")
    middle, half = 0.5 * (known[0] + known[1]), 0.5 * (known[1] - known[0]) * part
    return middle - half, middle + half


def _range(element: Element, what: str, document: Document) -> tuple[float, float]:
    low, high = element.numbers(f"{what}range", 2, (0.0, 0.0))
    if not document.limited(element, f"{what}limited", low, high):
        return NO_RANGE
    if not low < high:
        shown = quoted(element.attributes.get(f"{what}range", ""))
        raise element.error(f"{what}range={shown}: expected the lower end first")
    return range_ends(low, high)


def damped_servo(actuator: Actuator, inertia: float) -> Actuator:
    """A position servo whose damping was given as a ratio, now that the inertia at its joint is known."""
    stiffness, ratio = -actuator.bias[1], actuator.bias[2]
    gear = actuator.gear[0] ** 2
    mass = inertia / gear if gear > 1e-14 else 0.0  # as MuJoCo does
    damping = 2.0 * ratio * math.sqrt(max(stiffness * mass, 0.0))
    return replace(actuator, bias=(actuator.bias[0], -stiffness, -damping))

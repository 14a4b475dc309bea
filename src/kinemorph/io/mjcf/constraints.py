"""The sections of MJCF files beside the tree: equalities, contact, tendons and keyframes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.geometry.material import Material
from kinemorph.io.mjcf.document import (
    MAIN,
    TRUE_FALSE,
    Document,
    exact_numbers,
    padded_numbers,
    parse_choice,
    parse_integer,
)
from kinemorph.io.mjcf.mujoco_parts import CouplingPart, JointPart, KeyPart, LoopPart, Parts, SitePart, Unsupported
from kinemorph.io.mjcf.schema import check_attributes
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.equipment import PairMaterial
from kinemorph.spatial.pose import Pose

PAIR_FRICTION = (1.0, 1.0, 0.005, 0.0001, 0.0001)


@dataclass
class Constraints:
    """Reads the sections after the tree into its parts."""

    document: Document
    parts: Parts
    joints: Mapping[str, JointPart]
    unsupported: Unsupported

    def __post_init__(self) -> None:
        self.bodies = {body.name: i for i, body in enumerate(self.parts.bodies)}
        self.sites: dict[str, SitePart] = {site.name: site for site in self.parts.sites}

    def body(self, element: Element, name: str) -> int:
        value = element.attribute(name)
        if value not in self.bodies:
            raise element.error(f"{name}={quoted(value)}: there is no body of this name")
        return self.bodies[value]

    # ------------------------------------------------------------------------------------------------------- contact

    def read_contact(self, geoms: Mapping[str, int]) -> None:
        for section in self.document.sections["contact"]:
            for element in section.children:
                if element.tag == "exclude":
                    check_attributes(element)
                    self.parts.exclusions.append((self.body(element, "body1"), self.body(element, "body2")))
                elif element.tag == "pair":
                    self._pair(element, geoms)
                else:
                    raise element.error("there is no such element here; there is exclude and pair")

    def _pair(self, element: Element, geoms: Mapping[str, int]) -> None:
        pair = self.document.settled(element)
        names = [element.attribute(name) for name in ("geom1", "geom2")]
        for which, name in zip(("geom1", "geom2"), names, strict=True):
            if name not in geoms:
                raise element.error(f"{which}={quoted(name)}: there is no geom of this name")
        friction = padded_numbers(pair, "friction", PAIR_FRICTION)
        if pair.number("adhesion", 0.0):
            self.unsupported.found("adhesion", element, "it sticks, which is not read")
        if friction[0] != friction[1] or friction[3] != friction[4]:
            self.unsupported.found("pair", element, f"its friction {friction} differs with direction")
            return
        try:
            material = Material(
                friction[0], friction[2], friction[3],
                directions=parse_integer(pair, "condim", 3), margin=pair.number("margin", 0.0),
            )  # fmt: skip
        except ValueError as error:
            raise element.error(str(error)) from None
        first, second = sorted(names, key=geoms.__getitem__)
        self.parts.pair_materials.append(PairMaterial(first, second, material))

    # ---------------------------------------------------------------------------------------------------- equalities

    def read_equalities(self) -> None:
        number = 0
        for section in self.document.sections["equality"]:
            for element in section.children:
                name = element.attributes.get("name") or f"equality{number}"
                number += 1
                if element.tag not in ("connect", "weld", "joint"):
                    self.unsupported.found("equality", element, "only connect, weld and joint are read")
                    continue
                schema = "equality joint" if element.tag == "joint" else element.tag
                settled = self.document.settled(element, MAIN, schema, "equality")
                if not parse_choice(settled, "active", TRUE_FALSE, True):
                    self.unsupported.warned.add("inactive", element, "it is not active, and left out")
                elif element.tag == "joint":
                    self._coupling(settled, name)
                else:
                    self._loop(settled, name)

    def _coupling(self, element: Element, name: str) -> None:
        ends = []
        for which in ("joint1", "joint2"):
            value = element.attributes.get(which)
            if value is None and which == "joint2":
                continue
            joint = self.joints.get(element.attribute(which))
            if joint is None:
                raise element.error(f"{which}={quoted(value or '')}: there is no joint of this name")
            if joint.kind not in (JointKind.REVOLUTE, JointKind.PRISMATIC):
                raise element.error(f"{which}={quoted(value or '')} is not a hinge or a slide")
            ends.append(joint.name)
        offset, slope, *higher = padded_numbers(element, "polycoef", (0.0, 1.0, 0.0, 0.0, 0.0))
        if len(ends) == 1:
            self.parts.couplings.append(CouplingPart(element, name, ends[0], None, 0.0, offset))
        elif any(higher):
            what = f"joints can follow in proportion, not by the polynomial {[offset, slope, *higher]}"
            self.unsupported.found("equality", element, what)
        else:
            self.parts.couplings.append(CouplingPart(element, name, ends[0], ends[1], slope, offset))

    def _loop(self, element: Element, name: str) -> None:
        given = element.attributes
        kind = JointKind.SPHERICAL if element.tag == "connect" else JointKind.FIXED
        if element.tag == "weld" and element.number("torquescale", 1.0) <= 0.0:
            kind = JointKind.SPHERICAL
        if "site1" in given or "site2" in given:
            sites = []
            for which in ("site1", "site2"):
                site = self.sites.get(element.attribute(which))
                if site is None:
                    raise element.error(f"{which}={quoted(given[which])}: there is no site of this name")
                sites.append(site)
            a, b, at_a, at_b = sites[0].body, sites[1].body, sites[0].pose, sites[1].pose
        else:
            a = self.body(element, "body1")
            b = self.body(element, "body2") if "body2" in given else 0
            at_a, at_b = self._anchors(element, a, b)
        if a == b:
            raise element.error("both of its sides are one body")
        self.parts.loops.append(LoopPart(element, name, a, b, kind, at_a, at_b))

    def _anchors(self, element: Element, a: int, b: int) -> tuple[Pose, Pose]:
        """Where the two frames are on their bodies. What is not given is as the file draws it."""
        there = self._in_world(a).inverse() @ self._in_world(b)  # b, seen from a
        if element.tag == "connect":
            at_a = Pose(element.numbers("anchor", 3))
            return at_a, Pose(there.inverse().apply(at_a.position))
        at_b = Pose(element.numbers("anchor", 3, (0.0, 0.0, 0.0)))
        relative = element.numbers("relpose", 7, (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        if any(relative[3:]):
            return Pose.quaternion(relative[3:], relative[:3]), at_b
        return there @ at_b, at_b

    def _in_world(self, body: int) -> Pose:
        pose = Pose()
        while body > 0:
            pose = self.parts.bodies[body].pose @ pose
            body = self.parts.bodies[body].parent
        return pose

    # -------------------------------------------------------------------------------------------- tendons and poses

    def read_tendons(self) -> None:
        for section in self.document.sections["tendon"]:
            for element in section.children:
                if element.tag not in ("fixed", "spatial"):
                    raise element.error("there is no such element here; there is fixed and spatial")
                tendon = self.document.settled(element, MAIN, element.tag, "tendon")
                acts = any(any(padded_numbers(tendon, name, (0.0,) * 3)) for name in ("stiffness", "damping"))
                acts = acts or any(tendon.number(name, 0.0) for name in ("frictionloss", "armature"))
                said = parse_choice(tendon, "limited", {"true": True, "false": False, "auto": None}, None)
                ranged = any(tendon.numbers("range", 2, (0.0, 0.0))) and self.document.autolimits
                if acts or said or (said is None and ranged):
                    self.unsupported.found("tendon", element, "tendons are not read")
                else:
                    self.unsupported.warned.add("idle tendon", element, "it does nothing by itself, and is left out")

    def read_keys(self, controls: int) -> None:
        """Keyframes. Those of actuators that are left out have controls for all of them, and lose theirs."""
        number, names = 0, set[str]()
        for section in self.document.sections["keyframe"]:
            for element in section.children:
                if element.tag != "key":
                    raise element.error("there is no such element here; there is key")
                check_attributes(element)
                name = element.attributes.get("name") or f"key{number}"
                number += 1
                if name in names:
                    raise element.error("there is already a key of this name")
                names.add(name)
                qpos, qvel = (
                    np.array(exact_numbers(element, what)) if what in element.attributes else None
                    for what in ("qpos", "qvel")
                )
                control = tuple(exact_numbers(element, "ctrl")) if "ctrl" in element.attributes else None
                if len(self.parts.actuators) != controls:
                    control = None
                if not element.attributes:
                    continue  # it says nothing
                time = element.number("time", 0.0)
                self.parts.keys.append(KeyPart(element, name, time, qpos, qvel, control))

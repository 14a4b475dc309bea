"""The tree of bodies of an MJCF file: bodies, joints, geoms and sites, with frames and replicas resolved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from kinemorph._files import quoted
from kinemorph._xml import MOST_ELEMENTS, Element
from kinemorph.geometry.shapes import Colour
from kinemorph.io.mjcf.compiled_inertia import LIGHTEST_WEIGHED, PrincipalInertia
from kinemorph.io.mjcf.document import (
    LIMITED,
    MAIN,
    TRUE_FALSE,
    Document,
    padded_numbers,
    parse_choice,
    parse_integer,
    unit,
)
from kinemorph.io.mjcf.geoms import Geom, between_ends, read_geom
from kinemorph.io.mjcf.meshes import MeshAsset
from kinemorph.io.mjcf.mujoco_parts import ORIGIN, BodyPart, JointPart, Parts, SitePart, Unsupported, range_ends
from kinemorph.io.mjcf.schema import check_attributes
from kinemorph.multibody.convert.mujoco_names import body_names, joint_names
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.spatial.pose import Pose

KINDS = {
    "hinge": JointKind.REVOLUTE, "slide": JointKind.PRISMATIC, "ball": JointKind.SPHERICAL, "free": JointKind.FREE,
}  # fmt: skip
LOOKS = ("camera", "light")  # of a body, that only a picture shows
HERE = Pose()


@dataclass(frozen=True)
class _Inside:
    """Where an element stands: in which body, at which place on it, and what it inherits."""

    body: int
    frame: Pose
    childclass: str
    suffix: str = ""  # of the names, inside of replicas

    def at(self, pose: Pose) -> Pose:
        """A place in this frame, seen from the body."""
        return pose if self.frame is HERE else self.frame @ pose


@dataclass
class Bodies:
    """Reads the tree into parts, and knows everything by name afterwards."""

    document: Document
    parts: Parts
    meshes: Mapping[str, MeshAsset]
    colours: Mapping[str, Colour]
    unsupported: Unsupported
    geoms: list[Geom] = field(default_factory=list)
    sprung: list[tuple[JointPart, float, float]] = field(default_factory=list)  # time constant and damping ratio
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # of joints, as the file counts them
    lumps: dict[int, PrincipalInertia] = field(default_factory=dict)  # what bodies weigh
    _names: dict[tuple[str, str], Element] = field(default_factory=dict)
    _count: int = 0
    _off: set[str] = field(default_factory=set)  # what is switched off in all joints

    def read(self) -> None:
        document = self.document
        flags = {
            "stiffness": ("spring", "passive"), "damping": ("damper", "passive"),
            "friction": ("constraint", "frictionloss"), "limits": ("constraint", "limit"),
        }  # fmt: skip
        self._off = {what for what, names in flags.items() if document.off(*names)}
        worlds = document.sections["worldbody"]
        self.parts.bodies.append(BodyPart(worlds[0] if worlds else document.root, "world", -1, HERE))
        for world in worlds:
            check_attributes(world)
            self._children(world, _Inside(0, HERE, world.attributes.get("childclass", MAIN)))
        self._weigh()
        self.parts.sites.sort(key=lambda site: site.body)  # as MuJoCo counts them
        self.geoms.sort(key=lambda geom: geom.body)
        bodies = self.parts.bodies
        given = [joint.name for joint in self.parts.joints()]
        for body, name in zip(bodies, body_names([body.name for body in bodies]), strict=True):
            body.name = name
        named = joint_names(given, [body.name for body in bodies for _ in body.joints])
        for joint, name in zip(self.parts.joints(), named, strict=True):
            if joint.name != name and joint.name in self.ranges:
                self.ranges[name] = self.ranges[joint.name]
            joint.name = name

    # --------------------------------------------------------------------------------------------------- the tree

    def _children(self, element: Element, inside: _Inside) -> None:
        """All that is in an element, in the file's order. Bodies in bodies wait in a list: a chain of them is deep."""
        self._waiting: list[tuple[Iterator[Element], _Inside]] = [(iter(element.children), inside)]
        while self._waiting:
            children, inside = self._waiting[-1]
            child = next(children, None)
            if child is None:
                self._waiting.pop()
                continue
            self._count += 1
            if self._count > MOST_ELEMENTS:
                raise child.error(f"with all replicas, there are more than {MOST_ELEMENTS} elements")
            reader = _READERS.get(child.tag)
            if reader is not None:
                reader(self, child, inside)
            elif child.tag in _NOT_READ:
                kind, what = _NOT_READ[child.tag]
                self.unsupported.found(kind, child, what)
            elif child.tag not in LOOKS:
                raise child.error("there is no such element in a body")

    def _enter(self, element: Element, inside: _Inside) -> None:
        self._waiting.append((iter(element.children), inside))

    def _body(self, element: Element, inside: _Inside) -> None:
        check_attributes(element)
        if element.number("gravcomp", 0.0):
            self.unsupported.found("gravcomp", element, "its weight is compensated, which is not read")
        if parse_choice(element, "mocap", TRUE_FALSE, False):
            self.unsupported.found("mocap", element, "bodies that follow a recording are not read")
        name = self._name(element, "body", inside)
        number = len(self.parts.bodies)
        pose = inside.at(self.document.pose(element))
        self.parts.bodies.append(BodyPart(element, name, inside.body, pose))
        childclass = element.attributes.get("childclass", inside.childclass)
        self._enter(element, _Inside(number, HERE, childclass, inside.suffix))

    def _frame(self, element: Element, inside: _Inside) -> None:
        check_attributes(element)
        for name in ("scale", "massscale", "scaling"):
            if name in element.attributes:
                raise element.error(f"{name}: frames that scale their contents are not read; write the sizes out")
        frame = inside.at(self.document.pose(element))
        childclass = element.attributes.get("childclass", inside.childclass)
        self._enter(element, _Inside(inside.body, frame, childclass, inside.suffix))

    def _replicate(self, element: Element, inside: _Inside) -> None:
        check_attributes(element)
        element.attribute("count")
        count = parse_integer(element, "count", 0)
        if not 0 < count <= MOST_ELEMENTS:
            raise element.error(f"count={quoted(element.attribute('count'))}: expected 1 to {MOST_ELEMENTS}")
        turned = self.document.euler(element) if "euler" in element.attributes else np.eye(3)
        step = Pose.known(np.array(element.numbers("offset", 3, (0.0, 0.0, 0.0))), turned)
        digits, pose = len(str(count)), HERE
        self._count += count
        if count * len(element.children) + self._count > MOST_ELEMENTS:
            raise element.error(f"with all replicas, there are more than {MOST_ELEMENTS} elements")
        replicas = []
        for i in range(count):
            suffix = f"{element.attributes.get('sep', '')}{i:0{digits}d}{inside.suffix}"
            replicas.append(_Inside(inside.body, inside.frame @ pose, inside.childclass, suffix))
            pose = pose @ step
        for replica in reversed(replicas):
            self._enter(element, replica)

    def _name(self, element: Element, kind: str, inside: _Inside) -> str:
        name = element.attributes.get("name", "")
        if not name:
            return ""
        name += inside.suffix
        known = self._names.setdefault((kind, name), element)
        if known is not element:
            raise element.error(f"there is already a {kind} of this name in line {known.line} of {known.source}")
        return name

    def _site(self, element: Element, inside: _Inside) -> None:
        site = self.document.settled(element, inside.childclass)
        name = self._name(element, "site", inside)
        if name:
            pose = between_ends(site)[0] if "fromto" in site.attributes else self.document.pose(site)
            self.parts.sites.append(SitePart(element, name, inside.body, inside.at(pose)))

    def _geom(self, element: Element, inside: _Inside) -> None:
        for child in element.children:
            self.unsupported.found("plugin", child, "plugins are not read")
        settled = self.document.settled(element, inside.childclass)
        geom = read_geom(
            settled, inside.body, inside.at, self.document, self.meshes, self.colours, self.unsupported
        )  # fmt: skip
        if geom is not None:
            geom.name = self._name(element, "geom", inside)
            self.geoms.append(geom)

    def _inertial(self, element: Element, inside: _Inside) -> None:
        check_attributes(element)
        if inside.body == 0 or inside.body in self.lumps:
            raise element.error("the world has no mass" if inside.body == 0 else "there are two <inertial> in a body")
        mass = element.number("mass")
        if mass < 0.0:
            raise element.error(f"mass={quoted(element.attribute('mass'))}: a mass cannot be negative")
        element.numbers("pos", 3)
        if "fullinertia" in element.attributes:
            if "diaginertia" in element.attributes:
                raise element.error("it has both fullinertia and diaginertia; delete one")
            xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
            matrix = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            lump = PrincipalInertia.of(Inertia.unchecked(mass, np.zeros(3), matrix))
        else:
            moments = np.array(element.numbers("diaginertia", 3, (0.0, 0.0, 0.0)))
            lump = PrincipalInertia(mass, np.zeros(3), moments, np.eye(3))
        self.lumps[inside.body] = lump.moved(inside.at(self.document.pose(element)))

    # -------------------------------------------------------------------------------------------------------- joints

    def _joint(self, element: Element, inside: _Inside) -> None:
        body, found = self.parts.bodies[inside.body], self.unsupported.found
        if inside.body == 0:
            raise element.error("the world cannot move; put the joint into a body")
        if element.tag == "freejoint":
            check_attributes(element)
            joint, kind = Element("freejoint", {}, element.source, element.line, element.parent), JointKind.FREE
        else:
            joint = self.document.settled(element, inside.childclass)
            kind = parse_choice(joint, "type", KINDS, JointKind.REVOLUTE)
        self._check_place(element, kind, body)
        if kind is JointKind.FREE:
            aligned = parse_choice(self.document.compiler, "alignfree", TRUE_FALSE, False)
            if parse_choice(element, "align", {**TRUE_FALSE, "auto": aligned}, aligned):
                found("alignfree", element, "the frame of a free body is not moved to its mass")
        single = kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        anchor = ORIGIN if kind is JointKind.FREE else np.array(joint.numbers("pos", 3, (0.0, 0.0, 0.0)))
        along = unit(joint, "axis", joint.numbers("axis", 3)) if "axis" in joint.attributes else (0.0, 0.0, 1.0)
        axis = np.array(along)
        if inside.frame is not HERE:
            axis = inside.frame.rotation @ axis
            anchor = anchor if kind is JointKind.FREE else inside.frame.apply(anchor)
        part = JointPart(element, self._name(element, "joint", inside), kind, anchor, axis)
        part.armature, part.friction = joint.number("armature", 0.0), joint.number("frictionloss", 0.0)
        part.stiffness, *springs = padded_numbers(joint, "stiffness", (0.0,) * 3)
        part.damping, *dampers = padded_numbers(joint, "damping", (0.0,) * 3)
        for name, value in (
            ("armature", part.armature), ("frictionloss", part.friction), ("stiffness", part.stiffness),
            ("damping", part.damping),
        ):  # fmt: skip
            if value < 0.0:
                raise joint.error(f"{name}={quoted(joint.attribute(name))} cannot be negative")
        if any(springs) or any(dampers):
            found("polynomial", element, "its spring or damper is not linear")
        if joint.number("springyield", 0.0) > 0.0:
            found("plastic", element, "its spring yields for good")
        if kind is JointKind.FREE and part.armature:
            found("armature", element, "a free joint with an armature has a mass that does not turn with the body")
            part.armature = 0.0
        angle = self.document.angle if kind is JointKind.REVOLUTE else float
        if single:
            part.ref = angle(joint.number("ref", 0.0))
            part.rest = angle(joint.number("springref", 0.0)) - part.ref
        self._limits(joint, part)
        constant, ratio = padded_numbers(joint, "springdamper", (0.0, 0.0))
        if constant > 0.0 and ratio > 0.0:
            self.sprung.append((part, constant, ratio))
        if self._off:
            self._switch_off(part)
        body.joints.append(part)

    def _check_place(self, element: Element, kind: JointKind, body: BodyPart) -> None:
        if len(body.joints) >= 6:
            raise element.error("a body has six joints at most")
        others = [joint.kind for joint in body.joints]
        if kind is JointKind.FREE and body.parent != 0:
            raise element.error("only what hangs on the world is free; use a ball and three slides")
        if others and JointKind.FREE in (kind, *others):
            raise element.error("a body that is free has no other joint")
        if kind in (JointKind.SPHERICAL, JointKind.REVOLUTE) and JointKind.SPHERICAL in others:
            raise element.error("after a ball a body does not turn in another joint; give that to a body of its own")

    def _limits(self, joint: Element, part: JointPart) -> None:
        angle = self.document.angle if part.kind is not JointKind.PRISMATIC else float
        low, high = (angle(x) for x in joint.numbers("range", 2, (0.0, 0.0)))
        if part.name and (low or high):
            self.ranges[part.name] = (low, high)
        if self.document.limited(joint, "limited", low, high) and part.kind is not JointKind.FREE:
            if part.kind is JointKind.SPHERICAL:
                self.unsupported.found("limit", part.where, "the limit of a ball joint is a cone, which is not read")
            elif not low < high:
                raise joint.error(f"range={quoted(joint.attributes.get('range', ''))}: expected the lower end first")
            else:
                part.lower, part.upper = range_ends(low, high, part.ref)
        low, high = joint.numbers("actuatorfrcrange", 2, (0.0, 0.0))
        single = part.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        if self.document.limited(joint, "actuatorfrclimited", low, high) and single:
            if low == -high and high > 0.0:
                part.effort_limit = high
            else:
                what = f"its drives are limited from {low:g} to {high:g}, not evenly"
                self.unsupported.found("limit", part.where, what)

    def _switch_off(self, part: JointPart) -> None:
        if "stiffness" in self._off:
            part.stiffness = 0.0
        if "damping" in self._off:
            part.damping = 0.0
        if "friction" in self._off:
            part.friction = 0.0
        if "limits" in self._off:
            part.lower, part.upper = -math.inf, math.inf

    # -------------------------------------------------------------------------------------------------------- masses

    def _weigh(self) -> None:
        """Give each body its mass: as it is written, or of its geoms."""
        compiler, bodies = self.document.compiler, self.parts.bodies
        rule = parse_choice(compiler, "inertiafromgeom", LIMITED, "auto")
        first, last = (int(x) for x in compiler.numbers("inertiagrouprange", 2, (0.0, 5.0)))
        weighed: dict[int, list[PrincipalInertia]] = {}
        for geom in self.geoms:
            wanted = rule == "true" or (rule == "auto" and geom.body not in self.lumps)
            if geom.body == 0 or not wanted or not first <= geom.group <= last:
                continue
            lump = geom.weight(self.unsupported)
            if lump is not None and lump.mass > LIGHTEST_WEIGHED:
                weighed.setdefault(geom.body, []).append(lump)
        for number, lumps in weighed.items():
            self.lumps[number] = lumps[0] if len(lumps) == 1 else PrincipalInertia.together(lumps)
        least = compiler.number("boundmass", 0.0), compiler.number("boundinertia", 0.0)
        balance = parse_choice(compiler, "balanceinertia", TRUE_FALSE, False)
        if any(least) or balance:
            nothing = PrincipalInertia(0.0, np.zeros(3), np.zeros(3), np.eye(3))
            for number in range(1, len(bodies)) if any(least) else list(self.lumps):
                self.lumps[number] = self.lumps.get(number, nothing).bounded(*least, balance)
        total, have = compiler.number("settotalmass", -1.0), sum(lump.mass for lump in self.lumps.values())
        k = total / have if total > 0.0 and have > 0.0 else 1.0
        for number, lump in self.lumps.items():
            body = bodies[number]
            body.inertia = lump.scaled(k).inertia()
            if not (np.isfinite(body.inertia.mass) and np.isfinite(body.inertia.matrix).all()):
                raise body.where.error("it is too heavy to be weighed")
            if number not in weighed and body.joints and (fault := body.inertia.fault()):
                self.unsupported.warned.add("inertia", body.where, f"{fault}; it is used as it is")


_READERS: dict[str, Callable[[Bodies, Element, _Inside], None]] = {
    "geom": Bodies._geom, "joint": Bodies._joint, "freejoint": Bodies._joint, "body": Bodies._body,
    "site": Bodies._site, "inertial": Bodies._inertial, "frame": Bodies._frame, "replicate": Bodies._replicate,
}  # fmt: skip
_NOT_READ = {
    "flexcomp": ("flex", "bodies that bend are not read"),
    "composite": ("flex", "bodies that bend are not read"),
    "plugin": ("plugin", "plugins are not read"),
    "attach": ("attach", "models from other files are not read; use <include>"),
}

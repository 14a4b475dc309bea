"""From the links and joints of a URDF file to a model: is it a tree, who is merged into whom, who follows whom."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kinemorph._files import FileError, quoted
from kinemorph._xml import Element
from kinemorph.geometry.shapes import Shape
from kinemorph.io.notes import Notes
from kinemorph.multibody.builder import Builder
from kinemorph.multibody.inertia import Inertia
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Model
from kinemorph.spatial.pose import Pose

ROOT_JOINT = "root_joint"  # carries the root of a floating robot; Pinocchio gives it the same name
NAMED = 6  # links that an error lists


@dataclass(frozen=True)
class FileLink:
    """A link as the file has it."""

    element: Element
    name: str
    inertia: Inertia | None
    shapes: list[Shape]


@dataclass(frozen=True)
class FileJoint:
    """A joint as the file has it. Its frame is the child's frame when the joint is at zero."""

    element: Element
    name: str
    joint: Joint
    parent: str
    child: str
    at: Pose


@dataclass
class _Body:
    """What becomes one link of the model (or its base, if the name is None): a link and all that is merged into it."""

    name: str | None
    parent: str | None = None
    joint: Joint = field(default_factory=Joint.fixed)
    at: Pose = field(default_factory=Pose)
    inertia: Inertia | None = None
    shapes: list[Shape] = field(default_factory=list)

    def take(self, link: FileLink, pose: Pose) -> None:
        if link.inertia is not None:
            inertia = link.inertia.moved(pose)
            self.inertia = inertia if self.inertia is None else self.inertia + inertia
        self.shapes.extend(shape.moved(pose) for shape in link.shapes)


def build(
    robot: Element,
    name: str,
    links: dict[str, FileLink],
    joints: dict[str, FileJoint],
    *,
    floating: bool,
    merge_fixed: bool,
    gravity: Iterable[float],
    notes: Notes,
) -> Model:
    """The model of a robot."""
    builder = Builder(name, gravity)
    order = _tree(robot, links, joints)
    if not links:
        notes.add("empty", robot, "there are no <link> elements; the model is empty")
    if floating and ROOT_JOINT in joints:
        raise joints[ROOT_JOINT].element.error("floating=True needs this name for the free joint; rename this one")
    root = _Body(order[0].name, joint=Joint.free(name=ROOT_JOINT)) if floating and order else _Body(None)

    bodies = [root]
    home: dict[str, tuple[_Body, Pose]] = {}  # where a link of the file went, and where its frame is there
    carrier = {joint.child: joint for joint in joints.values()}
    for link in order:
        joint = carrier.get(link.name)
        if joint is None:
            body, pose = root, Pose()
        else:
            body, pose = home[joint.parent]
            pose = pose @ joint.at
            if joint.joint.kind is not JointKind.FIXED or not merge_fixed:
                body, pose = _Body(link.name, body.name, joint.joint, pose), Pose()
                bodies.append(body)
            elif joint.name not in links:  # where a link has this name too, the name means the link
                builder.frame(joint.name, body.name, pose)
        home[link.name] = (body, pose)
        builder.frame(link.name, body.name, pose)
        body.take(link, pose)

    for body in bodies:
        if body.name is None:
            builder.base(body.shapes)
        else:
            builder.link(body.name, body.parent, body.joint, body.at, body.inertia, body.shapes)
    for name in builder.massless():
        moved = carrier[name].element if name in carrier else links[name].element
        notes.add("massless", moved, "it moves no mass, so forward dynamics has no answer; give its link an <inertial>")
    _follow(builder, joints, {body.joint.name for body in bodies if body.joint.nv == 1}, notes)
    try:
        return builder.build(lenient=True)
    except ValueError as error:
        raise FileError(f"{robot.source}: {error}") from None


def _tree(robot: Element, links: dict[str, FileLink], joints: dict[str, FileJoint]) -> list[FileLink]:
    """The links, parents first, if the joints make one tree of them."""
    children: dict[str, list[str]] = {name: [] for name in links}
    carrier: dict[str, FileJoint] = {}
    for joint in joints.values():
        for tag, end in (("parent", joint.parent), ("child", joint.child)):
            if end not in links:
                raise joint.element.need(tag).error(f"link={quoted(end)}: there is no link of this name")
        if joint.child in carrier:
            raise joint.element.error(
                f"link {quoted(joint.child)} already hangs on the joint {quoted(carrier[joint.child].name)}; "
                "a link has one parent, so delete one of the two joints"
            )
        carrier[joint.child] = joint
        children[joint.parent].append(joint.child)

    roots = [name for name in links if name not in carrier]
    if len(roots) > 1:
        names = ", ".join(quoted(name) for name in roots[:NAMED]) + (", …" if len(roots) > NAMED else "")
        raise robot.error(f"there are {len(roots)} root links ({names}); join them into one tree")
    order: list[FileLink] = []
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        order.append(links[name])
        waiting.extend(reversed(children[name]))
    if len(order) < len(links):
        reached = {link.name for link in order}
        name = next(name for name in links if name not in reached)
        passed: set[str] = set()
        while name not in passed:  # from here upwards the way must run into the cycle
            passed.add(name)
            name = carrier[name].parent
        raise carrier[name].element.error(
            f"link {quoted(name)} is its own ancestor (a cycle); a URDF is a tree, so delete one joint of the cycle"
        )
    return order


def _follow(builder: Builder, joints: dict[str, FileJoint], moving: set[str | None], notes: Notes) -> None:
    """Say which joints follow which, leaders first. A joint that has not one degree of freedom cannot follow."""
    mimics: dict[str, Element] = {}
    for joint in joints.values():
        mimic = joint.element.one("mimic")
        if mimic is None or joint.name not in moving:
            continue
        leader = mimic.attribute("joint")
        if leader not in joints:
            notes.add("mimic", mimic, f"joint={quoted(leader)}: there is no joint of this name; the mimic is left out")
        elif leader not in moving:
            notes.add("mimic", mimic, f"joint={quoted(leader)} has not one degree of freedom; the mimic is left out")
        else:
            mimics[joint.name] = mimic
    said: set[str] = set()
    for name in mimics:
        chain: dict[str, None] = {}  # from a follower to its leader, the leader's leader, ...; a set that keeps order
        while name in mimics and name not in said:
            if name in chain:
                raise mimics[name].error(f"joint {quoted(name)} follows itself; break the circle")
            chain[name] = None
            name = mimics[name].attribute("joint")
        for follower in reversed(chain):
            mimic = mimics[follower]
            multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
            builder.mimic(follower, mimic.attribute("joint"), multiplier, offset)
        said.update(chain)

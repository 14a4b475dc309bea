"""From the links and joints of an SDF file to a model: which joints carry links, and which close loops."""

from __future__ import annotations

from dataclasses import replace

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.io.file_models import Reading
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.link_merging import ROOT_JOINT, Body, FileJoint, FileLink, LinkPlaces, assemble, build_merged_model
from kinemorph.io.sdf.frames import WORLD, Frames
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import Loop
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose


def build(
    element: Element, links: dict[str, FileLink], joints: dict[str, FileJoint], frames: Frames, prefer: list[str],
    reading: Reading,
) -> Model:  # fmt: skip
    """The tree of all links, and the joints that are left over as loops."""
    floating, warned = reading.floating, reading.warned
    for name in prefer:
        if name not in joints:
            raise element.error(f"prefer: there is no joint {quoted(name)}")
    carrier, loops = _tree(joints, prefer)
    builder = Builder(element.attribute("name"), reading.gravity)
    base = Body(None)
    roots: LinkPlaces = {WORLD: (base, Pose())}
    tops = [name for name in links if name not in carrier]
    if floating and ROOT_JOINT in joints and tops:
        raise joints[ROOT_JOINT].element.error("the free joint of the root needs this name; rename this one")
    for name in tops:
        pose = frames.of(name, links[name].element)
        joint = Joint.free(name=ROOT_JOINT if len(tops) == 1 else f"{ROOT_JOINT}:{name}")
        roots[name] = (Body(name, joint=joint, at=pose), Pose()) if floating else (base, pose)
    order = _parents_first(links, carrier)
    home = assemble(builder, order, carrier, roots, reading.merge_fixed, warned)
    for frame in element.all("frame"):
        name = frame.attribute("name")
        if name not in home and name not in joints:
            _add_frame(builder, frame, frames, home)
    model = build_merged_model(builder, element)
    closed = [loop for joint in loops if (loop := _loop(joint, home, warned)) is not None]
    try:
        return model.with_loops(closed) if closed else model
    except ValueError as error:
        raise element.error(str(error)) from None


def _add_frame(builder: Builder, frame: Element, frames: Frames, home: LinkPlaces) -> None:
    """A named place of the file, on the link that it is attached to; one that is attached to no link is not kept."""
    holder, seen = frame.attributes.get("attached_to", ""), set()
    while holder in frames.elements and holder not in home and holder not in seen:  # a joint, or another frame
        seen.add(holder)
        other = frames.elements[holder]
        holder = other.need("child").content() if other.tag == "joint" else other.attributes.get("attached_to", "")
    if holder in home:
        body, pose = home[holder]
        here = frames.of(holder, frame).inverse() @ frames.of(frame.attribute("name"), frame)
        builder.frame(frame.attribute("name"), body.name, pose @ here)


def _tree(joints: dict[str, FileJoint], prefer: list[str]) -> tuple[dict[str, FileJoint], list[FileJoint]]:
    """Which joint carries each link, and those that close loops: the child hangs already, or the two sides do."""
    carrier: dict[str, FileJoint] = {}
    loops: list[FileJoint] = []
    above: dict[str, str] = {}  # towards a link that stands for all that are connected with each other

    def piece(name: str) -> str:
        while name in above:
            above[name] = name = above.get(above[name], above[name])
        return name

    first = [joints[name] for name in dict.fromkeys(prefer)]
    for joint in (*first, *(joint for joint in joints.values() if joint.name not in prefer)):
        one, other = piece(joint.parent), piece(joint.child)
        if joint.child in carrier or one == other:
            loops.append(joint)
        else:
            carrier[joint.child] = joint
            above[other] = one
    return carrier, loops


def _parents_first(links: dict[str, FileLink], carrier: dict[str, FileJoint]) -> list[FileLink]:
    children: dict[str, list[str]] = {name: [] for name in links}
    tops: list[str] = []
    for name in links:
        parent = carrier[name].parent if name in carrier else WORLD
        (children[parent] if parent != WORLD else tops).append(name)
    order: list[FileLink] = []
    waiting = tops[::-1]
    while waiting:
        name = waiting.pop()
        order.append(links[name])
        waiting.extend(reversed(children[name]))
    return order


def _loop(joint: FileJoint, home: LinkPlaces, warned: FileWarnings) -> Loop | None:
    if home[joint.parent][0] is home[joint.child][0]:
        warned.add("loop", joint.element, "both of its links are one body already, so it is left out")
        return None
    if joint.joint.per_dof("friction").any():
        warned.add("loop", joint.element, "it closes a loop, and such a joint has no friction; that is left out")
    free = replace(joint.joint, friction=0.0)
    # names mean the frames of the file, wherever their links went
    return Loop(None if joint.parent == WORLD else joint.parent, joint.child, free, joint.at, joint.on, joint.name)

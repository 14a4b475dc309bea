"""From the links and joints of a URDF file to a model: checks that they form a tree, and couples mimic joints."""

from __future__ import annotations

from kinemorph._files import quoted
from kinemorph._xml import Element
from kinemorph.io.file_models import Reading
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.link_merging import ROOT_JOINT, Body, FileJoint, FileLink, assemble, build_merged_model
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose

NAMED = 6  # links that an error lists


def build(
    robot: Element, name: str, links: dict[str, FileLink], joints: dict[str, FileJoint], reading: Reading
) -> Model:
    """The model of a robot."""
    floating, warned = reading.floating, reading.warned
    builder = Builder(name, reading.gravity)
    order = _tree(robot, links, joints)
    if not links:
        warned.add("empty", robot, "there are no <link> elements; the model is empty")
    if floating and ROOT_JOINT in joints:
        raise joints[ROOT_JOINT].element.error("floating=True needs this name for the free joint; rename this one")
    root = Body(order[0].name, joint=Joint.free(name=ROOT_JOINT)) if floating and order else Body(None)
    carrier = {joint.child: joint for joint in joints.values()}
    roots = {link.name: (root, Pose()) for link in order[:1]}
    home = assemble(builder, order, carrier, roots, reading.merge_fixed, warned)
    moving = {body.joint.name for body, _ in home.values() if body.joint.nv == 1}
    _add_mimic_joints(builder, joints, moving, warned)
    return build_merged_model(builder, robot)


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


def _add_mimic_joints(
    builder: Builder, joints: dict[str, FileJoint], moving: set[str | None], warned: FileWarnings
) -> None:
    """Say which joints follow which, leaders first. A joint that has not one degree of freedom cannot follow."""
    mimics: dict[str, Element] = {}
    for joint in joints.values():
        mimic = joint.element.one("mimic")
        if mimic is None or joint.name not in moving:
            continue
        leader = mimic.attribute("joint")
        if leader not in joints:
            warned.add("mimic", mimic, f"joint={quoted(leader)}: there is no joint of this name; the mimic is left out")
        elif leader not in moving:
            warned.add("mimic", mimic, f"joint={quoted(leader)} has not one degree of freedom; the mimic is left out")
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

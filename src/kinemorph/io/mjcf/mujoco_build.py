"""From MuJoCo's parts to a model: a link for each joint, names for all places, and what a world will ask for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinemorph.geometry.material import ALL_GROUPS_MASK
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.link_merging import build_merged_model
from kinemorph.io.mjcf.mujoco_parts import BodyPart, CouplingPart, KeyPart, Parts
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.convert.coordinates import rotation_matrix, rotation_quaternion
from kinemorph.multibody.convert.mujoco_names import new_name
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.equipment import Keyframe
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import Loop
from kinemorph.multibody.model.model import Model
from kinemorph.multibody.state import State
from kinemorph.spatial.pose import Pose, Vector

MOST_LOOPS = 5000  # islands of loops are found by comparing all of them
_ROTATION = np.eye(3)
_HERE = Pose()


@dataclass
class _Link:
    """A future link, or the base: a body and all that is fixed to it."""

    name: str | None
    parent: str | None
    joint: Joint | None
    at: Pose
    inertia: Inertia | None
    shapes: list[Shape]


Home = list[tuple[_Link, Pose]]  # of each body: its link, and where on that its frame is


def build(parts: Parts, merge_fixed: bool, warned: FileWarnings) -> Model:
    """The model of all parts."""
    builder = Builder(parts.name, parts.gravity)
    home = _tree(builder, parts, merge_fixed)
    _check_masses(builder, parts, warned)
    taken = {body.name for body in parts.bodies}
    for body, (link, pose) in zip(parts.bodies[1:], home[1:], strict=True):
        builder.frame(body.name, link.name, pose)
    for site in parts.sites:
        link, pose = home[site.body]
        builder.frame(new_name(site.name, taken), link.name, pose @ site.pose)
    for coupling in parts.couplings:
        if coupling.source is not None:
            try:
                builder.mimic(coupling.joint, coupling.source, coupling.multiplier, coupling.offset)
            except ValueError as error:
                raise coupling.where.error(str(error)) from None
    model = build_merged_model(builder, parts.where)
    loops = _loops(parts, home, model, warned)
    if loops:
        try:
            model = model.with_loops(loops)
        except ValueError as error:
            raise parts.where.error(str(error)) from None
    return _equipped(model, parts, home, warned)


def _tree(builder: Builder, parts: Parts, merge_fixed: bool) -> Home:
    """Add all links: several joints of a body are links in a row, of which the last one is the body."""
    base = _Link(None, None, None, _HERE, None, [])
    home: Home = []
    links: list[tuple[_Link, BodyPart]] = []
    taken = {body.name for body in parts.bodies}
    for body in parts.bodies:
        if body.parent < 0:
            link, pose = base, _HERE
        else:
            link, pose = home[body.parent]
            pose = pose @ body.pose
            if not body.joints and not merge_fixed:
                link = _Link(body.name, link.name, Joint.fixed(), pose, None, [])
                links.append((link, body))
                pose = _HERE
        for i, joint in enumerate(body.joints):
            last = i == len(body.joints) - 1
            name = body.name if last else new_name(f"{body.name}:{joint.name}", taken)
            at = Pose.known(pose.rotation.dot(joint.anchor) + pose.position, pose.rotation)
            try:
                link = _Link(name, link.name, joint.made(), at, None, [])
            except ValueError as error:
                raise joint.where.error(str(error)) from None
            links.append((link, body))
            pose = Pose.known(-joint.anchor, _ROTATION)
        home.append((link, pose))
        if body.inertia is not None and link is not base:
            inertia = body.inertia.moved(pose)
            link.inertia = inertia if link.inertia is None else link.inertia + inertia
        link.shapes.extend(shape.moved(pose) for shape in body.shapes)
    builder.base(base.shapes)
    for link, body in links:
        assert link.name is not None
        try:
            builder.link(link.name, link.parent, link.joint, link.at, link.inertia, link.shapes)
        except ValueError as error:
            raise body.where.error(str(error)) from None
    return home


def _check_masses(builder: Builder, parts: Parts, warned: FileWarnings) -> None:
    """Warn of joints that move no mass. MuJoCo refuses them, so they are rare, and looked for only where a body is."""
    light = [b for b in parts.bodies[1:] if b.joints and (b.inertia is None or not b.inertia.mass)]
    if light:
        massless = set(builder.massless())
        for body in light:
            if body.name in massless:
                why = "it moves no mass, in one of its directions at least, so forward dynamics has no answer"
                warned.add("massless", body.where, f"{why}; give it a mass")


def _loops(parts: Parts, home: Home, model: Model, warned: FileWarnings) -> list[Loop]:
    if len(parts.loops) + len(parts.couplings) > MOST_LOOPS:
        raise parts.where.error(f"there are more than {MOST_LOOPS} equalities, which take too long to put together")
    taken = set(model.joint_names)
    loops = []
    for part in parts.loops:
        (a, on_a), (b, on_b) = home[part.a], home[part.b]
        if a is b:
            warned.add("loop", part.where, "both of its bodies are one link already, so it is left out")
            continue
        one, two = (-1 if link.name is None else model.link(link.name) for link in (a, b))
        joint = Joint(part.kind)
        loops.append(Loop(one, two, joint, on_a @ part.at_a, on_b @ part.at_b, new_name(part.name, taken)))
    for coupling in parts.couplings:
        if coupling.source is None:
            loops.append(_lock(coupling, model, new_name(coupling.name, taken)))
    return loops


def _lock(coupling: CouplingPart, model: Model, name: str) -> Loop:
    """A joint that stays where it is told: its two links held together as they are then."""
    link = model.joint(coupling.joint)
    row = model.links[link]
    at = Pose(row["p"], row["R"].reshape(3, 3))
    if row["kind"] == JointKind.REVOLUTE:
        at = at @ Pose.turn(row["axis"], coupling.offset)
    else:
        at = at @ Pose(row["axis"] * coupling.offset)
    return Loop(int(row["parent"]), link, Joint.fixed(), at, Pose(), name)


def _equipped(model: Model, parts: Parts, home: Home, warned: FileWarnings) -> Model:
    """The model with its drives, floors, exclusions and keyframes."""
    equipment: dict[str, object] = {}
    if parts.floors:
        equipment["floors"] = tuple(parts.floors)
    if parts.pair_materials:
        equipment["pair_materials"] = tuple(parts.pair_materials)
    pairs = [(home[a][0], home[b][0]) for a, b in parts.exclusions]
    apart = [tuple(-1 if link.name is None else model.link(link.name) for link in p) for p in pairs if p[0] is not p[1]]
    if apart:
        equipment["exclusions"] = tuple(apart)
    if parts.actuators:
        equipment["actuators"] = tuple(actuator for _, actuator in parts.actuators)
    if parts.keys:
        refs = _references(parts)
        count = len(parts.actuators)
        equipment["keyframes"] = {key.name: _keyframe(model, refs, key, count, warned) for key in parts.keys}
    if not equipment:
        return model
    try:
        return model.with_equipment(**equipment)
    except ValueError as error:
        raise parts.where.error(str(error)) from None


def _references(parts: Parts) -> Vector:
    """MuJoCo's qpos where ours is zero, as far as hinges and slides go."""
    refs: list[float] = []
    for joint in parts.joints():
        single = joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        refs.extend([joint.ref] if single else [0.0] * (7 if joint.kind is JointKind.FREE else 4))
    return np.array(refs)


def _keyframe(model: Model, refs: Vector, key: KeyPart, actuators: int, warned: FileWarnings) -> Keyframe:
    """A state that MuJoCo has in its own coordinates: they differ by references, and for free joints.

    `km.convert.mujoco` does the same for any state; here the order of all entries is known to be ours.
    """
    expected = {"qpos": model.nq, "qvel": model.nv, "ctrl": actuators}
    for what, given in (("qpos", key.qpos), ("qvel", key.qvel), ("ctrl", key.control)):
        if given is not None and len(given) != expected[what]:
            raise key.where.error(f"{what} has {len(given)} numbers; the model has {expected[what]}")
    q = neutral(model) if key.qpos is None else key.qpos - refs
    v = np.zeros(model.nv) if key.qvel is None else key.qvel.copy()
    for row in model.links[(model.links["kind"] == JointKind.FREE) | (model.links["kind"] == JointKind.SPHERICAL)]:
        end = int(row["iq"] + row["nq"])
        length = float(np.linalg.norm(q[end - 4 : end]))
        if not length > 0.0:
            what = (
                f"qpos has a quaternion of length 0 at {end - 4}, which is no rotation; nothing is turned, as in MuJoCo"
            )
            warned.add("unturned", key.where, what)
            q[end - 4], length = 1.0, 1.0
        q[end - 4 : end] /= length
        if row["kind"] == JointKind.FREE:
            _set_free(row, q[end - 7 : end], v[row["iv"] : row["iv"] + 6], key.qpos is not None)
    return Keyframe(State(q, v, time=key.time), tuple(key.control or ()))


def _set_free(row: np.void, q: Vector, v: Vector, in_world: bool) -> None:
    """A free joint's entries, in place: MuJoCo's position is that in the world, its velocity linear first and there."""
    at = Pose.known(row["p"], row["R"].reshape(3, 3))
    turned = at.rotation.T @ rotation_matrix(q[3:]) if in_world else rotation_matrix(q[3:])
    if in_world:
        q[:3] = at.rotation.T @ (q[:3] - at.position)
        q[3:] = rotation_quaternion(turned)
    linear, angular = v[:3].copy(), v[3:].copy()
    v[:3], v[3:] = angular, (at.rotation @ turned).T @ linear


# ---------------------------------------------------------------------------------------------- collision filters


def filters(bits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A group and a mask for each pair of contype and conaffinity.

    In MuJoCo two shapes meet if the contype of either is in the other's conaffinity; here if each one's group is in the
    other's mask. Shapes of the same two numbers form a class, and each class has a bit of its own: pairs that meet are
    then exactly those of MuJoCo. If all are alike, or there are more classes than bits, the numbers stay as they are.
    """
    classes = list(dict.fromkeys(pair for pair in bits if pair != (0, 0)))
    if len(classes) > 32:
        return [(contype & ALL_GROUPS_MASK, affinity & ALL_GROUPS_MASK) for contype, affinity in bits]
    if classes in ([], [(1, 1)]):
        return [(1, ALL_GROUPS_MASK) for _ in bits]
    groups = {pair: 1 << i for i, pair in enumerate(classes)}
    masks = {
        (t, a): sum(groups[other] for other in classes if t & other[1] or other[0] & a) for t, a in classes
    }  # fmt: skip
    return [(groups.get(pair, 1), masks.get(pair, 0)) for pair in bits]


def role_of(contype: int, affinity: int, group: int, paired: bool) -> Role:
    """MuJoCo's viewers show groups 0 to 2; files put shapes that only collide into the others."""
    if not (contype or affinity or paired):
        return Role.VISUAL
    return Role.BOTH if group < 3 else Role.COLLISION

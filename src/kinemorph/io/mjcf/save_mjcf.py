"""MJCF out: a model as a file of MuJoCo. `docs/mjcf.md` says what becomes of what."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._files import PathLike
from kinemorph.geometry.ground import GroundKind
from kinemorph.geometry.material import Material
from kinemorph.geometry.meshes.kept_mesh import ball_file, shape_for_files
from kinemorph.geometry.shapes import Role, Shape, ShapeKind
from kinemorph.io.mjcf.mujoco_parts import UNBOUNDED_RANGE
from kinemorph.io.model_writing import LostFeatures, MeshFiles, SimpleJoint, at_pose, simple_joints, write_model_file
from kinemorph.io.xml_text import Tag, quaternion_of
from kinemorph.multibody.convert import convert
from kinemorph.multibody.convert.mujoco_names import new_name
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.equipment import Floor
from kinemorph.multibody.model.inertia import moments_of
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

MUJOCO_SMALLEST_MASS = 2e-14  # kg, kg m²: MuJoCo refuses bodies that have less
MOST_DOFS = 6  # of a body, in MuJoCo
TYPES = {JointKind.REVOLUTE: "hinge", JointKind.PRISMATIC: "slide", JointKind.SPHERICAL: "ball", JointKind.FREE: "free"}
GROUPS = {Role.BOTH: 0, Role.VISUAL: 1, Role.COLLISION: 3}


@checked_first
def save_mjcf(model: Model, path: PathLike) -> Path:
    """Write a model as an MJCF file, and meshes that are not in its folder into one beside it. Returns the path.

    MuJoCo and `load_mjcf` read it back as the same model. What MJCF cannot say raises ValueError by name; data without
    effect on dynamics there, such as limits of speed, is left out with a `ModelWarning`.
    """
    file = Path(path)
    writer = _Writer(model, file)
    return write_model_file(file, writer.root, writer.lost)


class _Writer:
    def __init__(self, model: Model, file: Path) -> None:
        self.model, self.lost = model, LostFeatures(model, "MJCF")
        self.refused = self.lost.refused
        self.meshes = MeshFiles(file, (".stl", ".obj", ".msh"))
        self.assets: dict[tuple[Any, ...], str] = {}
        self.bits = _bits(model)
        self.root = Tag("mujoco", model=model.name)
        self.root.add("compiler", angle="radian")
        self.root.add("option", gravity=model.gravity)
        self.asset, world = self.root.add("asset"), Tag("worldbody")
        if model.elements:
            raise self.refused(f"force element {model.elements[0].name!r}", "springs between links are not written")
        if "world" in model.names:
            raise self.refused("link 'world'", "MJCF has taken this name; give the link another one")
        self.frames = {name: at for name, at in model.frames.items() if name not in model.names}
        self.geoms: set[str] = set()  # names that are taken
        self.sites = set(self.frames)
        self.children: dict[int, list[int]] = {i: [] for i in range(-1, model.n)}
        for i, parent in enumerate(model.links["parent"].tolist()):
            self.children[parent].append(i)
        self.tags: dict[int, tuple[Tag, Pose]] = {-1: (world, Pose())}  # of links: a body, and the link seen from it
        self.bodies: dict[int, str] = {-1: "world"}
        self.root.children.append(world)
        self.floors(world)
        self.shapes(world, model.base_shapes, Pose())
        self.tree()
        for name, (link, pose) in self.frames.items():
            self.site(name, link, pose)
        self.equalities()
        self.contact()
        self.actuators()
        self.keyframes()
        self.root.children = [tag for tag in self.root.children if tag.children or tag.attributes]

    # ------------------------------------------------------------------------------------------------------- bodies

    def tree(self) -> None:
        """All bodies. Links without mass, shapes and frames that carry one other are joints of that one's body."""
        model = self.model
        used = {link for link, _ in self.frames.values()} | {i for pair in model.exclusions for i in pair}
        used |= set(model.loop_rows["a"].tolist()) | set(model.loop_rows["b"].tolist())
        held: dict[int, list[int]] = {}  # of a link: those before it that are joints of its body
        for i in range(model.n):
            row, before = model.links[i], held.pop(i, [])
            empty = not (row["mass"] or row["I"].any() or model.shapes[i] or i in used)
            small = row["kind"] not in (JointKind.FIXED, JointKind.FREE)
            if empty and small and len(self.children[i]) == 1 and self.follows(self.children[i][0], [*before, i]):
                held[self.children[i][0]] = [*before, i]
            else:
                self.body(i, [*before, i])

    def follows(self, link: int, before: list[int]) -> bool:
        """Whether a link's joint can be one of the same body as those before it: after a ball nothing else turns."""
        joints = [simple_joints(self.model, i) for i in (*before, link)]
        kinds = [joint.kind for each in joints for joint in each]
        ball = JointKind.SPHERICAL
        after = kinds[kinds.index(ball) + 1 :] if ball in kinds else []
        movable = int(self.model.links["nv"][[*before, link]].sum()) <= MOST_DOFS
        turns = {ball, JointKind.REVOLUTE} & {*after}
        return bool(joints[-1]) and movable and not turns and JointKind.FREE not in kinds

    def body(self, i: int, chain: list[int]) -> None:
        model = self.model
        name = model.names[i]
        outer, seen = self.tags[int(model.links[chain[0]]["parent"])]
        frame = model.frames[name][1] if name in model.frames else Pose()  # of the body, on its link
        pose = seen
        for k in chain:
            pose = pose @ at_pose(model.links[k])
        tag = outer.add("body", name=name, **_place(pose @ frame))
        self.tags[i], self.bodies[i] = (tag, frame.inverse()), name
        there = frame.inverse()  # from the body's frame to the link's, then to those before it
        places = {}
        for k in reversed(chain):
            places[k] = there
            there = there @ at_pose(model.links[k]).inverse()
        moving = False
        for k in chain:
            for joint in simple_joints(model, k):
                self.joint(tag, joint, places[k], k)
                moving = True
        self.inertial(tag, i, frame.inverse(), moving)
        self.shapes(tag, model.shapes[i], frame.inverse())

    def joint(self, tag: Tag, joint: SimpleJoint, place: Pose, link: int) -> None:
        model, dofs = self.model, joint.dofs
        single = joint.kind in (JointKind.REVOLUTE, JointKind.PRISMATIC)
        if joint.kind is JointKind.FREE and model.links[link]["parent"] >= 0:
            raise self.refused(f"joint {joint.name!r}", "only what hangs on the world is free there")
        values = {}
        for field in ("damping", "stiffness", "friction", "armature"):
            numbers = dofs[field]
            if (numbers != numbers[0]).any():
                raise self.refused(f"joint {joint.name!r}", f"its {field} must be the same in all directions")
            values[field] = float(numbers[0]) or None
        if joint.kind is JointKind.FREE and values["armature"]:
            raise self.refused(f"joint {joint.name!r}", "an armature does not turn with a free body there")
        lower, upper = float(dofs["lower"][0]), float(dofs["upper"][0])
        limits = None
        if np.isfinite(dofs["lower"]).any() or np.isfinite(dofs["upper"]).any():
            if not single:
                raise self.refused(f"joint {joint.name!r}", "limits of its rotation would be a cone there")
            limits = [max(lower, -UNBOUNDED_RANGE), min(upper, UNBOUNDED_RANGE)]
        effort = float(dofs["effort_limit"][0])
        if np.isfinite(dofs["velocity_limit"]).any():
            self.lost.add("limits of speed", joint.name)
        if not single and values["stiffness"] and model.links[link]["nq"] > 1:
            neutral = [0.0] * 3 + [1.0, 0.0, 0.0, 0.0]
            rest = model.rest[model.q_slice(link)]
            if np.abs(rest - neutral[-len(rest) :]).max() > 0.0:
                raise self.refused(f"joint {joint.name!r}", "its spring is not slack where the file draws it")
        free = joint.kind is JointKind.FREE
        tag.add(
            "joint", name=joint.name, type=TYPES[joint.kind], axis=place.rotation @ joint.axis if single else None,
            pos=None if free or not place.position.any() else place.position, range=limits,
            actuatorfrcrange=[-effort, effort] if single and math.isfinite(effort) else None,
            springref=joint.rest or None, frictionloss=values["friction"],
            damping=values["damping"], stiffness=values["stiffness"], armature=values["armature"],
        )  # fmt: skip

    def inertial(self, tag: Tag, i: int, seen: Pose, moving: bool) -> None:
        mass, com, matrix = moments_of(self.model.links[i])
        if mass == 0.0 and not matrix.any():
            if moving and self.welded_mass(i) < MUJOCO_SMALLEST_MASS:
                raise self.refused(f"link {self.model.names[i]!r}", "it moves without mass, which MuJoCo refuses")
            return
        moments, axes = np.linalg.eigh(0.5 * (matrix + matrix.T))
        if np.linalg.det(axes) < 0.0:
            axes[:, 2] *= -1.0
        low, middle, high = moments.tolist()
        if low + middle < high:  # by rounding it may be; MuJoCo has no patience with that
            if low + middle < high * (1.0 - 1e-6) - MUJOCO_SMALLEST_MASS:
                raise self.refused(f"link {self.model.names[i]!r}", f"no body has its moments of inertia {moments}")
            low = high - middle + max(MUJOCO_SMALLEST_MASS, 1e-15 * high)
        moments = np.maximum([low, middle, high], MUJOCO_SMALLEST_MASS)
        if np.abs(matrix - np.diag(np.diag(matrix))).max() == 0.0 and (np.diag(matrix) >= MUJOCO_SMALLEST_MASS).all():
            moments, axes = np.diag(matrix), np.eye(3)
        place = seen @ Pose.known(com, axes)
        tag.add(
            "inertial", pos=place.position, quat=quaternion_of(place.rotation), mass=max(mass, MUJOCO_SMALLEST_MASS),
            diaginertia=moments,
        )  # fmt: skip

    def welded_mass(self, i: int) -> float:
        """The mass of what hangs on a link without moving against it."""
        fixed = [c for c in self.children[i] if self.model.links[c]["kind"] == JointKind.FIXED]
        return sum(float(self.model.links[c]["mass"]) + self.welded_mass(c) for c in fixed)

    def site(self, name: str, link: int, pose: Pose) -> None:
        tag, seen = self.tags[link]
        tag.add("site", name=name, **_place(seen @ pose))

    # ------------------------------------------------------------------------------------------- shapes and contact

    def shapes(self, tag: Tag, shapes: tuple[Shape, ...], seen: Pose) -> None:
        for shape in map(shape_for_files, shapes):
            more = _place(seen @ shape.pose)
            contype, affinity = self.bits[shape.group, shape.mask] if shape.role is not Role.VISUAL else (0, 0)
            if shape.kind is ShapeKind.MESH and shape.path == ball_file():
                more |= {"type": "ellipsoid", "size": shape.size}
            elif shape.kind is ShapeKind.MESH:
                more |= {"type": "mesh", "mesh": self.mesh(shape)}
            else:
                half = [0.5 * s for s in shape.size]
                round_ = [shape.size[0], *half[1:]]
                more |= {"type": str(shape.kind), "size": half if shape.kind is ShapeKind.BOX else round_}
            tag.add(
                "geom", name=self.geom_name(shape.name), contype=contype, conaffinity=affinity,
                group=GROUPS[shape.role] or None, rgba=shape.colour, mass=0, **_friction(shape.material), **more,
            )  # fmt: skip
            if shape.material is not None and shape.material.restitution:
                self.lost.add("restitution", shape.name or "a shape")

    def geom_name(self, name: str) -> str | None:
        """As a shape is called; in MJCF no two geoms have one name, though what is seen and what collides often do."""
        return new_name(name, self.geoms) if name else None

    def mesh(self, shape: Shape) -> str:
        assert shape.path is not None
        key = (shape.path, shape.size)
        if key not in self.assets:
            file = self.meshes.name(shape.path)
            name = f"{Path(file).stem}:{len(self.assets)}"
            scale = None if shape.size == (1.0, 1.0, 1.0) else shape.size
            # a shell needs no volume, and masses are written with the bodies
            self.asset.add("mesh", name=name, file=file, scale=scale, inertia="shell")
            self.assets[key] = name
        return self.assets[key]

    def floors(self, world: Tag) -> None:
        for floor in self.model.floors:
            if floor.ground.kind is not GroundKind.HALF_SPACE:
                raise self.refused(f"floor {floor.name!r}", "only planes are written")
            header = floor.ground._header[0]
            pose = floor.pose
            if (header["normal"] != (0.0, 0.0, 1.0)).any() or header["offset"]:
                pose = pose @ _plane(header["normal"], float(header["offset"]))
            contype, affinity = self.bits[floor.group, floor.mask]
            world.add(
                "geom", name=self.geom_name(floor.name), type="plane", size=[0, 0, 1], contype=contype,
                conaffinity=affinity, rgba=floor.colour, **_friction(floor.material), **_place(pose),
            )  # fmt: skip

    def contact(self) -> None:
        contact = self.root.add("contact")
        for pair in self.model.pair_materials:
            m = pair.material
            friction = [m.friction, m.friction, m.torsional, m.rolling, m.rolling]
            contact.add(
                "pair", geom1=pair.a, geom2=pair.b, condim=m.directions, friction=friction, margin=m.margin or None
            )
        for a, b in self.model.exclusions:
            contact.add("exclude", body1=self.bodies[a], body2=self.bodies[b])

    # -------------------------------------------------------------------------------------------- loops and drives

    def equalities(self) -> None:
        equality, model = self.root.add("equality"), self.model
        for row, name in zip(model.loop_rows, model.loop_names, strict=True):
            kind = JointKind(int(row["kind"]))
            if row["passive"]:
                raise self.refused(f"loop {name!r}", "springs and dampers in a loop are not written")
            if kind not in (JointKind.FIXED, JointKind.SPHERICAL, JointKind.REVOLUTE):
                raise self.refused(f"loop {name!r}", f"there is no {kind.name.lower()} joint that closes a loop")
            sides = [Pose.known(row["p" + s], row["R" + s].reshape(3, 3)) for s in "ab"]
            points = [np.zeros(3)] if kind is not JointKind.REVOLUTE else [np.zeros(3), row["axis"]]
            for k, point in enumerate(points):  # a hinge is two points that are held, a metre apart
                held = name if k == 0 else f"{name}:axis"
                sites = [new_name(f"{held}:{side}", self.sites) for side in "ab"]
                for side, site, place in zip("ab", sites, sides, strict=True):
                    self.site(site, int(row[side]), place @ Pose(point))
                tag = "weld" if kind is JointKind.FIXED else "connect"
                equality.add(tag, name=held, site1=sites[0], site2=sites[1])
        for m in model.mimics:
            equality.add("joint", joint1=m.joint, joint2=m.source, polycoef=[m.offset, m.multiplier, 0, 0, 0])

    def actuators(self) -> None:
        section = self.root.add("actuator")
        for a in self.model.actuators:
            ranges = {
                f"{what}range": values if all(map(math.isfinite, values)) else None
                for what, values in (("ctrl", a.control), ("force", a.force))
            }
            for what, values in (("ctrl", a.control), ("force", a.force)):
                if ranges[f"{what}range"] is None and any(map(math.isfinite, values)):
                    ranges[f"{what}range"] = (max(values[0], -UNBOUNDED_RANGE), min(values[1], UNBOUNDED_RANGE))
            biased = "affine" if any(a.bias) else None
            section.add(
                "general", name=a.name, joint=a.joint, gear=a.gear, gainprm=a.gain, biastype=biased,
                biasprm=a.bias if biased else None, **ranges,
            )  # fmt: skip

    def keyframes(self) -> None:
        section, model = self.root.add("keyframe"), self.model
        if not model.keyframes:
            return
        several = {
            model.joint_names[i]: [j.name for j in simple_joints(model, i)]
            for i in range(model.n)
            if len(simple_joints(model, i)) > 1
        }
        to = convert.mujoco(model, names=several)
        for name, key in model.keyframes.items():
            q, v = to.q(key.state.q), to.v(key.state.q, key.state.v)
            control = key.control if any(key.control) else None
            section.add(
                "key", name=name, time=key.state.time or None, qpos=q, qvel=v if v.any() else None, ctrl=control
            )


def _place(pose: Pose) -> dict[str, Any]:
    turned = np.abs(pose.rotation - np.eye(3)).max() > 0.0
    moved = pose.position.any()
    return {"pos": pose.position if moved else None, "quat": quaternion_of(pose.rotation) if turned else None}


def _friction(material: Material | None) -> dict[str, Any]:
    if material is None:
        return {}
    return {
        "friction": [material.friction, material.torsional, material.rolling],
        "condim": material.directions if material.directions != 3 else None,
        "margin": material.margin or None,
        "priority": material.priority or None,
    }


def _plane(normal: Any, offset: float) -> Pose:
    from kinemorph.io.mjcf.document import from_z

    return Pose.known(normal * offset, from_z(normal.tolist()))


def _bits(model: Model) -> dict[tuple[int, int], tuple[int, int]]:
    """contype and conaffinity for each group and mask, so that the same shapes meet in MuJoCo: each has its own bit."""
    things: list[Shape | Floor] = [s for each in (model.base_shapes, *model.shapes) for s in each]
    sorts = list(dict.fromkeys((s.group, s.mask) for s in (*things, *model.floors)))
    if len(sorts) > 31:
        raise ValueError(f"model {model.name!r} has {len(sorts)} sorts of shapes by group and mask; MJCF has 31 bits")
    if len(sorts) == 1 and sorts[0][0] & sorts[0][1]:
        return {sorts[0]: (1, 1)}
    return {
        one: (1 << i, sum(1 << k for k, other in enumerate(sorts) if one[0] & other[1] and other[0] & one[1]))
        for i, one in enumerate(sorts)
    }

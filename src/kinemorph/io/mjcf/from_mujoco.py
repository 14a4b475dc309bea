"""A model from MuJoCo's compiled one, by its attributes: MuJoCo is not imported. `docs/mjcf.md` has the rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinemorph._xml import Element
from kinemorph.geometry.material import Material
from kinemorph.geometry.meshes.kept_mesh import ball_file, keep_mesh
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.io.file_models import clipped_colour
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.mjcf import mujoco_parts
from kinemorph.io.mjcf.mujoco_build import build, filters, role_of
from kinemorph.multibody.convert.mujoco_names import compiled_names, decode_names
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.equipment import NO_RANGE, Actuator, Floor, PairMaterial
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_first
from kinemorph.spatial.pose import Pose

# MuJoCo's numbers for kinds of things
JOINTS = (JointKind.FREE, JointKind.SPHERICAL, JointKind.PRISMATIC, JointKind.REVOLUTE)
PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(8)
CONNECT, WELD, JOINT = range(3)
OBJECT_BODY, OBJECT_SITE = 1, 6
ON_JOINT, IN_PARENT, ON_TENDON = 0, 1, 3
SAME_FRAME, SAME_ROTATION = 1, 3
# and for what is switched off
NO_CONSTRAINT, NO_EQUALITY, NO_FRICTION, NO_LIMIT, NO_CONTACT, NO_SPRING, NO_DAMPER, NO_GRAVITY = (
    1 << i for i in range(8)
)
NO_ACTUATION = 2048
GREY = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom that says nothing


@checked_first
def from_mujoco(
    peer: Any, *, name: str | None = None, merge_fixed: bool = True, ignore: Iterable[str] = (), strict: bool = False
) -> Model:
    """The model of a compiled `mujoco.MjModel`, read by its attributes. At zero it stands as its file draws it.

    `merge_fixed`: bodies without joints become part of their parent, and frames keep their names.
    `ignore`: kinds of things that are left out with a warning where else they would be an error, such as "tendon".
    `strict`: what else would be a `ModelWarning` is an error.
    `km.convert.mujoco(model, peer)` converts q, v, a and tau.
    """
    if not hasattr(peer, "nactuator"):
        raise TypeError(f"from_mujoco takes a mujoco.MjModel of MuJoCo 4, not {type(peer).__name__!r}")
    warned = FileWarnings(strict)
    parts = _Compiled(peer, name, mujoco_parts.Unsupported(ignore, warned, mujoco_parts.KINDS)).parts
    model = build(parts, merge_fixed, warned)
    warned.issue()
    return model


class Thing(Element):
    """A thing of a compiled model, as errors name it: there is no line, but a number."""

    __slots__ = ()

    def __str__(self) -> str:
        name = self.attributes.get("name")
        return f"{self.tag} {name!r}" if name else f"{self.tag} {self.line}"

    @property
    def place(self) -> str:
        return str(self)

    def says(self, message: str) -> str:
        return f"{self.source}: {self}: {message}"


class _Compiled:
    """Reads one compiled model, section by section."""

    def __init__(self, peer: Any, name: str | None, unsupported: mujoco_parts.Unsupported) -> None:
        self.peer, self.unsupported = peer, unsupported
        self.name = name or decode_names(peer.names, [0])[0] or "model"
        self.source = f"MjModel {self.name!r}"
        self.off = int(peer.opt.disableflags)
        self.bodies, self.joints = compiled_names(peer)
        self.geoms = decode_names(peer.names, peer.name_geomadr.tolist())
        self.sites = decode_names(peer.names, peer.name_siteadr.tolist())
        gravity = np.zeros(3) if self.off & NO_GRAVITY else np.array(peer.opt.gravity, dtype=np.float64)
        self.parts = mujoco_parts.Parts(self.thing("model", self.name, 0), self.name, gravity)
        self.refuse()
        self.read_bodies()
        self.read_joints()
        self.read_pairs()
        self.read_geoms()
        for i, site in enumerate(self.sites):
            if site:
                where, body = self.thing("site", site, i), int(peer.site_bodyid[i])
                self.parts.sites.append(mujoco_parts.SitePart(where, site, body, self.pose("site", i)))
        if not self.off & (NO_CONSTRAINT | NO_EQUALITY):
            for i, name in enumerate(decode_names(peer.names, peer.name_eqadr.tolist())):
                self.read_equality(i, name)
        if not self.off & NO_ACTUATION:
            for i, name in enumerate(decode_names(peer.names, peer.name_actuatoradr.tolist())):
                self.read_actuator(i, name or f"actuator{i}")
        for i, name in enumerate(decode_names(peer.names, peer.name_keyadr.tolist())):
            where = self.thing("key", name, i)
            driven = [int(peer.actuator_ctrladr[where.line]) for where, _ in self.parts.actuators]
            control = tuple(peer.key_ctrl[i][driven].tolist())
            qpos, qvel = np.array(peer.key_qpos[i]), np.array(peer.key_qvel[i])
            if not (name or qvel.any() or any(control) or peer.key_time[i]) and (qpos == peer.qpos0).all():
                continue  # an empty keyframe: `nkey` allots it, and the file does not define it
            key = mujoco_parts.KeyPart(where, name or f"key{i}", float(peer.key_time[i]), qpos, qvel, control)
            self.parts.keys.append(key)

    def thing(self, tag: str, name: str, number: int) -> Thing:
        return Thing(tag, {"name": name} if name else {}, self.source, number, None)

    def pose(self, what: str, i: int) -> Pose:
        peer = self.peer
        return Pose.quaternion(getattr(peer, f"{what}_quat")[i], np.array(getattr(peer, f"{what}_pos")[i]))

    def refuse(self) -> None:
        """Refuse the features that a model cannot have."""
        peer, found = self.peer, self.unsupported.found
        acts = [peer.tendon_stiffness, peer.tendon_damping, peer.tendon_frictionloss, peer.tendon_armature]
        for i, name in enumerate(decode_names(peer.names, peer.name_tendonadr.tolist())):
            where = self.thing("tendon", name, i)
            if peer.tendon_limited[i] or any(values[i] != 0.0 for values in acts):
                found("tendon", where, "tendons are not read")
            else:
                self.unsupported.warned.add("idle tendon", where, "it does nothing by itself, and is left out")
        for i, name in enumerate(decode_names(peer.names, peer.name_sensoradr.tolist())):
            self.unsupported.warned.add("sensor", self.thing("sensor", name, i), mujoco_parts.SENSOR)
        for i, name in enumerate(decode_names(peer.names, peer.name_flexadr.tolist())):
            found("flex", self.thing("flex", name, i), "bodies that bend are not read")
        for i, name in enumerate(decode_names(peer.names, peer.name_pluginadr.tolist())):
            found("plugin", self.thing("plugin", name, i), "plugins are not read")
        if peer.opt.density > 0.0 or peer.opt.viscosity > 0.0:
            found("fluid", self.parts.where, "the model is in a fluid, which does not act here")
        for i in np.flatnonzero(peer.body_gravcomp).tolist():
            found("gravcomp", self.thing("body", self.bodies[i], i), "its weight is compensated, which is not read")
        for i in np.flatnonzero(peer.body_mocapid >= 0).tolist():
            found("mocap", self.thing("body", self.bodies[i], i), "bodies that follow a recording are not read")

    # ------------------------------------------------------------------------------------------- bodies and joints

    def read_bodies(self) -> None:
        peer = self.peer
        for i, name in enumerate(self.bodies):
            parent = int(peer.body_parentid[i]) if i else -1
            body = mujoco_parts.BodyPart(self.thing("body", name, i), name, parent, self.pose("body", i))
            if i and peer.body_mass[i] > 0.0:
                at = self.inertial(i)
                moments = np.diag(peer.body_inertia[i]).astype(np.float64)
                body.inertia = Inertia.unchecked(float(peer.body_mass[i]), np.zeros(3), moments).moved(at)
                if fault := body.inertia.fault():
                    self.unsupported.warned.add("inertia", body.where, f"{fault}; it is used as it is")
            self.parts.bodies.append(body)

    def inertial(self, i: int) -> Pose:
        """The frame of a body's inertia, as MuJoCo computes with it: where it is the body's, up to rounding, it is."""
        same = int(self.peer.body_sameframe[i])
        position = np.zeros(3) if same == SAME_FRAME else np.array(self.peer.body_ipos[i])
        if same in (SAME_FRAME, SAME_ROTATION):
            return Pose(position)
        return Pose.quaternion(self.peer.body_iquat[i], position)

    def read_joints(self) -> None:
        peer, off, found = self.peer, self.off, self.unsupported.found
        for i, name in enumerate(self.joints):
            kind, at = JOINTS[peer.jnt_type[i]], int(peer.jnt_dofadr[i])
            where = self.thing("joint", name, i)
            nv = {JointKind.FREE: 6, JointKind.SPHERICAL: 3}.get(kind, 1)
            dofs = np.roll(np.arange(at, at + nv), 3 if nv == 6 else 0)  # MuJoCo has a free joint's position first
            single = nv == 1
            ref = float(peer.qpos0[peer.jnt_qposadr[i]]) if single else 0.0
            anchor = mujoco_parts.ORIGIN if kind is JointKind.FREE else np.array(peer.jnt_pos[i])
            joint = mujoco_parts.JointPart(where, name, kind, anchor, np.array(peer.jnt_axis[i]), ref)
            joint.stiffness = 0.0 if off & NO_SPRING else float(peer.jnt_stiffness[i])
            joint.damping = 0.0 if off & NO_DAMPER else self.number(peer.dof_damping[dofs], where, "damping")
            joint.armature = self.number(peer.dof_armature[dofs], where, "armature")
            if not off & (NO_CONSTRAINT | NO_FRICTION):
                joint.friction = self.number(peer.dof_frictionloss[dofs], where, "frictionloss")
            if single:
                joint.rest = float(peer.qpos_spring[peer.jnt_qposadr[i]]) - ref
            if (joint.stiffness and peer.jnt_stiffnesspoly[i].any()) or (
                joint.damping and peer.dof_dampingpoly[dofs].any()
            ):
                found("polynomial", where, "its spring or damper is not linear")
            if peer.jnt_springyield[i] > 0.0:
                found("plastic", where, "its spring yields for good")
            if kind is JointKind.FREE and joint.armature:
                found("armature", where, "a free joint with an armature has a mass that does not turn with the body")
                joint.armature = 0.0
            if peer.jnt_limited[i] and not off & (NO_CONSTRAINT | NO_LIMIT):
                if single:
                    low, high = map(float, peer.jnt_range[i])
                    joint.lower, joint.upper = mujoco_parts.range_ends(low, high, ref)
                else:
                    found("limit", where, "the limit of a ball joint is a cone, which is not read")
            if peer.jnt_actfrclimited[i] and single:
                low, high = peer.jnt_actfrcrange[i].tolist()
                if low == -high:
                    joint.effort_limit = high
                else:
                    found("limit", where, f"its drives are limited from {low:g} to {high:g}, not evenly")
            self.parts.bodies[int(peer.jnt_bodyid[i])].joints.append(joint)

    def number(self, values: Any, where: Element, what: str) -> float:
        if (values != values[0]).any():
            raise where.error(f"{what} {values.tolist()} is not the same for all degrees of freedom")
        return float(values[0])

    # ------------------------------------------------------------------------------------------- geoms and contact

    def read_pairs(self) -> None:
        peer, found = self.peer, self.unsupported.found
        for i in range(peer.nexclude):
            signature = int(peer.exclude_signature[i])
            self.parts.exclusions.append((signature >> 16, signature & 0xFFFF))
        for i in range(peer.npair):
            names = [self.geoms[int(geom[i])] for geom in (peer.pair_geom1, peer.pair_geom2)]
            friction = peer.pair_friction[i].tolist()
            where = self.thing("pair", "", i)
            if friction[0] != friction[1] or friction[3] != friction[4]:
                found("pair", where, f"its friction {friction} differs with direction")
            elif not all(names):
                found("pair", where, "it is of geoms without a name")
            else:
                material = Material(
                    friction[0], friction[2], friction[3],
                    directions=int(peer.pair_dim[i]), margin=float(peer.pair_margin[i]),
                )  # fmt: skip
                self.parts.pair_materials.append(PairMaterial(names[0], names[1], material))

    def read_geoms(self) -> None:
        peer, found = self.peer, self.unsupported.found
        bits = list(zip(peer.geom_contype.tolist(), peer.geom_conaffinity.tolist(), strict=True))
        sorts = filters(bits)
        paired = {name for pair in self.parts.pair_materials for name in (pair.a, pair.b)}
        for i, name in enumerate(self.geoms):
            where, kind = self.thing("geom", name, i), int(peer.geom_type[i])
            if peer.geom_surfacevel[i].any():
                found("surfacevel", where, "its surface moves, which is not read")
            if peer.geom_adhesion[i] != 0.0:
                found("adhesion", where, "it sticks, which is not read")
            slide, spin, roll = peer.geom_friction[i].tolist()
            material = Material(
                slide, spin, roll, directions=int(peer.geom_condim[i]), margin=float(peer.geom_margin[i]),
                priority=int(peer.geom_priority[i]),
            )  # fmt: skip
            role = role_of(*bits[i], int(peer.geom_group[i]), name in paired)
            group, mask = sorts[i] if not self.off & NO_CONTACT else (1, 0)
            colour = peer.geom_rgba[i].tolist()
            if peer.geom_matid[i] >= 0 and tuple(colour) == GREY:
                colour = peer.mat_rgba[peer.geom_matid[i]].tolist()
            more: dict[str, Any] = {"name": name, "colour": clipped_colour(colour)}
            touching: dict[str, Any] = {"material": material, "group": group, "mask": mask}
            pose, body = self.pose("geom", i), int(peer.geom_bodyid[i])
            if kind == PLANE:
                if role is not Role.VISUAL:
                    self.parts.floors.append(Floor(pose=self.in_world(body) @ pose, **touching, **more))
            elif kind in (HFIELD, MESH + 1):
                found("hfield" if kind == HFIELD else "sdf", where, "this kind of shape is not read")
            else:
                shape = self.shape(i, kind, pose, {**more, **touching, "role": role})
                self.parts.bodies[body].shapes.append(shape)

    def in_world(self, body: int) -> Pose:
        """Pose of a body that does not move."""
        pose = Pose()
        while body:
            pose = self.pose("body", body) @ pose
            body = int(self.peer.body_parentid[body])
        return pose

    def shape(self, i: int, kind: int, pose: Pose, more: dict[str, Any]) -> Shape:
        peer = self.peer
        size = peer.geom_size[i].tolist()
        if kind == SPHERE:
            return Shape.sphere(size[0], pose, **more)
        if kind == BOX:
            return Shape.box([2.0 * s for s in size], pose, **more)
        if kind in (CAPSULE, CYLINDER):
            return (Shape.capsule if kind == CAPSULE else Shape.cylinder)(size[0], 2.0 * size[1], pose, **more)
        if kind == ELLIPSOID:
            return Shape.mesh(ball_file(), size, pose, **more)
        mesh = int(peer.geom_dataid[i])
        first, count = int(peer.mesh_vertadr[mesh]), int(peer.mesh_vertnum[mesh])
        start, faces = int(peer.mesh_faceadr[mesh]), int(peer.mesh_facenum[mesh])
        path = keep_mesh(peer.mesh_vert[first : first + count], peer.mesh_face[start : start + faces])
        return Shape.mesh(path, (1.0, 1.0, 1.0), pose, **more)

    # ------------------------------------------------------------------------------------- equalities and actuators

    def read_equality(self, i: int, name: str) -> None:
        peer, found, parts = self.peer, self.unsupported.found, self.parts
        where, kind, data = self.thing("equality", name, i), int(peer.eq_type[i]), peer.eq_data[i]
        one, two, name = int(peer.eq_obj1id[i]), int(peer.eq_obj2id[i]), name or f"equality{i}"
        if not peer.eq_active0[i]:
            self.unsupported.warned.add("inactive", where, "it is not active, and left out")
        elif kind == JOINT:
            if data[2:5].any():
                found("equality", where, f"joints can follow in proportion, not by the polynomial {data[:5].tolist()}")
                return
            first, source = self.joints[one], self.joints[two] if two >= 0 else None
            slope, offset = (float(data[1]), float(data[0])) if source is not None else (0.0, float(data[0]))
            parts.couplings.append(mujoco_parts.CouplingPart(where, name, first, source, slope, offset))
        elif kind not in (CONNECT, WELD):
            found("equality", where, "only connect, weld and joint are read")
        elif int(peer.eq_objtype[i]) == OBJECT_SITE:
            a, b = (int(peer.site_bodyid[site]) for site in (one, two))
            at_a, at_b = self.pose("site", one), self.pose("site", two)
            held = JointKind.SPHERICAL if kind == CONNECT else JointKind.FIXED
            parts.loops.append(mujoco_parts.LoopPart(where, name, a, b, held, at_a, at_b))
        elif kind == CONNECT:
            at_a, at_b = Pose(np.array(data[:3])), Pose(np.array(data[3:6]))
            parts.loops.append(mujoco_parts.LoopPart(where, name, one, two, JointKind.SPHERICAL, at_a, at_b))
        else:  # a weld's point is first given on body 2, then on body 1
            at_a, at_b = Pose.quaternion(data[6:10], np.array(data[3:6])), Pose(np.array(data[:3]))
            held = JointKind.FIXED if data[10] > 0.0 else JointKind.SPHERICAL
            parts.loops.append(mujoco_parts.LoopPart(where, name, one, two, held, at_a, at_b))

    def read_actuator(self, i: int, name: str) -> None:
        peer, found = self.peer, self.unsupported.found
        where = self.thing("actuator", name, i)
        target = int(peer.actuator_trntype[i])
        if target == ON_TENDON:
            found("tendon", where, "it drives a tendon")
            return
        if target not in (ON_JOINT, IN_PARENT):
            found("actuator", where, "only actuators of joints are read")
            return
        joint = self.joints[int(peer.actuator_trnid[i][0])]
        kind = JOINTS[peer.jnt_type[int(peer.actuator_trnid[i][0])]]
        plain = peer.actuator_gaintype[i] == 0 and peer.actuator_biastype[i] in (0, 1)
        out = int(peer.actuator_outadr[i])
        gear, single = peer.actuator_gear[out].tolist(), kind not in (JointKind.FREE, JointKind.SPHERICAL)
        bias = tuple(peer.actuator_biasprm[i][:3].tolist()) if peer.actuator_biastype[i] == 1 else (0.0, 0.0, 0.0)
        if peer.actuator_dyntype[i] != 0 or peer.actuator_delay[i] != 0.0:
            found("actuator", where, "its force lags behind its control, which is not read")
        elif not plain or peer.actuator_ctrlnum[i] != 1:
            found("actuator", where, "only motors and linear servos are read")
        elif peer.actuator_armature[i] != 0.0 or peer.actuator_damping[i] != 0.0 or peer.actuator_dampingpoly[i].any():
            found("actuator", where, "an armature or a damping of its own is not read; give it to the joint")
        elif kind is JointKind.FREE or (not single and (any(bias) or target == IN_PARENT)):
            found("actuator", where, f"of a {'free' if kind is JointKind.FREE else 'ball'} joint this is not read")
        else:
            ref = float(peer.qpos0[peer.jnt_qposadr[peer.actuator_trnid[i][0]]]) if single else 0.0
            bias = (bias[0] + bias[1] * gear[0] * ref, bias[1], bias[2])
            control = int(peer.actuator_ctrladr[i])
            ranges = [
                mujoco_parts.range_ends(float(values[0]), float(values[1])) if limited else NO_RANGE
                for limited, values in (
                    (peer.actuator_ctrllimited[control], peer.actuator_ctrlrange[control]),
                    (peer.actuator_forcelimited[i], peer.actuator_forcerange[i]),
                )
            ]
            gain = float(peer.actuator_gainprm[i][0])
            gears = (gear[0],) if single else tuple(gear[:3])
            self.parts.actuators.append((where, Actuator(name, joint, gain, bias, gears, ranges[0], ranges[1])))

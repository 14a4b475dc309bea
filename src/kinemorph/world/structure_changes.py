"""Structure changes of a world: adding and removing bodies, figures and ground, joining, cutting, re-rooting."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.collision.shapes.shape_rows import POSE, STATIC_CARRIER
from kinemorph.collision.shapes.shape_table import NO_BODIES, SHAPE_ROW_MASK, Mount, Mounts, Solid, make_mounts
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.ground import Ground, HalfSpace
from kinemorph.geometry.material import ALL_GROUPS_MASK, Material
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.multibody.checks import checked_copies
from kinemorph.multibody.model.elements import ForceElement
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_text, repr_of
from kinemorph.spatial.pose import Pose, vector
from kinemorph.spatial.products import times
from kinemorph.structure.add import placed_model
from kinemorph.structure.forest.forest import Edit
from kinemorph.structure.forest.layout import BODIES, IN_USE
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world import spawn
from kinemorph.world.argument_checks import a_material, place_at, refuse
from kinemorph.world.body import Body, Figure
from kinemorph.world.control.joint_drives import fit_actuators
from kinemorph.world.control.surfaces import laid
from kinemorph.world.figures import homes_of, is_left, record_of
from kinemorph.world.free_root import FreeRoot
from kinemorph.world.ids import JointId, ShapeId
from kinemorph.world.initial_overlap import let_nested_pass
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

Array = np.ndarray[Any, np.dtype[np.float64]]


@cache
def _plane() -> Mounts:
    """The plane z = 0, on which most worlds stand."""
    return make_mounts([(HalfSpace(), -1, None, 1, ALL_GROUPS_MASK)])


@checked_on_failure
class StructureChanges(Part):
    """`world.structure`: bodies, figures and ground come and go, joints are made and cut, trees are re-rooted."""

    __slots__ = ()

    # ------------------------------------------------------------------------------------------------ coming and going

    @an_input
    def add_ground(self, ground: Ground | Shape | None = None, material: Material | None = None) -> int:
        """Ground that never moves: the plane z = 0 if nothing is given, or a shape that stands. Returns its id."""
        world = self.world
        if material is not None:
            a_material("add_ground", material)
        if isinstance(ground, Shape):
            mounts = make_mounts([(ground, -1, None, ground.group, ground.mask)])
            material = ground.material or material
        else:
            mounts = _plane() if ground is None else make_mounts([(ground, -1, None, 1, ALL_GROUPS_MASK)])
        return ShapeId.of(world, self._add_shapes(mounts, [material or world.material])[0])

    @an_input
    def remove_ground(self, ground: int) -> None:
        """Ground that `add_ground` has made is gone. What touched it wakes."""
        world = self.world
        row = world._shape_row(ground)
        if int(world.shapes.rows["link"][row]) >= 0:
            raise ValueError(f"remove_ground: shape {ground} is on a body; remove that")
        world.sleep._wake(*world.sleep._touching(row))
        world.registry.mounted[-1].remove(int(ground))
        world.shapes.remove(int(ground))

    @an_input
    def add(
        self,
        what: Model | Shape | Parts | Polyhedron,
        at: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        *,
        twist: Iterable[float] | None = None,
        density: float | None = None,
        mass: float | None = None,
        material: Material | None = None,
        q: npt.ArrayLike | None = None,
        v: npt.ArrayLike | None = None,
        name: str = "",
    ) -> Any:
        """A free body of one shape, or all of a model. Returns a `Body`, or a `Figure`.

        A shape has a density (kg/m³) or a mass (kg), and is as dense as water if neither is given; it may also be
        convex `Parts`, or a `Polyhedron`.
        A figure has the name of its model if it gets no other: `world.figure(name)` is its handle at any time.
        `at` is where its own frame stands, or the base of a model with its floors, in the world; with `twist` (angular,
        linear, world axes) a body moves. A model may come in a state q, v instead; if it floats, `at` is before q. A
        loop that is open by less than a millimetre is closed; one that is open farther is refused, see
        `kinemorph.close`.
        """
        pose = place_at("add: at", at)
        check_text("add: name", name)
        if material is not None:
            a_material("add", material)
        if not isinstance(what, Model):
            if not isinstance(what, Shape | Parts | Polyhedron):
                raise TypeError(f"add: it takes a kinemorph.Shape, Parts or a kinemorph.Model, not {repr_of(what)}")
            refuse("add", "a model; a shape is where `at` says, and moves by `twist`", q=q, v=v)
            model = spawn.free_body(what, density, mass, name or "body")
            w = vector((0.0,) * 6 if twist is None else twist, 6, "add: twist")
            rates = np.r_[times(pose.rotation.T, w[:3]), times(pose.rotation.T, w[3:])]
            solid = None if isinstance(what, Shape) else what
            return next(iter(self._plant(model, spawn.free_position(pose), rates, material, "", solid)))
        refuse("add", "a shape; a model has masses, and moves by `v`", twist=twist, density=density, mass=mass)
        start = neutral(what) if q is None else checked_copies(what, q=q)[0]
        if spawn.floats(what) and not spawn.base_moves(what, pose):
            root = FreeRoot.of_link(what.links[0])
            start[:7] = root.position(pose @ root.pose(start))
        else:
            what = spawn.on_one_stand(placed_model(what, pose))
        return self._plant(what, start, v, material, name or what.name or "figure")

    def _plant(
        self, model: Model, q: Any, v: Any, material: Material | None, name: str, solid: Solid | None = None
    ) -> Figure:  # fmt: skip
        """All of a model, as a figure of a name; without a name no figure is registered.

        A `solid` that no model has is fixed to its first link.
        """
        world, registry = self.world, self.world.registry
        spawn.warn_idle(model)
        if model.m:
            q, v = spawn.closed_state(model, q, v)
        planted = world.forest.add(model, q, v)
        world.sleep._begin_trees(planted.trees.tolist())
        bodies, equipment = planted.bodies.tolist(), model.catalog.equipment
        births = range(registry.last_birth + 1, registry.last_birth + 1 + model.n)
        known = list(zip(model.names, bodies, births, strict=True))
        registry.body_names.update(zip(bodies, model.names, strict=True))
        registry.births.update(zip(bodies, births, strict=True))
        registry.last_birth += model.n
        mounts, materials = self._mounts_of(model, bodies, material or world.material, solid)
        prepared = mounts is model.mounts
        shapes = self._add_shapes(mounts, materials, planted.bodies if prepared else NO_BODIES)
        self._place_shapes(planted.bodies)
        for a, b in model.exclusions if equipment.exclusions else ():
            for one, other in product(
                *(registry.mounted.get(bodies[i] & ID_INDEX_MASK if i >= 0 else -1, []) for i in (a, b))
            ):
                world.collisions.ignore(one, other)
        joints, loops = planted.joints.tolist(), planted.loops.tolist()
        jointed = list(zip(model.joint_names, joints, strict=True))
        if loops:
            jointed += zip(model.loop_names, loops, strict=True)
        registry.joint_names.update((joint, called) for called, joint in jointed)
        for loop in loops:
            self._exclude_loop_sides(loop)
        if not prepared:  # else it is known already
            self._carry(bodies, model.parents, model.links["mass"].tolist())
        world._follow_tables()
        world._monitors.follow()
        if (model.n > 2 or model.base_shapes) and not equipment.apart:
            let_nested_pass(world, model, shapes)
        if equipment.pair_materials:
            solids = mounts.solids[: len(mounts.solids) - len(equipment.floors)]
            called_so = [getattr(solid, "name", "") for solid in solids]
            called_so += [floor.name for floor in equipment.floors]
            named = dict(zip(reversed(called_so), reversed(shapes), strict=True))  # the first of a name
            spawn.tell(model, "materials of pairs", world.surfaces._set_pairs_by_name(model, named))
        homes = homes_of(model) if name else []
        figure = Figure(world, name, model, known, dict(jointed), fit_actuators(world, model, joints), homes)
        if name and known:
            first = known[0][2]
            registry.figure_records[first] = record_of(name, known, jointed, figure.control, homes)
            registry.models[first] = model
        return figure

    def _mounts_of(
        self, model: Model, bodies: list[int], usual: Material, solid: Solid | None
    ) -> tuple[Mounts, list[Material]]:
        """The shapes of a model on its bodies, and what they are made of, or all of them; a `solid` is on the first."""
        if model.mounts is not None and solid is None:
            return model.mounts, [usual]
        on = [
            (body & ID_INDEX_MASK, shape)
            for body, shapes in zip(bodies, model._own_shapes, strict=True)
            for shape in shapes
        ]
        on += [(-1, shape) for shape in model.base_shapes]
        mounts: list[Mount] = [(s, body, None, s.group, s.mask) for body, s in on if s.role is not Role.VISUAL]
        materials = [s.material or usual for _, s in on if s.role is not Role.VISUAL]
        if solid is not None:
            mounts.append((solid, bodies[0] & ID_INDEX_MASK, None, 1, ALL_GROUPS_MASK))
            materials.append(usual)
        for floor in model.catalog.equipment.floors:
            mounts.append((floor.ground, -1, floor.pose, floor.group, floor.mask))
            materials.append(floor.material or usual)
        return make_mounts(mounts), materials

    def _place_shapes(self, bodies: Any) -> None:
        """Have the shapes of new bodies where these are before anything looks for pairs of them."""
        world = self.world
        poses = np.zeros(int(world.forest.header["body_room"]) + 1, POSE)
        world.forest.fill_poses(bodies, poses)
        world.collisions.lend(poses)

    def _add_shapes(self, mounts: Mounts, materials: list[Material], bodies: Any = NO_BODIES) -> list[int]:
        """Fix shapes to bodies; of these materials, or all of the one."""
        world = self.world
        if not mounts.owners:
            return []
        written = world.shapes.write(mounts, bodies)
        world._follow_tables()
        ids, rows = [], []
        for id, link in written.tolist():
            world.registry.mounted.setdefault(link, []).append(id)
            ids.append(id)
            rows.append(id & SHAPE_ROW_MASK)
        if world.solver.header["pair_material_count"][0]:
            for row in rows:
                world.surfaces._forget_pairs(row)
        world.surfaces._write_materials(written, laid(materials))
        world._header[0]["fresh"] = 1
        world._newcomers += rows
        return ids

    @an_input
    def remove(self, body: Body | int) -> Edit:
        """A body and all that it carries is gone, with the joints on it. What rested on them wakes."""
        world, sleep, registry = self.world, self.world.sleep, self.world.registry
        before = world.forest.members(world.forest.tree_of(world._id(body))).tolist()
        sleep._wake(*before, *sleep._neighbours(before))
        change = world.forest.remove(world._id(body))
        sleep._forget_wakers()
        for member in before:
            slot = world.forest._tables[BODIES][member & ID_INDEX_MASK]
            if slot["next"] != IN_USE or slot["generation"] != member >> 32:
                for shape in registry.mounted.pop(member & ID_INDEX_MASK, []):
                    world.shapes.remove(shape)
                del registry.body_names[member], registry.births[member]
        if registry.loop_exclusions:
            there = set(world.forest.joints.tolist())
            registry.loop_exclusions = {
                joint: pairs for joint, pairs in registry.loop_exclusions.items() if joint in there
            }
        registry.figure_records = {
            key: one for key, one in registry.figure_records.items() if is_left(one, registry.births)
        }
        world._monitors.follow()
        return self._of_here(change)

    # ------------------------------------------------------------------------------------------------------- structure

    @an_input
    def connect(
        self, a: Body | int | None, b: Body | int, joint: Joint, at: Pose | Iterable[float] | None = None,
        how: str = "auto",
    ) -> Edit:  # fmt: skip
        """Join body b to body a (None: the world), where both are now, by a joint at `at` in the world.

        Without `at` it is where b is. Between bodies of one tree the joint closes a loop; else it carries the one that
        floats, unless `how` is "loop". Velocities jump so that it holds; the contacts of the next step see that jump.
        If the joint has a name, `world.joint_id` knows it by that until it is cut.
        """
        world, sleep = self.world, self.world.sleep
        first, second = -1 if a is None else world._id(a), world._id(b)
        place = world.forest.pose(second) if at is None else place_at("connect: at", at)
        both = [body for body in (first, second) if body >= 0]
        with sleep._waking(*both, *sleep._neighbours(both)):
            change = world.forest.connect(first, second, joint, place, how)
        if joint.name:
            world.registry.joint_names[change.joint] = joint.name
        if change.closes:
            self._exclude_loop_sides(change.joint)
        self._follow_structure([world.forest.tree_of(body) for body in both])
        sleep._wake(*both)
        sleep._forget_wakers()
        return self._of_here(change)

    @an_input
    def tie(self, element: ForceElement, a: Body | int | None, b: Body | int | None) -> None:
        """A spring, damper or bushing between two bodies (None: the world) until one of them is gone.

        Its places are in the bodies' own frames; what it calls its links does not count here.
        """
        world = self.world
        if not isinstance(element, ForceElement):
            raise TypeError(f"world: tie takes a kinemorph.ForceElement, not {repr_of(element)}")
        ids = [-1 if body is None else world._id(body) for body in (a, b)]
        if ids[0] == ids[1]:
            raise ValueError("world: tie takes two bodies, or a body and the world")
        with world.sleep._waking(*(id for id in ids if id >= 0)):
            world.forest.tie(element, *ids)
        world._follow_tables()

    @an_input
    def cut(self, joint: Edit | int | str) -> Edit:
        """Cut a joint, of a tree or of a loop: the one that `connect` made, or one by its id or its name."""
        world, sleep = self.world, self.world.sleep
        id = world.joint_id(joint)
        sides = world.forest.sides(id)
        whole, others = world.forest.tree_of(sides[0]), world.forest.trees
        with sleep._waking(*sides, *sleep._neighbours(sides)):
            change = world.forest.cut(id)
        if not world.forest.has_joint(id):
            world.registry.joint_names.pop(id, None)
        for one, other in world.registry.loop_exclusions.pop(id, []):
            world.collisions.heed(one, other)
        parts = [world.forest.tree_of(body) for body in sides]
        self._follow_structure(parts)
        sleep._wake(*sides)
        sleep._inherit_waker(whole, set(parts).difference(others.tolist()))
        return self._of_here(change)

    @an_input
    def reroot(self, body: Body | int, joint: Joint | None = None, at: Pose | Iterable[float] | None = None) -> Edit:
        """Make a body the top of its tree, carried by a new joint on the base, free if none is given. Nothing moves.

        The joint that carried the old top is gone: a tree that the base held floats from then on, if no joint is given.
        """
        world = self.world
        place = None if at is None else place_at("reroot: at", at)
        change = world.forest.reroot(world._id(body), joint, place)
        self._follow_structure([world.forest.tree_of(world._id(body))])
        return self._of_here(change)

    def _of_here(self, change: Edit) -> Edit:
        """What an edit did, with a joint id that other worlds refuse."""
        return change._replace(joint=JointId.of(self.world, change.joint)) if change.joint >= 0 else change

    def _exclude_loop_sides(self, loop: int) -> None:
        """Bodies that the joint of a loop ties do not meet, as those in a tree do not, until it is cut."""
        world = self.world
        sides = [body & ID_INDEX_MASK for body in world.forest.sides(loop)]
        if len(sides) == 2:
            ignored = world.collisions.broad_phase.ignored
            pairs = product(*(world.registry.mounted.get(side, []) for side in sides))
            fresh = [(a, b) for a, b in pairs if not ignored(world.shapes.row_of(a), world.shapes.row_of(b))]
            for a, b in fresh:
                world.collisions.ignore(a, b)
            world.registry.loop_exclusions[loop] = fresh

    def _follow_structure(self, trees: list[int]) -> None:
        """Which body carries which: neighbours in a tree do not meet, nor those with but massless links in between."""
        world = self.world
        for tree in set(trees):
            links = world.forest._links(tree & ID_INDEX_MASK)
            self._carry(*(links[name].tolist() for name in ("body", "parent", "mass")))
        world._follow_tables()
        world._monitors.follow()

    def _carry(self, bodies: list[int], parents: Sequence[int], masses: list[float]) -> None:
        """Say of the shapes of links which body carries them. Bodies may be ids, or indices."""
        world = self.world
        carriers, mounted = world.shapes.rows["carrier"], world.registry.mounted
        for body, k in zip(bodies, parents, strict=True):
            shapes = mounted.get(body & ID_INDEX_MASK)
            if not shapes:
                continue
            while k >= 0 and masses[k] == 0.0 and bodies[k] & ID_INDEX_MASK not in mounted:  # it is a part of a joint
                k = parents[k]
            for shape in shapes:
                carriers[shape & SHAPE_ROW_MASK] = bodies[k] & ID_INDEX_MASK if k >= 0 else STATIC_CARRIER

"""Queries of a world: contacts, energy, momentum, rays, overlaps, states of all bodies, and statistics of steps."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph.collision.shapes.shape_table import Solid
from kinemorph.constraint.energy import Energy
from kinemorph.geometry.material import ALL_GROUPS_MASK
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.pose import Pose, vector
from kinemorph.structure.forest.forest import Edit
from kinemorph.structure.forest.layout import BODIES, JOINTS
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.argument_checks import place_at
from kinemorph.world.body import Body, Figure
from kinemorph.world.ids import ShapeId
from kinemorph.world.part import Part
from kinemorph.world.queries.body_states import BodyStates, read_states
from kinemorph.world.queries.contact_record import ContactPoint
from kinemorph.world.queries.rays import RayCaster, RayHit
from kinemorph.world.queries.statistics import Statistics, profile, statistics
from kinemorph.world.queries.tree_rows import TreeRows, joints_of, loop_points, rows_of_trees

Array = np.ndarray[Any, np.dtype[np.float64]]
NONE = np.zeros(3)
ORIGIN = (0.0, 0.0, 0.0)


@checked_on_failure
class Queries(Part):
    """`world.queries`: what can be computed of a world without changing it."""

    __slots__ = ()

    def contacts(self, body: Body | int | None = None) -> list[ContactPoint]:
        """The points where bodies touched in the last step, or those of one body, as it sees them."""
        world = self.world
        world._check_thread()
        wanted = None if body is None else world._id(body)
        found = []
        rows, pairs, lasting = world.collisions.contacts, world.collisions.pairs, world.collisions.lasting
        torsions, margin = self._contact_moments(), float(world.collisions.header["margin"][0])
        for contact, push in self._contact_impulses().items():
            k = rows[contact]
            pair = pairs[k["pair"]]
            if not lasting[k["pair"]]:
                continue  # one of them was removed since
            if k["distance"] > margin and not push.any():
                continue  # it was looked at ahead of time, and nothing came of it
            a, b = (world._body_at(int(world.shapes.rows["link"][pair[side]])) for side in "ab")
            shapes = tuple(ShapeId.of(world, world.shapes.id_at(int(pair[side]))) for side in "ab")
            point = 0.5 * (k["x1"] + k["x2"])
            sign = 1.0
            if wanted is not None and (b is None or b.id != wanted):
                if a is None or a.id != wanted:
                    continue
                a, b, sign, shapes = b, a, -1.0, shapes[::-1]
            if wanted is None and b is None:
                a, b, sign, shapes = b, a, -1.0, shapes[::-1]
            impulse, moment = sign * push, sign * torsions.get(contact, NONE) / world.dt
            normal, distance = sign * k["normal"], float(k["distance"])
            found.append(
                ContactPoint(b, a, shapes[1], shapes[0], point, normal, distance, impulse / world.dt, impulse, moment)
            )  # fmt: skip
        return found

    def _contact_impulses(self) -> dict[int, Array]:
        """Impulses of a step on shape b, by contact: of those that were solved, and of those that sleep, as before."""
        found = self._contact_vectors("impulses", [(t, t) for t in self.world.solver.contact_constraints])
        return dict(sorted(found.items()))

    def _contact_moments(self) -> dict[int, Array]:
        """Moments of a step on shape b (N m s), by contact, likewise."""
        solver = self.world.solver
        if not solver.header[0]["moments_valid"]:
            return {}
        return self._contact_vectors(
            "moments", [(r, solver.contact_constraints[r["contact_constraint"]]) for r in solver.torsional_constraints]
        )

    def _contact_vectors(self, table: str, solved: list[tuple[Any, Any]]) -> dict[int, Array]:
        """What a table keeps of the contacts, and the totals of rows that were solved, each with its contact's row."""
        world = self.world
        h = world.solver.header[0]
        count, half = int(world.collisions.header["n_contacts"][0]), int(h["impulse_room"]) // 2
        now = half * (int(world.collisions.header["step"][0]) & 1)
        kept = int(h["substeps"]) * world.solver[table].reshape(-1, 3)[now : now + count]
        found = {k: kept[k] for k in np.flatnonzero(kept.any(axis=1)).tolist()}
        for r, t in solved:
            p = r["total_normal_impulse"] * t["normal"] + r["total_tangent_impulse1"] * t["tangent1"]
            found[int(t["contact"])] = p + r["total_tangent_impulse2"] * t["tangent2"]
        return found

    def states(self, into: BodyStates | None = None) -> BodyStates:
        """Ids, positions, rotations and twists of all bodies now, as arrays, from one call of a kernel.

        `into` is what an earlier call has returned: its memory is written again if the number of bodies is the same.
        """
        return read_states(self.world, into)

    def trees(self) -> list[TreeRows]:
        """The rows of all trees: joints, links and where these are now. For drawing and analysis."""
        self.world._check_thread()
        return rows_of_trees(self.world.forest, self.world.forest.trees.tolist())

    def tree_of(self, body: Body | int) -> TreeRows:
        """The rows of the tree of a body, likewise."""
        forest = self.world.forest
        return rows_of_trees(forest, [forest.tree_of(self.world._id(body))])[0]

    def joints_of(self, body: Body | int) -> list[int]:
        """Ids of the joint that carries a body, unless it floats, and of those of loops on it."""
        return joints_of(self.world.forest, self.world._id(body))

    def loop_points(self, joint: Edit | int | str) -> tuple[Array, Array]:
        """m, the two points in the world that the joint of a loop holds together."""
        return loop_points(self.world.forest, self.world.joint_id(joint))

    def loop_force(self, joint: Edit | int | str) -> Array:
        """What the joint of a loop bore in the last step, on the body that was joined: moment and force (6) at the
        joint, world axes, the mean of the step."""
        world = self.world
        id = world.joint_id(joint)
        loop = int(world.forest._tables[JOINTS][world.forest._find(JOINTS, id, "joint")]["loop"])
        if loop < 0:
            raise ValueError(f"world: joint {id} closes no loop; what a joint of a tree bears is not known here")
        wrench: Array = world.solver["wrenches"][6 * loop : 6 * loop + 6].copy()
        return wrench

    def energy(self, what: Body | Figure | int | None = None) -> Energy:
        """Kinetic, potential and elastic energy (J) of all bodies, or of a body or a figure; and their `total`.

        Gravity's is zero at the world's origin. A spring counts if all that it is between is meant, or is the world.
        """
        return self.world.forest.energy(self._members(what))

    def momentum(self, what: Body | Figure | int | None = None, about: Iterable[float] | str = ORIGIN) -> Array:
        """Angular and linear momentum (6: N m s, N s) of all bodies, or of a body or a figure, world axes.

        The angular part is about a point of the world, or about the centre of mass: "com".
        """
        sums = self.world.forest.sums(self._members(what))
        if isinstance(about, str):
            if about != "com":
                raise ValueError(f"momentum: about is {about!r}, and must be a point or 'com'")
            if not sums["mass"] > 0.0:
                raise ValueError("momentum: what has no mass has no centre of mass")
        o = sums["moment"] / sums["mass"] if isinstance(about, str) else vector(about, 3, "momentum: about")
        return np.concatenate([sums["angular"] - np.cross(o, sums["linear"]), sums["linear"]])

    def centre_of_mass(self, body: Body | int) -> Array:
        """m, where the centre of mass of a body is in the world; without mass, the origin of its link."""
        return self._centre(self.world._id(body))

    def _centre(self, id: int) -> Array:
        forest = self.world.forest
        slot = forest._tables[BODIES][id & ID_INDEX_MASK]
        l = forest._links(int(slot["tree"]))[slot["link"]]
        on_link = Pose.known(slot["p"], slot["R"].reshape(3, 3))
        link = forest.pose(id) @ on_link.inverse()
        com: Array = link.apply(l["h"] / l["mass"] if l["mass"] > 0.0 else l["h"])
        return com

    def link_of(self, body: Body | int) -> Any:
        """The LINK row of a body: its joint, mass and inertia; see `kinemorph.multibody.layout`."""
        forest = self.world.forest
        slot = forest._tables[BODIES][self.world._id(body) & ID_INDEX_MASK]
        return forest._links(int(slot["tree"]))[slot["link"]]

    def link_frame(self, body: Body | int) -> Pose:
        """The own frame of a body in the frame of its link: another one once its tree was re-rooted."""
        slot = self.world.forest._tables[BODIES][self.world._id(body) & ID_INDEX_MASK]
        return Pose.known(slot["p"].copy(), slot["R"].reshape(3, 3).copy())

    def _members(self, what: Body | Figure | int | None) -> list[int] | None:
        """The ids of a body, or of all bodies of a figure that are there."""
        world = self.world
        world._check_thread()
        if what is None:
            return None
        if not isinstance(what, Figure):
            return [world._id(what)]
        if what.world is not world:
            raise ValueError(f"{what!r} is of another world; world.figure(name) is its own")
        return [body.id for body in what if body.alive]

    # ------------------------------------------------------------------------------------------------------------ rays

    def cast_ray(
        self,
        origin: Iterable[float],
        direction: Iterable[float],
        longest: float = math.inf,
        *,
        mask: int = ALL_GROUPS_MASK,
        but: Body | int | None = None,
    ) -> RayHit | None:
        """What a ray meets first, now; None if nothing is nearer than `longest` metres.

        The ray hits shapes with a group in the mask, and passes the body `but`, such as the one it starts in.
        """
        world = self.world
        return RayCaster(world).first(origin, direction, longest, mask, None if but is None else world._id(but))

    def cast_rays(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        longest: float = math.inf,
        *,
        mask: int = ALL_GROUPS_MASK,
        but: Body | int | None = None,
    ) -> tuple[Array, Array, list[Body | None]]:
        """The same for many rays (n x 3): distances, inf where nothing is met, normals (n x 3), and bodies."""
        world = self.world
        t, normals, rows = RayCaster(world).cast(
            origins, directions, longest, mask, None if but is None else world._id(but)
        )
        links = world.shapes.rows["link"]
        return t, normals, [None if row < 0 else world._body_at(int(links[row])) for row in rows.tolist()]

    def overlaps(
        self, shape: Solid, at: Pose | Iterable[float] = (0.0, 0.0, 0.0), margin: float = 0.0, *,
        mask: int = ALL_GROUPS_MASK,
    ) -> list[Body | None]:  # fmt: skip
        """The bodies (None: the ground) that a shape at some place, which is not in the world, would overlap now.

        Or that are no farther from it than `margin` metres.
        """
        world = self.world
        ids = RayCaster(world).near(shape, place_at("overlaps: at", at), margin, mask)
        links = dict.fromkeys(world.shapes.link(id) for id in ids)
        return [world._body_at(link) for link in links]

    # ------------------------------------------------------------------------------------------------------ statistics

    @property
    def statistics(self) -> Statistics:
        """What the last step had to do."""
        return statistics(self.world)

    def profile(self, steps: int) -> Statistics:
        """Make so many steps, and say where the time went."""
        return profile(self.world, steps)

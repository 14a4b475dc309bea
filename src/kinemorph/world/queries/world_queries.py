"""What a world says when it is asked: contacts, rays, overlaps, and what its steps have to do."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kinemorph.collision.shapes.shape_table import ShapeTable, Solid
from kinemorph.constraint.energy import Energy
from kinemorph.geometry.material import EVERYTHING
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.pose import Pose, vector
from kinemorph.structure.forest.forest import Change, Forest
from kinemorph.structure.forest.layout import JOINTS
from kinemorph.world.argument_checks import place_at
from kinemorph.world.body import Body, Figure
from kinemorph.world.ids import ShapeId
from kinemorph.world.queries.contact_record import Touch
from kinemorph.world.queries.rays import Eyes, Sight
from kinemorph.world.queries.statistics import Statistics, measure, statistics

if TYPE_CHECKING:
    from kinemorph.collision.collisions import Collisions
    from kinemorph.contact.solver import Solver
    from kinemorph.world.world import World

Array = np.ndarray[Any, np.dtype[np.float64]]
NONE = np.zeros(3)
ORIGIN = (0.0, 0.0, 0.0)


@checked_on_failure
class Asking:
    """The part of a `World` that changes nothing."""

    forest: Forest
    collisions: Collisions
    shapes: ShapeTable
    solver: Solver
    _births: dict[int, int]

    if TYPE_CHECKING:

        @property
        def dt(self) -> float: ...
        @property
        def _world(self) -> World: ...
        def _id(self, body: Body | int) -> int: ...
        def _body_at(self, index: int) -> Body | None: ...

    def contacts(self, body: Body | int | None = None) -> list[Touch]:
        """The points where bodies touched in the last step, or those of one body, as it sees them."""
        self._world._alone()
        wanted = None if body is None else self._id(body)
        found = []
        rows, pairs, lasting = self.collisions.contacts, self.collisions.pairs, self.collisions.lasting
        twists, margin = self._twists(), float(self.collisions.header["margin"][0])
        for contact, push in self._pushes().items():
            k = rows[contact]
            pair = pairs[k["pair"]]
            if not lasting[k["pair"]]:
                continue  # one of them was removed since
            if k["distance"] > margin and not push.any():
                continue  # it was looked at ahead of time, and nothing came of it
            a, b = (self._body_at(int(self.shapes.rows["link"][pair[side]])) for side in "ab")
            shapes = tuple(ShapeId.of(self._world, self.shapes.id_at(int(pair[side]))) for side in "ab")
            point = 0.5 * (k["x1"] + k["x2"])
            sign = 1.0
            if wanted is not None and (b is None or b.id != wanted):
                if a is None or a.id != wanted:
                    continue
                a, b, sign, shapes = b, a, -1.0, shapes[::-1]
            if wanted is None and b is None:
                a, b, sign, shapes = b, a, -1.0, shapes[::-1]
            impulse, moment = sign * push, sign * twists.get(contact, NONE) / self.dt
            normal, distance = sign * k["normal"], float(k["distance"])
            found.append(
                Touch(b, a, shapes[1], shapes[0], point, normal, distance, impulse / self.dt, impulse, moment)
            )  # fmt: skip
        return found

    def _pushes(self) -> dict[int, Array]:
        """Impulses of a step on shape b, by contact: of those that were solved, and of those that sleep, as before."""
        h = self.solver.header[0]
        count, half = int(self.collisions.header["n_contacts"][0]), int(h["impulse_room"]) // 2
        now = half * (int(self.collisions.header["step"][0]) & 1)
        kept = int(h["substeps"]) * self.solver["impulses"].reshape(-1, 3)[now : now + count]
        found = {k: kept[k] for k in np.flatnonzero(kept.any(axis=1)).tolist()}
        for t in self.solver.touches:
            found[int(t["contact"])] = t["sum"] * t["normal"] + t["sum1"] * t["t1"] + t["sum2"] * t["t2"]
        return dict(sorted(found.items()))

    def _twists(self) -> dict[int, Array]:
        """Moments of a step on shape b (N m s), by contact, likewise."""
        h = self.solver.header[0]
        if not h["moments_kept"]:
            return {}
        count, half = int(self.collisions.header["n_contacts"][0]), int(h["impulse_room"]) // 2
        now = half * (int(self.collisions.header["step"][0]) & 1)
        kept = int(h["substeps"]) * self.solver["moments"].reshape(-1, 3)[now : now + count]
        found = {k: kept[k] for k in np.flatnonzero(kept.any(axis=1)).tolist()}
        for r in self.solver.twists:
            t = self.solver.touches[r["touch"]]
            found[int(t["contact"])] = r["sum"] * t["normal"] + r["sum1"] * t["t1"] + r["sum2"] * t["t2"]
        return found

    def loop_force(self, joint: Change | int | str) -> Array:
        """What the joint of a loop bore in the last step, on the body that was joined: moment and force (6) at the
        joint, world axes, the mean of the step."""
        id = self._world.joint_id(joint)
        loop = int(self.forest._tables[JOINTS][self.forest._find(JOINTS, id, "joint")]["loop"])
        if loop < 0:
            raise ValueError(f"world: joint {id} closes no loop; what a joint of a tree bears is not known here")
        wrench: Array = self.solver["wrenches"][6 * loop : 6 * loop + 6].copy()
        return wrench

    def energy(self, what: Body | Figure | int | None = None) -> Energy:
        """Kinetic, potential and elastic energy (J) of all bodies, or of a body or a figure; and their `total`.

        Gravity's is zero at the world's origin. A spring counts if all that it is between is meant, or is the world.
        """
        return self.forest.energy(self._members(what))

    def momentum(self, what: Body | Figure | int | None = None, about: Iterable[float] | str = ORIGIN) -> Array:
        """Angular and linear momentum (6: N m s, N s) of all bodies, or of a body or a figure, world axes.

        The angular part is about a point of the world, or about the centre of mass: "com".
        """
        sums = self.forest.sums(self._members(what))
        if isinstance(about, str):
            if about != "com":
                raise ValueError(f"momentum: about is {about!r}, and must be a point or 'com'")
            if not sums["mass"] > 0.0:
                raise ValueError("momentum: what has no mass has no centre of mass")
        o = sums["moment"] / sums["mass"] if isinstance(about, str) else vector(about, 3, "momentum: about")
        return np.concatenate([sums["angular"] - np.cross(o, sums["linear"]), sums["linear"]])

    def _members(self, what: Body | Figure | int | None) -> list[int] | None:
        """The ids of a body, or of all bodies of a figure that are there."""
        self._world._alone()
        if what is None:
            return None
        if not isinstance(what, Figure):
            return [self._id(what)]
        if what.world is not self:
            raise ValueError(f"{what!r} is of another world; world.figure(name) is its own")
        return [body.id for body in what if body.alive]

    # ------------------------------------------------------------------------------------------------------------ rays

    def cast(
        self,
        origin: Iterable[float],
        direction: Iterable[float],
        longest: float = math.inf,
        *,
        mask: int = EVERYTHING,
        but: Body | int | None = None,
    ) -> Sight | None:
        """What a ray meets first, now; None if nothing is nearer than `longest` metres.

        It sees what has a group in the mask, and does not see the body `but`, such as the one that looks.
        """
        return Eyes(self._world).first(origin, direction, longest, mask, None if but is None else self._id(but))

    def scan(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        longest: float = math.inf,
        *,
        mask: int = EVERYTHING,
        but: Body | int | None = None,
    ) -> tuple[Array, Array, list[Body | None]]:
        """The same for many rays (n x 3): distances, inf where nothing is met, normals (n x 3), and bodies."""
        t, normals, rows = Eyes(self._world).cast(
            origins, directions, longest, mask, None if but is None else self._id(but)
        )
        links = self.shapes.rows["link"]
        return t, normals, [None if row < 0 else self._body_at(int(links[row])) for row in rows.tolist()]

    def overlaps(
        self, shape: Solid, at: Pose | Iterable[float] = (0.0, 0.0, 0.0), margin: float = 0.0, *, mask: int = EVERYTHING
    ) -> list[Body | None]:  # fmt: skip
        """The bodies (None: the ground) that a shape at some place, which is not in the world, would overlap now.

        Or that are no farther from it than `margin` metres.
        """
        ids = Eyes(self._world).near(shape, place_at("overlaps: at", at), margin, mask)
        links = dict.fromkeys(self.shapes.link(id) for id in ids)
        return [self._body_at(link) for link in links]

    @property
    def ignored(self) -> list[tuple[Body | None, Body | None]]:
        """The pairs of bodies (None: the ground) of which some shapes pass through each other.

        Those that `ignore` names, exclusions of models, what loops tie, and parts of a figure that were in each other
        when it came in.
        """
        links, forms = self.shapes.rows["link"], self.shapes.rows["form"]
        known = self.collisions.broad_phase.all_ignored  # of shapes that were removed since, too
        pairs = [(int(links[a]), int(links[b])) for a, b in known if forms[a] and forms[b]]
        return [(self._body_at(a), self._body_at(b)) for a, b in dict.fromkeys(pairs)]

    # ------------------------------------------------------------------------------------------------------ statistics

    @property
    def statistics(self) -> Statistics:
        """What the last step had to do."""
        return statistics(self._world)

    def measure(self, steps: int) -> Statistics:
        """Make so many steps, and say where the time went."""
        return measure(self._world, steps)

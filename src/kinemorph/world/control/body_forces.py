"""Forces of a world on its bodies: applied forces and impulses, gravity, and the drag of a fluid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from kinemorph.contact.layout import WOKEN_BY_FORCE
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_finite, check_flag
from kinemorph.spatial.pose import vector
from kinemorph.spatial.products import times
from kinemorph.world.body import Body
from kinemorph.world.control.drives import AppliedForce
from kinemorph.world.impulse.settings import compute_slow_speed
from kinemorph.world.part import Part
from kinemorph.world.persistence.journal import an_input

Array = np.ndarray[Any, np.dtype[np.float64]]
ZERO = (0.0, 0.0, 0.0)


@checked_on_failure
class Forces(Part):
    """`world.forces`: what acts on bodies: applied forces and impulses, gravity, and the drag of a fluid."""

    __slots__ = ()

    @an_input
    def apply_force(
        self, body: Body | int, force: Iterable[float] = ZERO, torque: Iterable[float] = ZERO, *,
        at: Iterable[float] | None = None, lasting: bool = True, turning: bool = False,
    ) -> AppliedForce:  # fmt: skip
        """A force (N) and a torque (N m) on a body, until it is withdrawn, or for one step if it is not `lasting`.

        The force acts at `at` (m, a point in the world now, which then moves with the body), or at the body's centre of
        mass. Both are in world axes, or in the body's own if they are `turning` with it.
        """
        world = self.world
        id = world._id(body)
        lasting, turning = check_flag("apply_force: lasting", lasting), check_flag("apply_force: turning", turning)
        f, n = vector(force, 3, "apply_force: force"), vector(torque, 3, "apply_force: torque")
        pose = world.forest.pose(id)
        point = world.queries._centre(id) if at is None else vector(at, 3, "apply_force: at")
        local = times(pose.rotation.T, point - pose.position)
        world.sleep._wake(id, why=WOKEN_BY_FORCE)
        i = world.solver.claim("applied_forces", "body")
        row = world.solver["applied_forces"][i]
        row["body"], row["persistent"], row["in_body_frame"] = id, lasting, turning
        row["force"], row["torque"], row["at"] = f, n, local
        return AppliedForce(world, i)

    def apply_impulse(
        self, body: Body | int, impulse: Iterable[float] = ZERO, moment: Iterable[float] = ZERO, *,
        at: Iterable[float] | None = None,
    ) -> None:  # fmt: skip
        """An impulse (N s) and an impulsive moment (N m s) on a body, world axes, at `at` or at its centre of mass.

        Given within the next step, together with what contacts, loops and limits then answer: exact in momentum.
        """
        p, m = vector(impulse, 3, "apply_impulse: impulse"), vector(moment, 3, "apply_impulse: moment")
        dt = self.world.dt
        force, torque = ([x / dt for x in part.tolist()] for part in (p, m))  # NumPy would warn of what is infinite
        for what, given, made in (("impulse", p, force), ("moment", m, torque)):
            if not np.isfinite(made).all():
                raise ValueError(f"apply_impulse: {what} {given.tolist()} is too large for a step of {dt:g} s")
        self.apply_force(body, force, torque, at=at, lasting=False)

    @an_input
    def set_fluid(self, density: float = 1000.0, drag: float = 1.0) -> None:
        """Let all bodies be in a fluid of a density (kg/m³), which resists each face that moves against it.

        The force on a quarter of a face of a shape's box is ½ density drag area v², v the speed of its middle along
        the normal.
        """
        world = self.world
        fluid = check_finite("set_fluid: density", density, 0.0, 1e6)
        shape = check_finite("set_fluid: drag", drag, 0.0, 1e3)
        world._header[0]["fluid"], world._header[0]["drag"] = fluid, shape
        world.sleep._wake_all()

    @an_input
    def _set_gravity(self, gravity: Array) -> None:
        world = self.world
        impacts = world._header[0]["impacts"]
        world.forest.gravity = gravity
        if impacts["epsilon"] > 0.0:  # it is the contact model "impulse"
            impacts["slow"] = compute_slow_speed(gravity, float(impacts["epsilon"]))
        world.sleep._wake_all()

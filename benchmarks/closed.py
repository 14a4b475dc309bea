"""Forward dynamics of closed chains against Pinocchio: anymal with feet pinned to the ground by spherical joints.

    python -m benchmarks.closed [--quick] [--json FILE]

"call" is one call from Python through the public function, with all its checks, against `pin.constraintDynamics` of the
wheel. "kernel" is our algorithm in a loop inside a kernel, as simulators use it, against the same peer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import kinemorph as km
from benchmarks.measure import Row, arguments, repeat, report, time_side_by_side
from kinemorph._jit import entry, rows_at
from kinemorph.multibody.calls import NO_FORCES
from kinemorph.scenes.mechanisms import held
from kinemorph.scenes.robots import robot, robot_file
from kinemorph.structure.closed import closed_body, closed_dynamics
from kinemorph.structure.loops import CHAIN, ClosedData

FEET = ("LF_FOOT", "RF_FOOT", "LH_FOOT", "RH_FOOT")
ASKED = {"call": 1.0, "kernel": 2.0}  # the least ratio that the project promises, for one and two feet


@entry
def loop_closed(n: int, handle: int, q: Any, v: Any, tau: Any, external: Any, a: Any) -> None:
    chain = rows_at(handle, 1, CHAIN)[0]
    for _ in range(n):
        closed_body(chain, q, v, tau, external, a)


def of_feet(count: int, seconds: float) -> list[Row]:
    model = robot("anymal", floating=True)
    peer = pin.buildModelFromUrdf(str(robot_file("anymal")), pin.JointModelFreeFlyer())
    to = km.convert.pinocchio(model, peer)
    rng = np.random.default_rng(0)
    q = km.random_configuration(model, rng)
    v, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    q_, v_, tau_ = to.q(q), to.v(q, v), to.tau(q, tau)

    mechanism = held(model, q, FEET[:count])
    data = ClosedData(mechanism)
    peer_data = peer.createData()
    pinned = pin.StdVec_RigidConstraintModel()
    for foot, loop in zip(FEET, mechanism.loops, strict=False):
        frame = peer.frames[peer.getFrameId(foot)]
        where = pin.SE3(loop.at_a.rotation, loop.at_a.position)
        kind, axes = pin.ContactType.CONTACT_3D, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        pinned.append(pin.RigidConstraintModel(kind, peer, frame.parentJoint, frame.placement, 0, where, axes))
    pinned_data = pin.StdVec_RigidConstraintData([c.createData() for c in pinned])
    pin.initConstraintDynamics(peer, peer_data, pinned, pinned_data)
    settings = pin.ProximalSettings(1e-12, 0.0, 1)

    a = closed_dynamics(mechanism, data, q, v, tau)
    a_ = pin.constraintDynamics(peer, peer_data, q_, v_, tau_, pinned, pinned_data, settings)
    theirs = to.a_back(q_, v_, a_)
    accuracy = float(np.abs(a - theirs).max() / np.abs(a).max())
    out = np.empty(model.nv)
    times = time_side_by_side(
        {
            "call": repeat(closed_dynamics, mechanism, data, q, v, tau),
            "peer": repeat(pin.constraintDynamics, peer, peer_data, q_, v_, tau_, pinned, pinned_data, settings),
            "kernel": lambda n: loop_closed(n, data.handle, q, v, tau, NO_FORCES, out),
        },
        seconds,
    )
    case = f"anymal, {count} {'foot' if count == 1 else 'feet'} pinned"
    return [
        Row("closed", case, how, times[how], times["peer"], "Pinocchio constraintDynamics, from Python", accuracy)
        for how in ("call", "kernel")
    ]


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    seconds = 0.3 if options.quick else 3.0
    rows = [row for count in (1, 2, 4) for row in of_feet(count, seconds)]
    report("Closed chains: forward dynamics, µs", rows, options.json, ("kinemorph", "numba", "pin"))
    missed = [row for row in rows if "4" not in row.case and (row.ratio or 0.0) < ASKED[row.metric]]
    for row in missed:
        print(f"below what is asked: {row.case}, {row.metric}: {row.ratio:.2f}x of {ASKED[row.metric]}x")


if __name__ == "__main__":
    main()

"""Connecting two links by a joint while they move: the impact, and the tree that comes of it (N&Y section V)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kinemorph.multibody.crba import crba
from kinemorph.multibody.integrators import checked
from kinemorph.multibody.jacobian import jacobian
from kinemorph.multibody.joint import Joint
from kinemorph.multibody.kinematics import kinematics, locate, pose_of
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model import Data, Model
from kinemorph.multibody.totals import momentum
from kinemorph.spatial.pose import Pose
from kinemorph.structure.rehang import rehang
from kinemorph.structure.report import Report, State
from kinemorph.structure.reroot import link_index

SINGULAR = 1e-10  # directions in which the impulse matrix is smaller than this, relatively, hold already


def connect(
    model: Model,
    state: State,
    a: str | int,
    b: str | int,
    joint: Joint,
    at: Pose | Iterable[float],
    how: str = "auto",
    on: Pose | None = None,
) -> Report:
    """Join link b to link a (-1: the base) by a joint that stands at `at` in the world, where both are now.

    `on` is where the joint holds b, in b's frame: the joint then starts at the position that this means. If it is not
    given the joint starts at zero. The connection is plastic: one impulse makes the velocities such that the joint can
    follow, momentum stays and energy is lost, which is reported. "tree" ("auto" picks it) re-roots the floating tree
    of b and hangs it on a.
    """
    data = Data(model)
    q, v = checked(model, q=state.q, v=state.v)
    kinematics(model, data, q, v)
    parent, link = locate(model, data, a)[0], link_index(model, data, b)
    if parent == link:
        raise ValueError(f"model {model.name!r}: link {model.names[link]!r} cannot be connected to itself")
    if how not in ("auto", "tree"):
        raise ValueError(f"how {how!r} is not 'auto' or 'tree'")
    top = _top(model, link)
    if (parent >= 0 and _top(model, parent) == top) or model.links[top]["kind"] != JointKind.FREE:
        raise ValueError(
            f"model {model.name!r}: link {model.names[link]!r} is not in a floating tree of its own, "
            "so the joint would close a loop; see kinemorph.structure.loops"
        )
    frame = at if isinstance(at, Pose) else Pose(at)
    v_after, impulse = impact(model, data, q, v, parent, link, joint, frame)
    M = crba(model, data, q)
    lost = 0.5 * float(v @ M @ v - v_after @ M @ v_after)
    error = 0.0
    if parent >= 0:
        error = float(np.abs(momentum(model, data, q, v_after) - momentum(model, data, q, v)).max())
    kinematics(model, data, q, v_after)
    held = on or pose_of(model, data, link).inverse() @ frame
    after = State(q, v_after, None, state.tau, state.time)  # accelerations are infinite for an instant, and then others
    report = rehang(model, after, link, True, joint, parent, frame, held)
    before = rehang(model, State(q, v), link, True, Joint.free(), -1, frame, held)
    jump = _jump(before, report, model.names[link])
    return replace(report, impulse=impulse, jump=jump, energy_lost=lost, momentum_error=error)


def impact(model: Model, data: Data, q: Any, v: Any, a: int, b: int, joint: Joint, frame: Pose) -> tuple[Any, Any]:
    """Velocities after a plastic connection, and the impulse [moment, impulse] on b at the joint, world axes.

    With C the directions that the joint blocks and A = Cᵀ (J_b - J_a), the impulse is -(A M⁻¹ Aᵀ)⁺ A v: N&Y eqs. 25 to
    38 for any joint and any pair of links. Where A M⁻¹ Aᵀ is singular (the constraint holds already, or a side cannot
    move) the least impulse is taken.
    """
    x = frame.position
    J = _jacobian_at(model, data, q, b, x) - _jacobian_at(model, data, q, a, x)
    A = blocked(joint, frame).T @ J
    M = crba(model, data, q)
    response = np.linalg.solve(M, A.T)
    G = A @ response
    strength = -np.linalg.pinv(0.5 * (G + G.T), rcond=SINGULAR, hermitian=True) @ (A @ v)
    return v + response @ strength, blocked(joint, frame) @ strength


def blocked(joint: Joint, frame: Pose) -> Any:
    """An orthonormal basis (6 x (6 - nv)) of the twists that a joint at zero does not allow, world axes."""
    a, b = joint.axes()
    zero = np.zeros(3)
    allowed = {
        JointKind.FIXED: [],
        JointKind.REVOLUTE: [(a, zero)],
        JointKind.PRISMATIC: [(zero, a)],
        JointKind.SCREW: [(a, joint.pitch * a)],
        JointKind.CYLINDRICAL: [(a, zero), (zero, a)],
        JointKind.UNIVERSAL: [(a, zero), (b, zero)],
        JointKind.PLANAR: [(zero, b), (zero, np.cross(a, b)), (a, zero)],
        JointKind.SPHERICAL: [(e, zero) for e in np.eye(3)],
        JointKind.FREE: [(e, zero) for e in np.eye(3)] + [(zero, e) for e in np.eye(3)],
    }[joint.kind]
    R = frame.rotation
    S = np.array([np.concatenate([R @ w, R @ u]) for w, u in allowed]).reshape(len(allowed), 6)
    basis, _ = np.linalg.qr(S.T, mode="complete")
    return basis[:, len(allowed) :]


def _jacobian_at(model: Model, data: Data, q: Any, link: int, x: Any) -> Any:
    if link < 0:
        return np.zeros((6, model.nv))
    kinematics(model, data, q)
    return jacobian(model, data, q, link, pose_of(model, data, link).inverse().apply(x))


def _top(model: Model, link: int) -> int:
    while model.links[link]["parent"] >= 0:
        link = int(model.links[link]["parent"])
    return link


def _jump(before: Report, after: Report, link: str) -> Any:
    """Change of the new v where it was defined before: entries of the new joint count from zero."""
    jump = after.state.v.copy()
    for name in after.model.names:
        if name != link:
            i, j = after.model.link(name), before.model.link(name)
            jump[after.model.v_slice(i)] -= before.state.v[before.model.v_slice(j)]
    return jump

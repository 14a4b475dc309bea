"""Error texts of refused edits, one sentence each; the same for a model and for a live forest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from kinemorph._files import warn_of_model
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import check_loop_joint
from kinemorph.structure.forest import layout as layout


class EntityNames:
    """Names for error texts: `whose` edit it is, and functions from indices in the forest to names."""

    def __init__(self, whose: str, body: Callable[[int], str], joint: Callable[[int], str]) -> None:
        self.whose, self.body, self.joint = whose, body, joint


def raise_refusal(
    names: EntityNames, outcome: Any, joint: Joint | None = None, a: int = -1, b: int = -1, new: str = ""
) -> NoReturn:
    """Raise for the status of an outcome. `a`, `b` and `new` are the bodies and the joint of a connection."""
    status, whose = int(outcome["status"]), names.whose
    if status == layout.NO_FOREST:
        raise RuntimeError(f"{whose} is in use by another thread")
    if status == layout.NOT_FINITE:
        raise ArithmeticError(f"{whose}: the result is not finite; a number may be too large, or a quaternion zero")
    kind = JointKind(int(outcome["kind"])).name.lower()
    body = names.body(int(outcome["body"]))
    pose, twist = float(outcome["pose_error"]), float(outcome["twist_error"]) / (1.0 + float(outcome["speed"]))
    if status == layout.SAME_BODY:
        raise ValueError(f"{whose}: {names.body(a)} cannot be connected to itself")
    if status == layout.WOULD_CLOSE_LOOP:
        raise ValueError(
            f"{whose}: neither {names.body(a)} nor {names.body(b)} is in a floating tree "
            "that the other is not in, so the joint would close a loop: use how='loop' or 'auto'"
        )
    if status == layout.UNFIT_FOR_LOOP and joint is not None:
        try:
            check_loop_joint(joint)
        except ValueError as error:
            raise ValueError(f"loop {new!r}: {error}") from None
    if status == layout.OFF_POSITION:
        off = max(pose, float(outcome["gap"]))
        raise ValueError(
            f"{whose}: a {kind} joint cannot hold {body} where it is now (off by {off:.2g} m or rad); "
            "give another `at` or `on`"
        )
    if status == layout.OUTSIDE_LIMITS and joint is not None:
        _, dofs, _ = joint.rows
        at = (outcome["position"][: joint.nq].round(9) + 0.0).tolist()
        raise ValueError(
            f"{whose}: joint {new!r} would be at {at}, "
            f"outside of its limits {dofs['lower'].tolist()} to {dofs['upper'].tolist()}"
        )
    if status == layout.LOOP_OPEN:
        raise ValueError(
            f"{whose}: loop {names.joint(int(outcome['loop']))} cannot carry {body}, for it is open "
            f"(by {pose:.2g}, and {twist:.2g} a second); close it first, with km.close and km.project"
        )
    if status == layout.MOVES_OTHERWISE:
        raise ValueError(
            f"{whose}: {body} moves as a {kind} joint there does not allow "
            f"(off by {twist:.2g}); use connect, which computes the impact"
        )
    if status == layout.NO_PLACE and joint is not None:
        raise ValueError(f"a {joint.kind.name.lower()} joint needs a place: give `at`")
    if status == layout.WEIGHTLESS:
        raise ValueError(
            f"{whose}: {body} has no inertia in a direction in which a {kind} joint would let it move; "
            "give it some, such as a thickness"
        )
    raise ValueError(f"{whose}: the edit cannot be made (status {status})")


def warn_lossy_joint(names: EntityNames, outcome: Any) -> None:
    """Warn of an inverted joint whose forces or limits act along other directions from now on."""
    if outcome["lossy"] >= 0:
        warn_of_model(
            f"{names.whose}: joint {names.joint(int(outcome['lossy']))} changes sides, and its axes turn with its "
            "other link then: what acts in it, or limits it, does so along other directions from now on"
        )

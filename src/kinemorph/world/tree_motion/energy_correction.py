"""What turns fast: the forces of inertia do no work in a step.

The solve of a step knows the mass matrix of its start, and the forces that velocities make as they are without
contacts. Then a tree has turned, contacts have given it other velocities, and its mass matrix is another one: both
together would do work, a share of about θ² of the energy in a step that turns by θ. That work is known,

    ½ v₁ᵀ M₁ v₁ - ½ v₀ᵀ M₀ v₀  -  that of the rows, p ½ (z₀ + z₁), and of weight and joint forces, f ½ (v₀ + v₁) dt

and what there is too much of it is taken from how the links of a tree move against each other; it goes on as a whole.
Each tree has its own account, so what one gives to another by a contact, or a motor to both, is no matter.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.passive import joint_forces
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import floats
from kinemorph.multibody.layout import LINK_DATA, dofs_of, link_data_of, links_of
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub

SLOW_TURN_ANGLE = 0.02  # rad in a step: what turns no further gains a share of 4e-4 of its energy at most
LARGEST_SPEED_FACTOR = 1.1  # times as fast as the step has made it: what would have to be given back beyond is rounding
AMPLE = 0.1  # share of the energy of links against each other that pays for errors well
LITTLE = 1e-3  # share of the energy of a spin: links that move less against each other are given none back


@kernel
def turns_far(tree: Any, most: float, second: bool) -> bool:
    """Whether a link turns by more than that, as velocities say that were whitened or unwhitened last, or those of the
    second set."""
    rows = link_data_of(tree)
    for i in range(1, tree["n"] + 1):
        w = load3(rows[i]["kw"]) if second else load3(rows[i]["jw"])
        if not dot(w, w) <= most * most:
            return True
    return False


@kernel
def take_implicitly(tree: Any, v: Any, tau: Any, total: Any, dt: float) -> None:
    """Let dampers and springs act as they will at the end of the step: stiff ones would else overshoot.

    With D and K of a joint, (M + dt D + dt² K) a = tau - D v - K (q + dt v - rest); tau is no larger than the joint's
    effort.
    """
    dofs = dofs_of(tree)
    for k in range(tree["nv"]):
        dof = dofs[k]
        dof["implicit"] = dt * (dof["damping"] + dt * dof["stiffness"])
        total[k] -= dt * dof["stiffness"] * v[k]
        if abs(tau[k]) > dof["effort"]:
            total[k] += (dof["effort"] if tau[k] > 0.0 else -dof["effort"]) - tau[k]


@kernel(inline=False)
def energy_due(
    tree: Any, z: Any, dt: float, q: Any, v: Any, rest: Any, tau: Any, new: Any, y: Any, given: Any, x: Any
) -> float:
    """What a tree is to have at the end of the step, J, but for the work of weight.

    `new` are its velocities after the step, y those before it, whitened, and `given` what rows have added to them; x is
    scratch.
    """
    nv = tree["nv"]
    due = 0.0
    for k in range(nv):
        due += 0.5 * y[k] * y[k] + given[k] * 0.5 * (z[k] + y[k])
    joint_forces(tree, rest, q, v, tau, x)
    take_implicitly(tree, v, tau, x, dt)
    for k in range(nv):
        due += dt * x[k] * 0.5 * (v[k] + new[k])
    return due


@kernel
def weight_done(g: Vec3, mass: float, shift: Vec3, momentum: Vec3, now: Vec3, dt: float, smooth: bool) -> float:
    """J, the work of weight on a centre of mass that has moved. What pushes overlap apart may have moved it as well:
    that may cost energy, but does not add any."""
    work = mass * dot(g, shift)
    return work if smooth else min(work, 0.5 * dt * dot(g, add(momentum, now)))


@kernel(inline=False)
def restrain_held(tree: Any, v: Any, due: float, kinetic: float, mass: float, now: Vec3, smooth: bool) -> None:
    """Take from the velocities after a step, of a tree that the base holds or that something has struck, what is more
    than is due; if it floats, its centre of mass goes on as it does, with the momentum of `now`, as far as that can be.

    If nothing but smooth forces has acted, what is missing is given back.
    """
    due = max(0.0, due)
    if kinetic <= due and not (smooth and kinetic > 0.0):
        return
    goes_on = mass > 0.0 and floats(links_of(tree), dofs_of(tree))
    together = 0.5 * dot(now, now) / mass if goes_on else 0.0
    goes_on = goes_on and together < due
    share = sqrt((due - together) / (kinetic - together)) if goes_on else sqrt(due / kinetic)
    share = min(share, LARGEST_SPEED_FACTOR)
    for k in range(tree["nv"]):
        v[k] *= share
    if goes_on:
        R = load9(rows_at(tree["rows"], 2, LINK_DATA)[1]["R"])
        store3_at(v, 3, axpy(load3_at(v, 3), (1.0 - share) / mass, tmul_vec(R, now)))


@kernel(inline=False)
def restrain_floating(
    tree: Any, v: Any, due: float, inside: float, w: Vec3, spin: Vec3, u: Vec3, mass: float, c: Vec3, smooth: bool
) -> bool:
    """The same of a tree that floats, with an angular momentum `spin` that makes it turn by w, and a velocity u of its
    centre of mass c: how its links move against each other, the energy `inside`, is what changes, and no momentum.

    Where that is not enough, its spin is slowed down as well, for nothing gains energy. Whether it was, by far.
    """
    together, turning = 0.5 * mass * dot(u, u), 0.5 * dot(spin, w)
    left = due - together - turning
    if not smooth and inside <= left:
        return True
    share = slower = 1.0
    if left <= 0.0:
        share = 0.0
        if turning > 0.0:
            slower = sqrt(min(1.0, max(0.0, due - together) / turning))
    elif inside > LITTLE * turning or inside > left:
        share = min(sqrt(left / inside), LARGEST_SPEED_FACTOR)
    data = rows_at(tree["rows"], 2, LINK_DATA)[1]
    R, lever = load9(data["R"]), sub(load3(data["p"]), c)
    for k in range(tree["nv"]):
        v[k] *= share
    more = slower - share  # of the spin of all links as one body
    store3(v, axpy(load3(v), more, tmul_vec(R, w)))
    rest = axpy(scale(cross(w, lever), more), 1.0 - share, u)
    store3_at(v, 3, add(load3_at(v, 3), tmul_vec(R, rest)))
    return abs(left - inside) <= AMPLE * inside

"""What turns fast: the forces of inertia do no work in a step.

The solve of a step knows the mass matrix of its start, and the forces that velocities make as they are without
contacts. Then a tree has turned, contacts have given it other velocities, and its mass matrix is another one: both
together would do work, a share of about θ² of the energy in a step that turns by θ. That work is known,

    ½ v₁ᵀ M₁ v₁ - ½ v₀ᵀ M₀ v₀  -  that of the rows, p ½ (z₀ + z₁), and of weight and joint forces, f ½ (v₀ + v₁) dt

and what there is too much of it is taken from how the tree turns about its centre of mass, which goes on as it does.
Each tree has its own account, so what one gives to another by a contact, or a motor to both, is no matter.
"""

from __future__ import annotations

from typing import Any

from kinemorph._jit import kernel, rows_at
from kinemorph.constraint.passive import joint_forces
from kinemorph.constraint.whiten import whiten_velocity
from kinemorph.multibody.energy_momentum import totals
from kinemorph.multibody.layout import DOF, LINK, LINK_DATA
from kinemorph.multibody.lone import floats
from kinemorph.spatial.mat3 import mul_vec, tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, sub

QUICK = 0.02  # rad in a step: what turns no further gains a share of 4e-4 of its energy at most
MOST = 1.1  # times as fast as the step has made it: what would have to be given back beyond is rounding


@kernel
def turns_far(tree: Any, most: float) -> bool:
    """Whether a link turns by more than that, as velocities say that were whitened or unwhitened last."""
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    for i in range(1, tree["n"] + 1):
        w = load3(rows[i]["jw"])
        if not dot(w, w) <= most * most:
            return True
    return False


@kernel
def take_implicitly(tree: Any, v: Any, tau: Any, total: Any, dt: float) -> None:
    """Let dampers and springs act as they will at the end of the step: stiff ones would else overshoot.

    With D and K of a joint, (M + dt D + dt² K) a = tau - D v - K (q + dt v - rest); tau is no larger than the joint's
    effort.
    """
    dofs = rows_at(tree["dofs"], tree["nv"], DOF)
    for k in range(tree["nv"]):
        d = dofs[k]
        d["implicit"] = dt * (d["damping"] + dt * d["stiffness"])
        total[k] -= dt * d["stiffness"] * v[k]
        if abs(tau[k]) > d["effort"]:
            total[k] += (d["effort"] if tau[k] > 0.0 else -d["effort"]) - tau[k]


@kernel
def weigh(tree: Any) -> tuple[Vec3, Vec3]:
    """First moment and momentum of a tree, where its rows say that its links are, and how they move."""
    links, rows = rows_at(tree["links"], tree["n"], LINK), rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    moment = momentum = (0.0, 0.0, 0.0)
    for i in range(tree["n"]):
        l, d = links[i], rows[i + 1]
        h = mul_vec(load9(d["R"]), load3(l["h"]))
        moment = add(moment, axpy(h, l["mass"], load3(d["p"])))
        momentum = add(momentum, axpy(cross(load3(d["w"]), h), l["mass"], load3(d["v"])))
    return moment, momentum


@kernel(inline=False)
def energy_due(
    tree: Any, z: Any, dt: float, q: Any, v: Any, rest: Any, tau: Any, own: Any, new: Any, y: Any, x: Any
) -> float:
    """What a tree is to have at the end of the step, J, but for the work of weight.

    `new` are its velocities after the step, `own` its accelerations without rows; y and x are scratch.
    """
    nv = tree["nv"]
    whiten_velocity(tree, v, y)
    whiten_velocity(tree, own, x)
    due = 0.0
    for k in range(nv):
        due += 0.5 * y[k] * y[k] + (z[k] - y[k] - dt * x[k]) * 0.5 * (z[k] + y[k])
    joint_forces(tree, rest, q, v, tau, x)
    take_implicitly(tree, v, tau, x, dt)
    for k in range(nv):
        due += dt * x[k] * 0.5 * (v[k] + new[k])
    return due


@kernel(inline=False)
def restrain_tree(
    tree: Any, q: Any, v: Any, due: float, moment: Vec3, momentum: Vec3, g: Vec3, dt: float, smooth: bool
) -> None:
    """Take from the velocities after a step what is more than is due, with the work of weight on the way.

    If nothing but smooth forces has acted, what is missing is given back; else what pushes overlap apart may have moved
    the tree as well: that may cost energy, but does not add any.
    """
    links, dofs = rows_at(tree["links"], tree["n"], LINK), rows_at(tree["dofs"], tree["nv"], DOF)
    mass, there, _, now, kinetic = totals(tree, q, v)
    for k in range(tree["nv"]):
        kinetic += 0.5 * dofs[k]["implicit"] * v[k] * v[k]
    weight = dot(g, sub(there, moment))
    if not smooth:
        weight = min(weight, 0.5 * dt * dot(g, add(momentum, now)))
    due = max(0.0, due + weight)
    if kinetic <= due and not (smooth and kinetic > 0.0):
        return
    goes_on = mass > 0.0 and floats(links, dofs)
    together = 0.5 * dot(now, now) / mass if goes_on else 0.0
    share = sqrt(due / kinetic)
    if goes_on and together < due:
        share = sqrt((due - together) / (kinetic - together))
    else:
        goes_on = False
    share = min(share, MOST)
    for k in range(tree["nv"]):
        v[k] *= share
    if goes_on:  # with the velocity of the centre of mass
        R = load9(rows_at(tree["rows"], 2, LINK_DATA)[1]["R"])
        store3_at(v, 3, axpy(load3_at(v, 3), (1.0 - share) / mass, tmul_vec(R, now)))

"""Energy correction of trees that turn fast, so that inertial forces do no work in a step.

The solve uses the mass matrix of the start of the step, and the velocity-dependent forces without contacts. At the end
the tree has turned, contacts have changed its velocities, and its mass matrix is another one. Together these errors do
work, about θ² of the energy in a step that turns by θ. That work is known,

    ½ v₁ᵀ M₁ v₁ - ½ v₀ᵀ M₀ v₀  -  that of the rows, p ½ (z₀ + z₁), and of weight and joint forces, f ½ (v₀ + v₁) dt

and the surplus is taken from the motion of the links relative to each other; the momentum of the tree stays. Each tree
has its own balance, in which energy from contacts and motors is counted as work of rows.
"""

from __future__ import annotations

from typing import Any

from kinemorph.constraint.passive import fill_joint_forces
from kinemorph.jit.api import kernel, rows_at
from kinemorph.multibody.algorithms.free_body import is_floating
from kinemorph.multibody.layout import LINK_DATA, dofs_of, link_data_of, links_of
from kinemorph.spatial.mat3 import tmul_vec
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at
from kinemorph.spatial.scalar import sqrt
from kinemorph.spatial.vec3 import Vec3, add, axpy, cross, dot, scale, sub

SLOW_TURN_ANGLE = 0.02  # rad in a step: below it the error is at most 4e-4 of the energy
LARGEST_SPEED_FACTOR = 1.1  # a larger missing energy is rounding, and is not given back
LARGEST_CORRECTION_SHARE = 0.1  # of the internal energy: a larger correction counts as a failure
SMALL_INTERNAL_SHARE = 1e-3  # of the spin's energy: a smaller internal energy is not scaled up


@kernel
def has_large_rotation(tree: Any, most: float, second: bool) -> bool:
    """Whether |w| of a link exceeds `most`, in the units of the motion that was whitened or unwhitened last: its first
    vector, or its second."""
    rows = link_data_of(tree)
    for i in range(1, tree["n"] + 1):
        w = load3(rows[i]["kw"]) if second else load3(rows[i]["jw"])
        if not dot(w, w) <= most * most:
            return True
    return False


@kernel
def add_implicit_joint_forces(tree: Any, v: Any, tau: Any, total: Any, dt: float) -> None:
    """Add to the joint forces `total` what makes dampers and springs implicit, and clamp tau to the joint's effort.

    With D and K of a joint, (M + dt D + dt² K) a = tau - D v - K (q + dt v - rest); dt D + dt² K goes to the field
    `implicit` of the degree of freedom.
    """
    dofs = dofs_of(tree)
    for k in range(tree["nv"]):
        dof = dofs[k]
        dof["implicit"] = dt * (dof["damping"] + dt * dof["stiffness"])
        total[k] -= dt * dof["stiffness"] * v[k]
        if abs(tau[k]) > dof["effort_limit"]:
            total[k] += (dof["effort_limit"] if tau[k] > 0.0 else -dof["effort_limit"]) - tau[k]


@kernel(inline=False)
def compute_expected_energy(
    tree: Any, z: Any, dt: float, q: Any, v: Any, rest: Any, tau: Any, new: Any, y: Any, given: Any, x: Any
) -> float:
    """The kinetic energy that a tree should have at the end of the step, J, without the work of gravity.

    y and z are its whitened velocities before and after the solve, v and `new` the joint velocities, `given` what rows
    have added to y; x is scratch.
    """
    nv = tree["nv"]
    due = 0.0
    for k in range(nv):
        due += 0.5 * y[k] * y[k] + given[k] * 0.5 * (z[k] + y[k])
    fill_joint_forces(tree, rest, q, v, tau, x)
    add_implicit_joint_forces(tree, v, tau, x, dt)
    for k in range(nv):
        due += dt * x[k] * 0.5 * (v[k] + new[k])
    return due


@kernel
def compute_gravity_work(
    g: Vec3, mass: float, shift: Vec3, momentum: Vec3, after: Vec3, dt: float, smooth: bool
) -> float:
    """Work of gravity on a centre of mass that has moved by `shift`, J. If not `smooth`, position correction
    of contacts is part of the shift; then the work is at most that of the mean momentum."""
    work = mass * dot(g, shift)
    return work if smooth else min(work, 0.5 * dt * dot(g, add(momentum, after)))


@kernel(inline=False)
def correct_energy_by_scaling(
    tree: Any, v: Any, due: float, kinetic: float, mass: float, momentum: Vec3, smooth: bool
) -> None:
    """Scale the velocities v after a step so that the kinetic energy is `due` (J); for a tree with a fixed base or an
    outside contact. If the tree floats, its linear `momentum` is kept where the energy allows.

    Missing energy is given back only if nothing but smooth forces has acted.
    """
    due = max(0.0, due)
    if kinetic <= due and not (smooth and kinetic > 0.0):
        return
    keeps_momentum = mass > 0.0 and is_floating(links_of(tree), dofs_of(tree))
    linear_energy = 0.5 * dot(momentum, momentum) / mass if keeps_momentum else 0.0
    keeps_momentum = keeps_momentum and linear_energy < due
    share = sqrt((due - linear_energy) / (kinetic - linear_energy)) if keeps_momentum else sqrt(due / kinetic)
    share = min(share, LARGEST_SPEED_FACTOR)
    for k in range(tree["nv"]):
        v[k] *= share
    if keeps_momentum:
        R = load9(rows_at(tree["rows"], 2, LINK_DATA)[1]["R"])
        store3_at(v, 3, axpy(load3_at(v, 3), (1.0 - share) / mass, tmul_vec(R, momentum)))


@kernel(inline=False)
def correct_internal_energy(
    tree: Any, v: Any, due: float, internal: float, w: Vec3, spin: Vec3, u: Vec3, mass: float, c: Vec3, smooth: bool
) -> bool:
    """Scale the internal motion of a floating tree, of energy `internal` (J), to the kinetic energy `due`. `spin` is
    its angular momentum, w the mean angular velocity, u the velocity of its centre of mass c; momentum stays.

    If that is not enough, the spin is slowed down. Returns whether the correction is a small share of `internal`.
    """
    linear_energy, spin_energy = 0.5 * mass * dot(u, u), 0.5 * dot(spin, w)
    internal_due = due - linear_energy - spin_energy
    if not smooth and internal <= internal_due:
        return True
    share = spin_scale = 1.0
    if internal_due <= 0.0:
        share = 0.0
        if spin_energy > 0.0:
            spin_scale = sqrt(min(1.0, max(0.0, due - linear_energy) / spin_energy))
    elif internal > SMALL_INTERNAL_SHARE * spin_energy or internal > internal_due:
        share = min(sqrt(internal_due / internal), LARGEST_SPEED_FACTOR)
    data = rows_at(tree["rows"], 2, LINK_DATA)[1]
    R, lever = load9(data["R"]), sub(load3(data["p"]), c)
    for k in range(tree["nv"]):
        v[k] *= share
    more = spin_scale - share  # of the spin of all links as one body
    store3(v, axpy(load3(v), more, tmul_vec(R, w)))
    rest = axpy(scale(cross(w, lever), more), 1.0 - share, u)
    store3_at(v, 3, add(load3_at(v, 3), tmul_vec(R, rest)))
    return abs(internal_due - internal) <= LARGEST_CORRECTION_SHARE * internal

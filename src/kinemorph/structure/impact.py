"""A joint between two links that move: where it holds them, and the velocities after it has begun to (N&Y section V).

A joint that has just been made is a loop that is closed but whose two sides still move apart. The impulses at all loops
that end this, with those at the joints of the tree, conserve momentum and lose the least energy: with J_C of all loops,
old and new, Δv = - M⁻¹ J_Cᵀ (J_C M⁻¹ J_Cᵀ)⁻¹ J_C v, which is N&Y eqs. 25 to 38 for any joints and any number of
chains. Rows that depend on others, because a constraint holds already or a side cannot move, bear no impulse.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from kinemorph._jit import entry, kernel, rows_at
from kinemorph.multibody.checks import BAD_SIZE, NOT_FINITE, OK, Array, Matrix, Vector, finite
from kinemorph.multibody.data import Data
from kinemorph.multibody.energy_momentum import sum_up
from kinemorph.multibody.inversion import extract_position
from kinemorph.multibody.layout import LINK_DATA, TREE, copied
from kinemorph.spatial.mat3 import mul, tmul_vec, transpose
from kinemorph.spatial.rows import load3, load3_at, load9, store3, store3_at, store9
from kinemorph.spatial.vec3 import Vec3, axpy, sub
from kinemorph.structure.closure import project_velocity
from kinemorph.structure.loop_rows import errors, frames
from kinemorph.structure.loops import CHAIN, LOOP, ROW, Mechanism, number_loops

Records = np.ndarray[tuple[int], np.dtype[np.void]]
Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
Integers = np.ndarray[tuple[int], np.dtype[np.int64]]

ROW_SIZE = ROW.itemsize
POSITION, EACH = (
    22,
    29,
)  # places in the results: the new joint's q, then 7 numbers a loop


class Impact(NamedTuple):
    rows: Any  # of all loops, the new one last
    v: Array  # velocities after it
    impulse: Array  # moment and impulse (6) on link b at the new joint, at the successor's origin, world axes
    energy_lost: float  # J
    momentum_error: float  # N s and N m s: by how much the momentum of the tree changed
    errors: Array  # m and rad: how far each loop is open
    position: Array  # of the new joint


@kernel
def seen(d: Any, place: Any) -> tuple[Any, Vec3]:
    """A frame of the world, seen from a link."""
    E = transpose(load9(d["R"]))
    return mul(E, load9(place)), tmul_vec(load9(d["R"]), sub(load3_at(place, 9), load3(d["p"])))


@kernel(inline=False)
def make_chain(chain: Any, handle: int, loops: Any, path: Any, sizes: Any, memory: Any, tolerance: float) -> None:
    """A chain in one piece of memory (zeros), for one use; see `room`."""
    tree = rows_at(handle, 1, TREE)[0]
    nv = tree["nv"]
    m = sizes[0]
    chain["tree"], chain["count"], chain["m"] = handle, loops.shape[0], m
    chain["loops"], chain["path"], chain["total"] = loops.ctypes.data, path.ctypes.data, sizes[3]
    at = memory.ctypes.data
    chain["rows"] = at
    at += m * ROW_SIZE
    chain["J"] = at
    at += 8 * m * nv
    chain["Z"] = at
    at += 8 * m * nv
    chain["G"] = at
    at += 8 * m * m
    chain["F"] = at
    at += 8 * m * m
    chain["order"] = at
    chain["tolerance"] = tolerance * tolerance


def room(m: int, nv: int) -> int:
    """Bytes of a chain."""
    return int(m * ROW_SIZE + 16 * m * nv + 16 * m * m + 8 * m)


@kernel(inline=False)
def tell(chain: Any, out: Any) -> None:
    """Impulses and errors of all loops, and the position of the last one's joint."""
    tree = rows_at(chain["tree"], 1, TREE)[0]
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    loops = rows_at(chain["loops"], chain["count"], LOOP)
    wrenches = rows_at(chain["rows"], chain["m"], ROW)
    errors(chain)
    for i in range(chain["count"]):
        n = f = (0.0, 0.0, 0.0)
        error = 0.0
        for j in range(loops[i]["first"], loops[i]["first"] + loops[i]["m"]):
            n = axpy(n, wrenches[j]["force"], load3(wrenches[j]["n"]))
            f = axpy(f, wrenches[j]["force"], load3(wrenches[j]["f"]))
            error = max(error, abs(wrenches[j]["c"]))
        store3_at(out, EACH + 7 * i, n)
        store3_at(out, EACH + 7 * i + 3, f)
        out[EACH + 7 * i + 6] = error
    last = loops[chain["count"] - 1]
    Ra, xa, Rb, xb = frames(last, rows)
    first = last["iq"]
    last["iq"] = POSITION
    extract_position(last, mul(transpose(Ra), Rb), tmul_vec(Ra, sub(xb, xa)), out)
    last["iq"] = first


@entry
def _strike(
    handle: int, loops: Records, path: Integers, sizes: Integers, chain: Records, memory: Bytes, places: Matrix,
    held: bool, tolerance: float, q: Vector, v: Vector, step: Vector, out: Vector,
) -> int:  # fmt: skip
    """The new joint, the last loop, stands at places[0] in the world, and holds link b at places[1] if `held`.

    v becomes that after the impact. out[0] and out[1] are the energy lost and the change of momentum.
    """
    tree = rows_at(handle, 1, TREE)[0]
    if q.shape[0] != tree["nq"] or v.shape[0] != tree["nv"]:
        return BAD_SIZE
    if not (finite(q) and finite(v)):
        return NOT_FINITE
    sum_up(tree, q, v, out[:11])
    rows = rows_at(tree["rows"], tree["n"] + 1, LINK_DATA)
    last = loops[loops.shape[0] - 1]
    R, p = seen(rows[last["a"] + 1], places[0])
    store9(last["Ra"], R)
    store3(last["pa"], p)
    if held:
        R, p = load9(places[1]), load3_at(places[1], 9)
    else:
        R, p = seen(rows[last["b"] + 1], places[0])
    store9(last["Rb"], R)
    store3(last["pb"], p)
    number_loops(tree, loops, path, sizes)
    make_chain(chain[0], handle, loops, path, sizes, memory, tolerance)
    project_velocity(chain[0], q, v, step)
    sum_up(tree, q, v, out[11:22])
    tell(chain[0], out)
    out[0] = out[10] - out[21]
    out[1] = 0.0
    for k in range(4, 10):
        out[1] = max(out[1], abs(out[11 + k] - out[k]))
    return OK if finite(out) else NOT_FINITE


def strike(
    mechanism: Mechanism, data: Data, row: Any, a: int, b: int, places: Array, held: bool, q: Array, v: Array
) -> tuple[int, Impact]:  # fmt: skip
    """A mechanism gets one more joint, `row`, between links a and b, and all loops hold from now on.

    Returns a status too.
    """
    rows = copied(mechanism.rows, 1)
    rows[-1:].view(np.uint8)[:] = row.view(np.uint8)
    count, nv, last = len(rows), data.nv, rows[-1]
    m = mechanism.m + int(last["m"])
    last["a"], last["b"] = a, b
    numbers = np.zeros(4 + count * nv, np.int64)
    after, out = v.copy(), np.zeros(EACH + 7 * count)
    status = _strike(
        data.handle, rows, numbers[4:], numbers[:4], np.zeros(1, CHAIN),
        np.zeros(room(m, nv), np.uint8), places, held, mechanism.tolerance, q, after, np.empty(nv), out,
    )  # fmt: skip
    each = out[EACH:].reshape(count, 7)
    position = out[POSITION : POSITION + int(last["nq"])]
    return status, Impact(rows, after, each[-1, :6].copy(), float(out[0]), float(out[1]), each[:, 6], position)

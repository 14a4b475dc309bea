"""Tuple algebra against the same arithmetic written out by hand: what the readable form costs.

    python -m benchmarks.tuples [--quick] [--json FILE]

Both compute the articulated inertia that a revolute joint hands to its parent: the inner step of forward dynamics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.measure import Row, arguments, report, time_side_by_side
from kinemorph.jit.api import entry
from kinemorph.spatial.inertia import shift_articulated
from kinemorph.spatial.mat3 import sub_outer, sub_outer_sym, sym_vec, tmul_vec
from kinemorph.spatial.rows import load3, load6, load9, store6, store9
from kinemorph.spatial.vec3 import dot, scale


@entry
def with_tuples(n: int, x: Any, out: Any) -> None:
    for _ in range(n):
        s, r = load3(x[0:3]), load3(x[3:6])
        A, H, M = load6(x[6:12]), load9(x[12:21]), load6(x[21:27])
        Un = sym_vec(A, s)
        D = 1.0 / np.sqrt(dot(s, Un))
        Un = scale(Un, D)
        Uf = scale(tmul_vec(H, s), D)
        A, H, M = shift_articulated(r, sub_outer_sym(A, Un, Un), sub_outer(H, Un, Uf), sub_outer_sym(M, Uf, Uf))
        store6(out[0:6], A)
        store9(out[6:15], H)
        store6(out[15:21], M)


@entry
def by_hand(n: int, x: Any, out: Any) -> None:
    for _ in range(n):
        s0, s1, s2, r0, r1, r2 = x[0], x[1], x[2], x[3], x[4], x[5]
        a0, a1, a2, a3, a4, a5 = x[6], x[7], x[8], x[9], x[10], x[11]
        h0, h1, h2, h3, h4, h5, h6, h7, h8 = x[12], x[13], x[14], x[15], x[16], x[17], x[18], x[19], x[20]
        m0, m1, m2, m3, m4, m5 = x[21], x[22], x[23], x[24], x[25], x[26]
        n0 = a0 * s0 + a1 * s1 + a2 * s2
        n1 = a1 * s0 + a3 * s1 + a4 * s2
        n2 = a2 * s0 + a4 * s1 + a5 * s2
        D = 1.0 / np.sqrt(s0 * n0 + s1 * n1 + s2 * n2)
        n0, n1, n2 = n0 * D, n1 * D, n2 * D
        f0 = (h0 * s0 + h3 * s1 + h6 * s2) * D
        f1 = (h1 * s0 + h4 * s1 + h7 * s2) * D
        f2 = (h2 * s0 + h5 * s1 + h8 * s2) * D
        a0, a1, a2 = a0 - n0 * n0, a1 - n0 * n1, a2 - n0 * n2
        a3, a4, a5 = a3 - n1 * n1, a4 - n1 * n2, a5 - n2 * n2
        h0, h1, h2 = h0 - n0 * f0, h1 - n0 * f1, h2 - n0 * f2
        h3, h4, h5 = h3 - n1 * f0, h4 - n1 * f1, h5 - n1 * f2
        h6, h7, h8 = h6 - n2 * f0, h7 - n2 * f1, h8 - n2 * f2
        m0, m1, m2 = m0 - f0 * f0, m1 - f0 * f1, m2 - f0 * f2
        m3, m4, m5 = m3 - f1 * f1, m4 - f1 * f2, m5 - f2 * f2
        k0, k1, k2 = h0 + (r1 * m2 - r2 * m1), h1 + (r1 * m4 - r2 * m3), h2 + (r1 * m5 - r2 * m4)
        k3, k4, k5 = h3 + (r2 * m0 - r0 * m2), h4 + (r2 * m1 - r0 * m4), h5 + (r2 * m2 - r0 * m5)
        k6, k7, k8 = h6 + (r0 * m1 - r1 * m0), h7 + (r0 * m3 - r1 * m1), h8 + (r0 * m4 - r1 * m2)
        out[0] = a0 - (k1 * r2 - k2 * r1) + (r1 * h2 - r2 * h1)
        out[1] = a1 - (k2 * r0 - k0 * r2) + (r1 * h5 - r2 * h4)
        out[2] = a2 - (k0 * r1 - k1 * r0) + (r1 * h8 - r2 * h7)
        out[3] = a3 - (k5 * r0 - k3 * r2) + (r2 * h3 - r0 * h5)
        out[4] = a4 - (k3 * r1 - k4 * r0) + (r2 * h6 - r0 * h8)
        out[5] = a5 - (k6 * r1 - k7 * r0) + (r0 * h7 - r1 * h6)
        out[6], out[7], out[8], out[9], out[10] = k0, k1, k2, k3, k4
        out[11], out[12], out[13], out[14] = k5, k6, k7, k8
        out[15], out[16], out[17], out[18], out[19], out[20] = m0, m1, m2, m3, m4, m5


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    rng = np.random.default_rng(0)
    B = rng.normal(size=(6, 6))
    I = B @ B.T + np.eye(6)
    upper = np.triu_indices(3)
    s = rng.normal(size=3)
    x = np.concatenate(
        [s / np.linalg.norm(s), rng.normal(size=3), I[:3, :3][upper], I[:3, 3:].ravel(), I[3:, 3:][upper]]
    )
    ours, theirs = np.zeros(21), np.zeros(21)
    seconds = 0.3 if options.quick else 2.0
    times = time_side_by_side(
        {"tuples": lambda n: with_tuples(n, x, ours), "hand": lambda n: by_hand(n, x, theirs)}, seconds
    )
    accuracy = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    row = Row("tuples", "revolute joint", "fold and shift", times["tuples"], times["hand"], "hand-unrolled", accuracy)
    report("Tuple algebra: µs of one inner step", [row], options.json, ("kinemorph", "numba"))
    slower = times["tuples"] / times["hand"]
    print(f"the readable form takes {slower:.2f} times as long; asked: at most 1.2")


if __name__ == "__main__":
    main()

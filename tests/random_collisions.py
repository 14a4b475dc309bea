"""Random collisions: energy never rises, whatever bodies, joints, restitutions and friction there are.

    python -m tests.random_collisions 1000000 [--seed 0]

A collision of any bodies, free or jointed, is three rows y of as many numbers as they have degrees of freedom, and
their whitened velocities z (`contact.impulse.collision_law`): random ones of these are all collisions that there are.
Energy is ½ zᵀ z. Every other one has rows that depend on each other, as those of bodies have that joints hold.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
from tests.contact.reach import impulses_of_collisions

Array = np.ndarray[Any, np.dtype[np.float64]]
ROUNDING = 1e-10  # share of the energy, where rows nearly depend on each other
MOST = 24  # degrees of freedom
BATCH = 100_000


def collide(rows: Array, z: Array, coefficients: Array) -> tuple[Array, Array]:
    """Impulses (m, 3), and what each collision adds to the energy, as a share of it."""
    impulses, above = np.zeros((len(z), 3)), np.triu_indices(3)
    K = np.ascontiguousarray((rows @ rows.transpose(0, 2, 1))[:, above[0], above[1]])
    impulses_of_collisions(np.einsum("mik,mk->mi", rows, z), K, coefficients, impulses)
    change = np.einsum("mik,mi->mk", rows, impulses)
    return impulses, ((2.0 * z + change) * change).sum(axis=1) / (z * z).sum(axis=1)


def random_batch(rng: np.random.Generator, count: int) -> tuple[Array, ...]:
    """Coefficients e, e_t and μ of so many collisions, with their impulses and gains."""
    n = int(rng.integers(3, MOST))
    scales = 10.0 ** rng.uniform(-2.0, 2.0, (count, 1, n))  # masses that differ by eight decades
    rows = rng.normal(size=(count, 3, n)) * scales
    rows[::2, 2] = rows[::2, 0] * rng.normal(size=(len(rows[::2]), 1)) + rows[::2, 1]
    z = rng.normal(size=(count, n)) * 10.0 ** rng.uniform(-3.0, 3.0, (count, 1))
    coefficients = np.column_stack(
        [rng.random(count), rng.uniform(-1.0, 1.0, count), 10.0 ** rng.uniform(-3, 1, count)]
    )
    ends = rng.integers(0, 4, (count, 3))
    coefficients[:, 0] = np.choose(ends[:, 0], [0.0, 1.0, coefficients[:, 0], coefficients[:, 0]])
    coefficients[:, 1] = np.choose(ends[:, 1], [-1.0, 1.0, coefficients[:, 1], coefficients[:, 1]])
    coefficients[:, 2] = np.choose(ends[:, 2], [0.0, coefficients[:, 2], coefficients[:, 2], coefficients[:, 2]])
    return coefficients, *collide(rows, z, coefficients)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng, done, worst = np.random.default_rng(given.seed), 0, -np.inf
    while done < given.count:
        size = min(BATCH, given.count - done)
        worst = max(worst, float(random_batch(rng, size)[-1].max()))
        done += size
    print(f"{done} collisions; the largest gain of energy is {worst:.1e} of it")
    sys.exit(worst > ROUNDING)


if __name__ == "__main__":
    main()

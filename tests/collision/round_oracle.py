"""Round solids and others by their formulas, in NumPy, for many directions and points: what answers are held to."""

import numpy as np

import kinemorph as km
from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.geometry.polyhedron import core_of


def support(shape, n):
    """The farthest points of a shape along directions (..., 3)."""
    kind, size = str(shape.kind), shape.size
    if kind == "box":
        return np.where(n >= 0.0, 0.5, -0.5) * np.array(size)
    if kind == "sphere":
        return size[0] * n / np.linalg.norm(n, axis=-1, keepdims=True)
    if kind == "capsule":
        along = np.zeros(n.shape)
        along[..., 2] = np.where(n[..., 2] >= 0.0, 0.5, -0.5) * size[1]
        return along + size[0] * n / np.linalg.norm(n, axis=-1, keepdims=True)
    aside = np.hypot(n[..., 0], n[..., 1])
    low, high = size[0], (0.0 if kind == "cone" else size[0])
    top = high * aside + 0.5 * size[1] * n[..., 2] > low * aside - 0.5 * size[1] * n[..., 2]
    x = np.zeros(n.shape)
    x[..., :2] = (np.where(top, high, low) / np.where(aside > 0.0, aside, 1.0))[..., None] * n[..., :2]
    x[..., 2] = np.where(top, 0.5, -0.5) * size[1]
    return x


def outside(shape, x):
    """How far points (..., 3) are outside of a shape; 0 for those that are not."""
    kind, size = str(shape.kind), shape.size
    if kind == "box":
        return np.linalg.norm(np.maximum(np.abs(x) - 0.5 * np.array(size), 0.0), axis=-1)
    if kind in ("sphere", "capsule"):
        z = np.clip(x[..., 2], -0.5 * size[1], 0.5 * size[1]) if kind == "capsule" else 0.0
        return np.maximum(np.sqrt(x[..., 0] ** 2 + x[..., 1] ** 2 + (x[..., 2] - z) ** 2) - size[0], 0.0)
    r, z, half = np.hypot(x[..., 0], x[..., 1]), x[..., 2], 0.5 * size[1]
    if kind == "cylinder":
        return np.hypot(np.maximum(r - size[0], 0.0), np.maximum(np.abs(z) - half, 0.0))
    share = np.clip(((z + half) * size[1] - (r - size[0]) * size[0]) / (size[0] ** 2 + size[1] ** 2), 0.0, 1.0)
    side = np.hypot(r - size[0] * (1.0 - share), z + half - share * size[1])
    within = (z >= -half) & (r <= size[0] * (half - z) / size[1])
    below = np.hypot(np.maximum(r - size[0], 0.0), z + half)
    return np.where(within, 0.0, np.where(z < -half, np.minimum(below, side), side))


def apart(a, b, R, p, n):
    """How far b, turned by R (k, 3, 3) and moved to p (k, 3), is from a along directions n (k, m, 3)."""
    inside = np.einsum("kji,kmj->kmi", R, -n)
    x = np.einsum("kij,kmj->kmi", R, support(b, inside)) + p[:, None]
    return (n * (x - support(a, n))).sum(axis=-1)


def best_apart(a, b, R, p, rng, starts):
    """The most that can be found by trying: directions all over the sphere, then nearer and nearer to the best one."""
    n = rng.normal(size=(len(p), 2000, 3))
    n = np.concatenate([n / np.linalg.norm(n, axis=-1, keepdims=True), starts[:, None]], axis=1)
    scale = 0.3
    while True:
        f = apart(a, b, R, p, n)
        best = n[np.arange(len(p)), f.argmax(axis=1)]
        if scale < 1e-9:
            return f.max(axis=1)
        n = best[:, None] + scale * rng.normal(size=(len(p), 60, 3))
        n = np.concatenate([n / np.linalg.norm(n, axis=-1, keepdims=True), best[:, None]], axis=1)
        scale *= 0.7


def turns(rng, count):
    q = rng.normal(size=(count, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), 2, 0)


def placed(a, b, R, p, distance=None):
    """Pairs of two shapes at these poses; moved along their normals until they are `distance` apart, if it is said."""
    (one, r1), (other, r2) = core_of(a), core_of(b)
    pairs = CorePairs([(one, other)] * len(p), (r1, r2))
    pairs.rows["R"], pairs.rows["p"] = R.reshape(-1, 9), p
    rows = pairs.update()
    if distance is not None:
        for _ in range(3):
            rows["p"] -= (rows["distance"] - distance)[:, None] * rows["normal"]
            rows = pairs.update()
    return pairs


ROUND = {
    "can": km.Shape.cylinder(0.1, 0.3),
    "coin": km.Shape.cylinder(0.2, 0.02),
    "rod": km.Shape.cylinder(0.03, 0.5),
    "cone": km.Shape.cone(0.15, 0.4),
}
OTHERS = {
    "box": km.Shape.box((0.3, 0.2, 0.25)),
    "plate": km.Shape.box((0.6, 0.5, 0.02)),
    "ball": km.Shape.sphere(0.1),
    "capsule": km.Shape.capsule(0.05, 0.3),
    "tin": km.Shape.cylinder(0.12, 0.2),
    "disc": km.Shape.cylinder(0.25, 0.03),
    "hat": km.Shape.cone(0.2, 0.1),
}

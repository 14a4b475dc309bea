"""Distance, contacts and rays for Python: two shapes of any kind, each at its pose.

A shape is a `Shape`, a `Polyhedron` (with a radius around it as a pair: `(core, radius)`), `Parts` for concave bodies,
or a `Ground`. Answers are in the frame that the poses are given in, and normals point from the first shape to the
second. A `Pair` remembers features from call to call; the functions are for a single question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinemorph.collision.concave import search_of
from kinemorph.collision.features import Feature
from kinemorph.collision.ground import BODY, survey_of
from kinemorph.collision.ground_contacts import ground_contacts_of
from kinemorph.collision.manifold import CONTACT, ROOM, contact_features, contact_id, manifold_of, track_of
from kinemorph.collision.narrow import State, make_pairs, make_work, update
from kinemorph.collision.near import STACK, Near
from kinemorph.collision.rays import FAR
from kinemorph.geometry.ground import Ground
from kinemorph.geometry.parts import Parts
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.pose import Matrix, Pose, Vector

Solid: TypeAlias = Shape | Polyhedron | tuple[Polyhedron, float] | Parts | Ground
Core: TypeAlias = tuple[Polyhedron, float]  # with the radius around it
Named: TypeAlias = tuple[Feature, int]  # a feature of a core, or of the ground: what it is, and its row


ORIGIN = Pose()
TOUCH = 1e-9  # m: the direction between features that are so close is noise


class Distance(NamedTuple):
    """How far two shapes are apart."""

    distance: float  # m; negative: how deep they overlap
    normal: Vector  # unit, from the first to the second
    point_a: Vector  # m, on the first
    point_b: Vector  # m, on the second: point_b - point_a = distance normal
    feature_a: Named | None = None  # the closest ones; None where cores overlap
    feature_b: Named | None = None
    part_a: int = 0  # which part of a concave body, or triangle of the ground
    part_b: int = 0


class Contact(NamedTuple):
    """A point where two shapes carry each other.

    Where cores overlap in one point without faces that meet, the features are those from before they did.
    """

    distance: float  # m, along the normal; negative: depth
    normal: Vector  # unit, from the first to the second
    point_a: Vector  # m, on the first
    point_b: Vector  # m, on the second
    feature_a: Named
    feature_b: Named
    part_a: int = 0
    part_b: int = 0

    @property
    def id(self) -> tuple[int, ...]:
        """The same from call to call, while the contact stays: its parts and features."""
        return self.part_a, *map(int, self.feature_a), self.part_b, *map(int, self.feature_b)


def distance(a: Solid, pose_a: Pose | None, b: Solid, pose_b: Pose | None) -> Distance:
    """Distance or depth, normal and closest points of two shapes; None is the pose of the frame itself."""
    return Pair(a, b).distance(pose_a, pose_b)


def contacts(
    a: Solid, pose_a: Pose | None, b: Solid, pose_b: Pose | None, margin: float = 0.0, most: int = 4
) -> list[Contact]:
    """Where two shapes carry each other: the points no farther apart than `margin`, at most `most` well-spread ones.

    Of a concave body or the ground, so many of each pair of parts or each direction of the ground.
    """
    return Pair(a, b).contacts(pose_a, pose_b, margin, most)


class Pair:
    """Two shapes that are asked about again and again: each answer starts from the one before."""

    def __init__(self, a: Solid, b: Solid) -> None:
        self._shapes = a, b
        self._flip = isinstance(b, Ground)
        first, second = (b, a) if self._flip else (a, b)
        self._at_a, self._at_b = (shape.pose if isinstance(shape, Shape) else None for shape in (a, b))
        self._work = make_work()
        self._contacts = np.zeros((2, ROOM), CONTACT)
        self._query: _Convex | _Concave | _OnGround
        if isinstance(first, Ground):
            if isinstance(second, Ground):
                raise ValueError(f"{a!r} and {b!r} are both ground: they do not move, and nothing tells them apart")
            self._query = _OnGround(first, second)
        elif isinstance(first, Parts) or isinstance(second, Parts):
            self._query = _Concave(first, second)
        else:
            self._query = _Convex(first, second)

    def __reduce__(self) -> Any:  # rows hold addresses: a copy needs its own, and begins afresh
        return Pair, self._shapes

    def distance(self, pose_a: Pose | None, pose_b: Pose | None) -> Distance:
        """See `kinemorph.distance`."""
        R, p, relative = self._frames(pose_a, pose_b)
        d = self._query.distance(*relative, self._work) if np.abs(relative[1]).max() < FAR else None
        if d is None or not math.isfinite(d.distance):
            raise ValueError(f"distance: the shapes are too far apart for a number, {relative[1].tolist()} m")
        x1, x2, n = p + R @ d.point_a, p + R @ d.point_b, R @ d.normal
        if self._flip:
            return Distance(d.distance, -n, x2, x1, d.feature_b, d.feature_a, d.part_b, d.part_a)
        return Distance(d.distance, n, x1, x2, *d[4:])

    def contacts(self, pose_a: Pose | None, pose_b: Pose | None, margin: float = 0.0, most: int = 4) -> list[Contact]:
        """See `kinemorph.contacts`."""
        if not 0.0 <= margin < math.inf:
            raise ValueError(f"contacts: margin {margin} must be finite and not negative")
        if not 1 <= most <= ROOM:
            raise ValueError(f"contacts: most is {most}; expected 1 to {ROOM}")
        R, p, relative = self._frames(pose_a, pose_b)
        found = []
        for row, i, j in self._query.contacts(*relative, float(margin), int(most), self._work, self._contacts):
            k1, i1, k2, i2 = contact_features(int(row["id"]))
            x1, x2, n = p + R @ row["x1"], p + R @ row["x2"], R @ row["normal"]
            f1, f2 = (Feature(k1), i1), (Feature(k2), i2)
            if self._flip:
                found.append(Contact(float(row["distance"]), -n, x2, x1, f2, f1, j, i))
            else:
                found.append(Contact(float(row["distance"]), n, x1, x2, f1, f2, i, j))
        return found

    def track(
        self, contact: Contact | Distance, pose_a: Pose | None, pose_b: Pose | None, slack: float = 1e-3
    ) -> Contact | None:
        """Where a contact is now, without a new search; None if it is none any more (Fontijne 2.4.2).

        It moves to where its two features are closest. It stays a contact while these points are no farther apart than
        `slack` (m) and lie in the Voronoi regions of each other's feature, to within `slack`; so features may also
        sink so far into each other. On the ground, which decides as a whole what carries, it is looked up by its id.
        """
        if not 0.0 <= slack < math.inf:
            raise ValueError(f"track: slack {slack} must be finite and not negative")
        if contact.feature_a is None or contact.feature_b is None:
            raise ValueError("track: there are no features to follow: the cores overlap, or it is a distance of ground")
        if isinstance(self._query, _OnGround):
            name = Contact(*contact).id
            return next((c for c in self.contacts(pose_a, pose_b, slack, ROOM) if c.id == name), None)
        R, p, (turn, shift) = self._frames(pose_a, pose_b)
        features = contact.feature_a, contact.feature_b
        cores = self._query.cores(contact.part_a, contact.part_b)
        _check_features(features, cores)
        pair = make_pairs([(cores[0][0], cores[1][0])], (cores[0][1], cores[1][1]))
        pair["R"], pair["p"] = turn.reshape(9), shift
        row = self._contacts[0, :1]
        row["id"] = contact_id(*map(int, features[0] + features[1]))
        still = track_of(pair, row, float(slack))
        moved = _signed(row[0], R.T @ contact.normal, cores, slack)
        if not still or moved.distance > slack:
            return None
        x1, x2 = p + R @ moved.point_a, p + R @ moved.point_b
        return Contact(moved.distance, R @ moved.normal, x1, x2, *features, contact.part_a, contact.part_b)

    def _frames(self, pose_a: Pose | None, pose_b: Pose | None) -> tuple[Matrix, Vector, tuple[Matrix, Vector]]:
        """The frame of the first of the query, and the second in it."""
        first, second = _at(pose_a, self._at_a, "pose_a"), _at(pose_b, self._at_b, "pose_b")
        if self._flip:
            first, second = second, first
        R, p = first
        return R, p, (R.T @ second[0], R.T @ (second[1] - p))


def _at(pose: Pose | None, local: Pose | None, name: str) -> tuple[Matrix, Vector]:
    if pose is None:
        pose = ORIGIN
    elif not isinstance(pose, Pose):
        raise TypeError(f"{name} must be a km.Pose or None, not {pose!r}")
    if local is None:
        return pose.rotation, pose.position
    return pose.rotation @ local.rotation, pose.apply(local.position)


def _check_features(features: tuple[Named, Named], cores: Sequence[Core]) -> None:
    for feature, (core, _) in zip(features, cores, strict=True):
        if not 0 <= feature[1] < len((core.vertices, core.edges, core.faces)[feature[0]]):
            raise ValueError(f"track: {core} has no feature {feature}: is this a contact of another pair?")


def _signed(row: Any, before: Vector, cores: Sequence[Core], slack: float) -> Distance:
    """A tracked contact as it is. Vertices and edges have no inside: the normal of before says which side is which."""
    r1, r2 = cores[0][1], cores[1][1]
    n, apart = row["normal"].copy(), float(row["distance"]) + r1 + r2  # of the cores
    y, x = row["x1"] - r1 * n, row["x2"] + r2 * n
    k1, _, k2, _ = contact_features(int(row["id"]))
    if Feature.FACE not in (k1, k2):
        if apart <= TOUCH:  # there is no direction between them
            n = before
        elif apart <= slack and n @ before < 0.0:  # they went past each other
            n, apart = -n, -apart
    return Distance(apart - r1 - r2, n, y + r1 * n, x - r2 * n)


def core_and_radius(shape: Any) -> tuple[Polyhedron, float]:
    """What a convex shape is made of."""
    if isinstance(shape, Shape):
        return core_of(shape)
    if isinstance(shape, Polyhedron):
        return shape, 0.0
    if isinstance(shape, tuple) and len(shape) == 2 and isinstance(shape[0], Polyhedron):
        radius = float(shape[1])
        if not 0.0 <= radius < math.inf:
            raise ValueError(f"the radius around {shape[0]!r} is {radius}; expected it finite and not negative")
        return shape[0], radius
    raise TypeError(
        f"expected a Shape, a Polyhedron, a pair of a Polyhedron and a radius, Parts, or ground; got {shape!r}"
    )


class _Convex:
    """A convex shape against another one."""

    def __init__(self, a: Any, b: Any) -> None:
        (first, r1), (second, r2) = self._cores = core_and_radius(a), core_and_radius(b)  # rows hold their addresses
        self._pairs = make_pairs([(first, second)], (r1, r2))

    def cores(self, i: int, j: int) -> Sequence[Core]:
        return self._cores

    def _update(self, R: Matrix, p: Vector, work: Any) -> Any:
        self._pairs["R"], self._pairs["p"] = R.reshape(9), p
        update(self._pairs, work)
        return self._pairs[0]

    def distance(self, R: Matrix, p: Vector, work: Any) -> Distance:
        return _distance_of(self._update(R, p, work))

    def contacts(self, R: Matrix, p: Vector, margin: float, most: int, work: Any, room: Any) -> list[Any]:
        self._update(R, p, work)
        count = manifold_of(self._pairs, margin, most, room[0])
        return [(row, 0, 0) for row in room[0][:count]]


def _distance_of(row: Any, i: int = 0, j: int = 0) -> Distance:
    first = second = None
    if row["state"] != State.DEEP:
        first, second = ((Feature(int(row[f"kind{k}"])), int(row[f"index{k}"])) for k in (1, 2))
    return Distance(float(row["distance"]), row["normal"], row["x1"], row["x2"], first, second, i, j)


class _Concave:
    """Trees of convex parts against each other, or against a convex shape."""

    def __init__(self, a: Any, b: Any) -> None:
        self._a, self._b = (s if isinstance(s, Parts) else _single(s) for s in (a, b))
        if self._a.depth + self._b.depth >= STACK:
            raise ValueError(f"{self._a} and {self._b}: trees of {STACK} levels or more together are not searched")
        self._near = Near()

    def _search(self, R: Matrix, p: Vector, margin: float, threshold: float, work: Any) -> Any:
        pose = np.concatenate([R.reshape(9), p])
        near = self._near
        while True:
            search_of(self._a.handle, self._b.handle, pose, margin, threshold, near.header, work)
            if not near.header["missed"][0]:
                return near.header[0]
            near.make(4 * int(near.header["room"][0]))

    def cores(self, i: int, j: int) -> Sequence[Core]:
        for part, body in ((i, self._a), (j, self._b)):
            if not 0 <= part < len(body.parts):
                raise ValueError(f"track: {body} has no part {part}: a contact of another pair?")
        return (self._a.parts[i], float(self._a.radii[i])), (self._b.parts[j], float(self._b.radii[j]))

    def _parts(self, key: Any) -> tuple[int, int]:
        return int(self._a.nodes["part"][key["i"]]), int(self._b.nodes["part"][key["j"]])

    def distance(self, R: Matrix, p: Vector, work: Any) -> Distance:
        best = int(self._search(R, p, 0.0, math.inf, work)["best"])
        return _distance_of(self._near.rows[best], *self._parts(self._near.keys[best]))

    def contacts(self, R: Matrix, p: Vector, margin: float, most: int, work: Any, room: Any) -> list[Any]:
        self._search(R, p, margin, margin, work)
        found = []
        for k in self._near.picks:
            count = manifold_of(self._near.rows[k : k + 1], margin, most, room[0])
            found += [(row.copy(), *self._parts(self._near.keys[k])) for row in room[0][:count]]
        return found


def _single(shape: Any) -> Parts:
    core, radius = core_and_radius(shape)
    return Parts([core], radius)


class _OnGround:
    """A convex or concave body on the ground. Each part has a list of triangles of its own."""

    def __init__(self, ground: Ground, body: Any) -> None:
        self._ground = ground
        parts = list(zip(body.parts, body.radii, strict=True)) if isinstance(body, Parts) else [core_and_radius(body)]
        self._alive = ground, parts
        self._bodies = np.zeros(len(parts), BODY)
        self._bodies["core"], self._bodies["radius"] = [c.handle for c, _ in parts], [r for _, r in parts]
        self._nears = [Near(16, triangles=True) for _ in parts]

    def _survey(self, k: int, R: Matrix, p: Vector, margin: float, reach: float, work: Any) -> Any:
        body, near = self._bodies[k : k + 1], self._nears[k]
        body["R"], body["p"] = R.reshape(9), p
        while True:
            survey_of(self._ground.handle, body, margin, reach, near.header, work)
            if not near.header["missed"][0]:
                return near.header[0]
            near.make(4 * int(near.header["room"][0]))

    def distance(self, R: Matrix, p: Vector, work: Any) -> Distance:
        best, part, reach = None, 0, math.inf
        for k in range(len(self._bodies)):
            found = self._survey(k, R, p, 0.0, reach, work)
            if best is None or found["distance"] < best["distance"]:
                best, part = found, k
                reach = max(float(found["distance"]), 0.0)
        assert best is not None
        return Distance(
            float(best["distance"]), best["normal"], best["x1"], best["x2"], part_a=int(best["i"]), part_b=part
        )

    def contacts(self, R: Matrix, p: Vector, margin: float, most: int, work: Any, room: Any) -> list[Any]:
        found = []
        for k in range(len(self._bodies)):
            self._survey(k, R, p, margin, margin, work)
            body, near = self._bodies[k : k + 1], self._nears[k].header
            count = ground_contacts_of(self._ground.handle, body, near, margin, most, *room)
            found += [(row.copy(), 0, k) for row in room[0][:count]]
        return found

"""Distance and contacts of two shapes for Python, each shape at its pose.

A shape is a `Shape`, a `Polyhedron` (with a radius around it as a pair: `(core, radius)`), `Parts` for concave bodies,
or a `Ground`. Answers are in the frame of the given poses, and normals point from the first shape to the second. A
`Pair` keeps features from call to call; the functions are for single queries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from kinemorph.collision.collisions import Collisions
from kinemorph.collision.narrow import manifold
from kinemorph.collision.narrow.core_pairs import CorePairs
from kinemorph.collision.narrow.features import Feature
from kinemorph.collision.narrow.manifold import contact_features, contact_id, track_first_contact
from kinemorph.collision.queries.core_rays import LARGEST_RAY_LENGTH
from kinemorph.collision.shapes.shape_rows import POSE, Candidates, PairQuery
from kinemorph.collision.shapes.shape_table import ShapeTable, Solid, core_and_radius
from kinemorph.geometry.convex_parts import Parts
from kinemorph.geometry.ground import Ground
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.geometry.shapes import Shape
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Matrix, Pose, Vector

Core: TypeAlias = tuple[Polyhedron, float]  # with the radius around it
NamedFeature: TypeAlias = tuple[Feature, int]  # a feature of a core, or of the ground: kind and row

IDENTITY_POSE = Pose()
TOUCHING_DISTANCE = 1e-9  # m: the direction between closer features is noise


class Distance(NamedTuple):
    """Distance, normal and closest points of two shapes."""

    distance: float  # m; negative: penetration depth
    normal: Vector  # unit, from the first to the second
    point_a: Vector  # m, on the first
    point_b: Vector  # m, on the second: point_b - point_a = distance normal
    feature_a: NamedFeature | None = None  # the closest ones; None where cores overlap
    feature_b: NamedFeature | None = None
    part_a: int = 0  # part of a concave body, or triangle of the ground
    part_b: int = 0


class Contact(NamedTuple):
    """A contact point of two shapes.

    Where cores overlap in one point without faces that meet, the features are those from before they overlapped.
    """

    distance: float  # m, along the normal; negative: depth
    normal: Vector  # unit, from the first to the second
    point_a: Vector  # m, on the first
    point_b: Vector  # m, on the second
    feature_a: NamedFeature
    feature_b: NamedFeature
    part_a: int = 0
    part_b: int = 0

    @property
    def id(self) -> tuple[int, ...]:
        """Parts and features of the contact: equal from call to call while it persists."""
        return self.part_a, *map(int, self.feature_a), self.part_b, *map(int, self.feature_b)


@checked_on_failure
def distance(a: Solid, pose_a: Pose | None, b: Solid, pose_b: Pose | None) -> Distance:
    """Distance or depth, normal and closest points of two shapes; None is the pose of the frame itself."""
    return Pair(a, b).distance(pose_a, pose_b)


@checked_on_failure
def contacts(
    a: Solid, pose_a: Pose | None, b: Solid, pose_b: Pose | None, margin: float = 0.0, max_contacts: int = 4
) -> list[Contact]:
    """Contacts of two shapes: the points no farther apart than `margin` (m), at most `max_contacts` well-spread ones.

    For a concave body or the ground, `max_contacts` is for each pair of parts or each direction of the ground.
    """
    return Pair(a, b).contacts(pose_a, pose_b, margin, max_contacts)


@checked_on_failure
class Pair:
    """Two shapes for repeated queries: each starts from the features of the one before."""

    __slots__ = ("_collisions", "_flip", "_links", "_shapes")

    def __init__(self, a: Solid, b: Solid) -> None:
        if isinstance(a, Ground) and isinstance(b, Ground):
            raise ValueError(f"{a!r} and {b!r} are both ground: they do not move, and nothing tells them apart")
        self._shapes = a, b
        self._flip = isinstance(b, Ground)  # rows have the ground first
        table = ShapeTable()
        for link, solid in enumerate(self._shapes):
            table.add(solid, link)
        self._collisions = Collisions(table, candidates=Candidates.ALL)
        self._links = np.zeros(3, POSE)

    def __reduce__(self) -> Any:  # a copy has no known features
        return Pair, self._shapes

    def distance(self, pose_a: Pose | None, pose_b: Pose | None) -> Distance:
        """See `kinemorph.distance`."""
        apart = self._place(pose_a, pose_b)
        row = self._ask(PairQuery.DISTANCE, 0.0, 1)[0] if np.abs(apart).max() < LARGEST_RAY_LENGTH else None
        if row is None or not math.isfinite(row["distance"]):
            raise ValueError(f"distance: the shapes are too far apart for a number, {apart.tolist()} m")
        return Distance(*self._told(row))

    def contacts(
        self, pose_a: Pose | None, pose_b: Pose | None, margin: float = 0.0, max_contacts: int = 4
    ) -> list[Contact]:
        """See `kinemorph.contacts`."""
        if not 0.0 <= margin < math.inf:
            raise ValueError(f"contacts: margin {margin} must be finite and not negative")
        if not 1 <= max_contacts <= manifold.MANIFOLD_ROWS:
            raise ValueError(f"contacts: max_contacts is {max_contacts}; expected 1 to {manifold.MANIFOLD_ROWS}")
        self._place(pose_a, pose_b)
        return [Contact(*self._told(row)) for row in self._ask(PairQuery.CONTACTS, margin, max_contacts)]

    def track(
        self, contact: Contact | Distance, pose_a: Pose | None, pose_b: Pose | None, slack: float = 1e-3
    ) -> Contact | None:
        """Follow a contact without a new search. Returns None if it is no longer one (Fontijne 2.4.2).

        It moves to the closest points of its two features. It stays a contact while these are no farther apart than
        `slack` (m) and lie in the Voronoi regions of each other's feature, to within `slack`; so features may also
        overlap by that much. Contacts on the ground, which are chosen on the whole surface, and on round shapes are
        looked up by their ids.
        """
        if not 0.0 <= slack < math.inf:
            raise ValueError(f"track: slack {slack} must be finite and not negative")
        if not isinstance(contact, Contact | Distance):
            raise TypeError(f"track: it follows a kinemorph.Contact or Distance, not {repr_of(contact)}")
        if contact.feature_a is None or contact.feature_b is None:
            raise ValueError("track: there are no features to follow: the cores overlap, or it is a distance of ground")
        if any(isinstance(shape, Ground) or _is_round(shape) for shape in self._shapes):
            name = Contact(*contact).id
            return next((c for c in self.contacts(pose_a, pose_b, slack, manifold.MANIFOLD_ROWS) if c.id == name), None)
        (R, p), (R2, p2) = (_at(pose, shape, name) for pose, shape, name in self._posed(pose_a, pose_b))
        features = contact.feature_a, contact.feature_b
        cores = self._core(0, contact.part_a), self._core(1, contact.part_b)
        _check_features(features, cores)
        pairs = CorePairs([(cores[0][0], cores[1][0])], (cores[0][1], cores[1][1]))
        pairs.rows["R"], pairs.rows["p"] = (R.T @ R2).reshape(9), R.T @ (p2 - p)
        row = np.zeros(1, manifold.MANIFOLD_POINT)
        row["id"] = contact_id(*map(int, features[0] + features[1]))
        still = track_first_contact(pairs.rows, row, float(slack))
        moved = _signed(row[0], R.T @ contact.normal, cores, slack)
        if not still or moved.distance > slack:
            return None
        x1, x2 = p + R @ moved.point_a, p + R @ moved.point_b
        return Contact(moved.distance, R @ moved.normal, x1, x2, *features, contact.part_a, contact.part_b)

    def _posed(self, pose_a: Pose | None, pose_b: Pose | None) -> Any:
        return zip((pose_a, pose_b), self._shapes, ("pose_a", "pose_b"), strict=True)

    def _place(self, pose_a: Pose | None, pose_b: Pose | None) -> Vector:
        """Write the poses of the two. Returns the vector (m) from the first to the second."""
        for link, name in zip(self._links[1:], ("pose_a", "pose_b"), strict=True):
            pose = _checked(pose_a if name == "pose_a" else pose_b, name)
            link["R"], link["p"] = pose.rotation.reshape(9), pose.position
        return self._links["p"][2] - self._links["p"][1]

    def _ask(self, question: PairQuery, margin: float, max_contacts: int) -> Any:
        """Contact rows of the answer."""
        found = self._collisions
        header = found.header
        header["question"], header["margin"], header["max_contacts"] = question, margin, max_contacts
        found.update(self._links)
        return found.contacts

    def _told(self, row: Any) -> tuple[Any, ...]:
        """A contact row in the order of the fields of `Contact` and `Distance`."""
        d, n, x1, x2 = float(row["distance"]), row["normal"].copy(), row["x1"].copy(), row["x2"].copy()
        f1 = f2 = None
        if row["id"] != manifold.NO_FEATURES:
            k1, i1, k2, i2 = contact_features(int(row["id"]))
            f1, f2 = (Feature(k1), i1), (Feature(k2), i2)
        i, j = int(row["part1"]), int(row["part2"])
        return (d, -n, x2, x1, f2, f1, j, i) if self._flip else (d, n, x1, x2, f1, f2, i, j)

    def _core(self, which: int, part: int) -> Core:
        body = self._collisions.shapes.body(which)
        assert isinstance(body, Parts)
        if not 0 <= part < len(body.parts):
            raise ValueError(f"track: {body} has no part {part}: a contact of another pair?")
        return body.parts[part], float(body.radii[part])


def _is_round(shape: Solid) -> bool:
    return isinstance(shape, Shape) and core_and_radius(shape)[0].discs is not None


def _checked(pose: Pose | None, name: str) -> Pose:
    if pose is None:
        return IDENTITY_POSE
    if not isinstance(pose, Pose):
        raise TypeError(f"{name} must be a km.Pose or None, not {repr_of(pose)}")
    return pose


def _at(pose: Pose | None, shape: Solid, name: str) -> tuple[Matrix, Vector]:
    pose = _checked(pose, name)
    if not isinstance(shape, Shape):
        return pose.rotation, pose.position
    return pose.rotation @ shape.pose.rotation, pose.apply(shape.pose.position)


def _check_features(features: tuple[NamedFeature, NamedFeature], cores: Sequence[Core]) -> None:
    for feature, (core, _) in zip(features, cores, strict=True):
        if not 0 <= feature[1] < len((core.vertices, core.edges, core.faces)[feature[0]]):
            raise ValueError(f"track: {core} has no feature {feature}: is this a contact of another pair?")


def _signed(row: Any, before: Vector, cores: Sequence[Core], slack: float) -> Distance:
    """A tracked contact with its signed distance. Vertices and edges have no inside: the previous normal decides."""
    r1, r2 = cores[0][1], cores[1][1]
    n, apart = row["normal"].copy(), float(row["distance"]) + r1 + r2  # of the cores
    y, x = row["x1"] - r1 * n, row["x2"] + r2 * n
    k1, _, k2, _ = contact_features(int(row["id"]))
    if Feature.FACE not in (k1, k2):
        if apart <= TOUCHING_DISTANCE:  # there is no direction between them
            n = before
        elif apart <= slack and n @ before < 0.0:  # they went past each other
            n, apart = -n, -apart
    return Distance(apart - r1 - r2, n, y + r1 * n, x - r2 * n)

"""From boxes to contact points in kernels: the same as pair by pair, in the order of ids, whatever the tables."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.collision.samples import hull

import kinemorph as km
from kinemorph.collision.collide import collide
from kinemorph.collision.collisions import Collisions
from kinemorph.collision.narrow.manifold import contact_features
from kinemorph.collision.shapes.shape_rows import COLLISIONS, PAIR, POSE
from kinemorph.geometry.polyhedron import Polyhedron
from kinemorph.jit.api import entry, rows_at

pytestmark = pytest.mark.quick

COPIES = [copy.copy, copy.deepcopy, lambda thing: pickle.loads(pickle.dumps(thing))]
BOX, BALL = km.Shape.box((1.0, 1.0, 1.0)), km.Shape.sphere(0.5)


def ring(n: int = 6, radius: float = 0.0) -> km.Parts:
    box = Polyhedron.box((0.3, 0.7, 0.3))
    turned = [km.Pose.turn((0, 0, 1), 2.0 * np.pi * k / n) @ km.Pose((0.6, 0.0, 0.0)) for k in range(n)]
    return km.Parts([box.moved(pose) for pose in turned], radius)


def kinds(rng: np.random.Generator) -> list[Any]:
    return [
        *(BOX, BALL, km.Shape.capsule(0.2, 0.6, km.Pose.rpy(0.3, 0.2, 0.1, (0.1, 0.0, 0.0)))),
        *(km.Shape.cylinder(0.3, 0.8), hull(rng, 20, 0.6), (hull(rng, 12, 0.4), 0.1), ring(), ring(5, 0.05)),
    ]


class Crowd:
    """Shapes of all kinds that fly in a cube over ground of all kinds, and a `Collisions` of them."""

    def __init__(self, n: int, seed: int = 0, side: float = 4.0, grounds: bool = True, **settings: Any) -> None:
        self.rng = np.random.default_rng(seed)
        solids, self.solids, self.side, self.n = kinds(self.rng), {}, side, n
        self.table = km.ShapeTable()
        field = km.HeightField(0.1 * self.rng.normal(size=(7, 8)), (2.0 * side, 2.0 * side))
        low = km.Pose((0.0, 0.0, -0.5 * side))
        for ground in (km.HalfSpace((1.0, 0.0, 0.0), -0.5 * side), field, km.Terrain(field.mesh)) if grounds else ():
            self.remember(self.table.add(ground, pose=low), ground, -1, low)
        for link in range(n):
            solid, pose = solids[link % len(solids)], km.Pose.rpy(0.1, 0.0, 0.2, (0.05, 0.0, 0.0))
            self.remember(self.table.add(solid, link, pose), solid, link, pose)
        self.x = self.rng.uniform(-0.5, 0.5, (n, 3)) * side
        self.v = self.rng.normal(size=(n, 3)) * 0.05
        self.turn = Rotation.random(n, random_state=self.rng)
        self.spin = Rotation.from_rotvec(self.rng.normal(size=(n, 3)) * 0.05)
        self.found = Collisions(self.table, **settings)

    def remember(self, id: int, solid: Any, link: int, pose: km.Pose) -> None:
        self.solids[id] = solid, link, pose

    def move(self) -> None:
        self.x += self.v
        self.v[np.abs(self.x) > 0.5 * self.side] *= -1.0
        self.turn = self.spin * self.turn

    @property
    def links(self) -> Any:
        rows = np.zeros(self.n + 1, POSE)
        rows["R"][0] = np.eye(3).reshape(9)
        rows["R"][1:], rows["p"][1:] = self.turn.as_matrix().reshape(-1, 9), self.x
        return rows

    def pose(self, id: int) -> km.Pose:
        _, link, pose = self.solids[id]
        return pose if link < 0 else km.Pose(self.x[link], self.turn[link].as_matrix()) @ pose

    def step(self) -> Collisions:
        self.move()
        self.found.update(self.links)
        return self.found


def seen(found: Collisions) -> tuple[bytes, bytes]:
    """All that was found, bit for bit, but for rows of memory, which depend on the past."""
    pairs = found.pairs.copy()
    pairs["row"] = 0
    return pairs.tobytes(), found.contacts.tobytes()


def in_order(found: Collisions) -> bool:
    ij = np.sort(np.column_stack([found.pairs["a"], found.pairs["b"]]), axis=1)
    firsts = np.cumsum(found.pairs["count"]) - found.pairs["count"]
    sorted_ids = np.array_equal(ij, ij[np.lexsort((ij[:, 1], ij[:, 0]))])
    return bool(sorted_ids and np.array_equal(firsts, found.pairs["first"]) and (ij[:, 0] != ij[:, 1]).all())


def expected_pairs(crowd: Crowd, margin: float) -> dict[tuple[int, int], list[km.Contact]]:
    """The contacts of all pairs of shapes, one pair after the other, ground first."""
    table, contacts = crowd.table, {}
    ids = list(crowd.solids)
    for k, a in enumerate(ids):
        for b in ids[k + 1 :]:
            if isinstance(crowd.solids[b][0], km.Ground) or crowd.solids[a][1] == crowd.solids[b][1]:
                continue
            listed = km.contacts(crowd.solids[a][0], crowd.pose(a), crowd.solids[b][0], crowd.pose(b), margin)
            if listed:
                contacts[table.row_of(a), table.row_of(b)] = listed
    return contacts


# --- the same as pair by pair ---


def test_contacts_are_those_of_all_pairs_of_shapes() -> None:
    """Nothing is missed and nothing invented: world points, normals from a to b, distances, features, parts."""
    crowd = Crowd(40, side=3.5, margin=0.02)
    kinds_seen, same = set(), []
    for _ in range(4):
        followed = crowd.step()
        found = Collisions(crowd.table, margin=0.02)
        found.update(crowd.links)
        assert in_order(followed)
        assert np.array_equal(followed.pairs[["a", "b", "count"]], found.pairs[["a", "b", "count"]])
        np.testing.assert_allclose(followed.pairs["distance"], found.pairs["distance"], atol=1e-8)
        expected = expected_pairs(crowd, 0.02)
        told = {(int(p["a"]), int(p["b"])): found.contacts_of(p) for p in found.pairs if p["count"]}
        assert told.keys() == expected.keys()
        for ab, rows in told.items():
            kinds_seen.add(tuple(int(crowd.table.rows["form"][row]) for row in ab))
            assert len(rows) == len(expected[ab])
            np.testing.assert_allclose(rows["x2"] - rows["x1"], rows["distance"][:, None] * rows["normal"], atol=1e-14)
            assert found.pairs["distance"][rows["pair"][0]] == rows["distance"].min()
            assert rows["distance"].min() == pytest.approx(min(c.distance for c in expected[ab]), abs=1e-9)
            names = [(int(r["part1"]), *contact_features(int(r["id"])), int(r["part2"])) for r in rows]
            names = [(i, k1, i1, j, k2, i2) for i, k1, i1, k2, i2, j in names]
            same.append(names == [contact.id for contact in expected[ab]])
            for row, contact in zip(rows, expected[ab], strict=True) if same[-1] else ():
                assert row["distance"] == pytest.approx(contact.distance, abs=1e-9)
                np.testing.assert_allclose(row["normal"], contact.normal, atol=1e-6)
                np.testing.assert_allclose(row["x1"], contact.point_a, atol=1e-6)
    assert np.mean(same) > 0.95  # of points that are equally deep, rounding may choose others
    assert kinds_seen == {(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)}


def test_distances_are_those_of_all_pairs_of_shapes() -> None:
    crowd = Crowd(12, question=km.PairQuery.DISTANCE, candidates=km.Candidates.ALL)
    for _ in range(3):
        found = crowd.step()
        assert in_order(found)
        assert len(found.pairs) == 12 * 11 // 2 + 3 * 12
        for pair, row in zip(found.pairs, found.contacts, strict=True):
            a, b = (crowd.table.id_at(int(pair[side])) for side in "ab")
            d = km.distance(crowd.solids[a][0], crowd.pose(a), crowd.solids[b][0], crowd.pose(b))
            assert pair["exact"] == 1
            assert pair["distance"] == row["distance"] == pytest.approx(d.distance, abs=1e-8)
            np.testing.assert_allclose(row["x2"] - row["x1"], row["distance"] * row["normal"], atol=1e-14)
            if d.distance > 1e-6:
                np.testing.assert_allclose(row["normal"], d.normal, atol=1e-5)
                np.testing.assert_allclose(row["x1"], d.point_a, atol=1e-5)


def test_hulls_open_only_below_the_threshold() -> None:
    table = km.ShapeTable()
    table.add(ring(), 0)
    table.add(BALL, 1)
    near = Collisions(table, question=km.PairQuery.DISTANCE, candidates=km.Candidates.ALL, threshold=0.5)
    true = km.Pair(ring(), BALL)
    for z, exact in ((3.0, 0), (0.9, 1), (3.0, 0), (0.0, 1)):
        near.update([km.Pose(), km.Pose((0.0, 0.0, z))])
        (pair,), (contact,) = near.pairs, near.contacts
        assert pair["exact"] == exact
        assert contact["part1"] == (-1 if not exact else contact["part1"])
        expected = true.distance(None, km.Pose((0.0, 0.0, z))).distance
        assert pair["distance"] <= expected + 1e-9
        if exact:
            assert pair["distance"] == pytest.approx(expected, abs=1e-9)
    assert near.numbers["opened"] == 2


@entry
def one_call(address: int, links: Any) -> int:
    """What a world does: the whole way inside a kernel."""
    return collide(rows_at(address, 1, COLLISIONS)[0], links)


def test_a_kernel_goes_the_whole_way_in_one_call() -> None:
    crowd, again = Crowd(24, margin=0.02), Crowd(24, margin=0.02)
    for _ in range(3):
        crowd.step()
        again.move()
        links = again.links
        if again.found._seen != again.table.revision:
            again.found.update(links)  # boxes of new shapes come into the hash
        else:
            while one_call(again.found.lend(), links) == 1:
                again.found.grow()
        assert seen(crowd.found) == seen(again.found)


# --- who meets whom ---


def meeting(table: km.ShapeTable, links: int = 4, **settings: Any) -> list[tuple[int, int]]:
    found = Collisions(table, **settings)
    found.update([km.Pose()] * links)
    return [(int(p["a"]), int(p["b"])) for p in found.pairs]


@pytest.mark.parametrize("candidates", km.Candidates)
def test_links_groups_the_base_and_ground(candidates: km.Candidates) -> None:
    table = km.ShapeTable()
    table.add(BOX, 0)
    table.add(BALL, 0)  # on the same link
    table.add(BOX, 1)
    table.add(BOX)  # on the base
    table.add(km.HalfSpace())
    table.add(km.HeightField(np.zeros((2, 2)), (9.0, 9.0)), 2)  # ground that moves
    table.add(BOX, 3, group=4, mask=8)
    assert meeting(table, candidates=candidates) == [(0, 2), (0, 3), (4, 0), (5, 0), (1, 2), (1, 3), (4, 1), (5, 1)] + [
        (2, 3), (4, 2), (5, 2)]  # fmt: skip


def test_a_pair_of_shapes_is_ignored_until_it_is_heeded() -> None:
    table = km.ShapeTable()
    a, b, c = (table.add(BOX, link) for link in range(3))
    found, poses = Collisions(table), [km.Pose()] * 3
    found.update(poses)
    found.ignore(a, b)
    found.update(poses)
    assert [(p["a"], p["b"]) for p in found.pairs] == [(0, 2), (1, 2)]
    table.remove(b)
    with pytest.raises(ValueError, match=f"shape {b} was removed"):
        found.heed(a, b)
    found.heed(a, c)
    new = table.add(BOX, 1)
    found.update(poses)
    assert (table.row_of(new), len(found.pairs)) == (1, 3)  # a new shape in an old row is not ignored
    everything = Collisions(table, candidates=km.Candidates.ALL)
    with pytest.raises(ValueError, match="there is no broad phase"):
        everything.ignore(a, c)


def test_shapes_on_the_base_and_ground_that_moves_are_where_they_are_put() -> None:
    table = km.ShapeTable()
    wall = table.add(BOX, pose=km.Pose((5.0, 0.0, 0.0)))
    table.add(km.HeightField(np.zeros((3, 3)), (4.0, 4.0)), 1)
    table.add(BALL, 0)
    found = Collisions(table, margin=0.01)
    for height in (0.0, 0.3):
        found.update([km.Pose((0.0, 0.0, 0.499 + height)), km.Pose((0.0, 0.0, height))])
        assert found.contacts["distance"].tolist() == pytest.approx([-0.001])
    table.move(wall, pose=km.Pose((0.995, 0.0, 0.8)))
    found.update([km.Pose((0.0, 0.0, 0.8)), km.Pose()])
    assert found.contacts["distance"].tolist() == pytest.approx([-0.005])
    np.testing.assert_allclose(found.contacts["normal"], [(-1.0, 0.0, 0.0)], atol=1e-12)


def test_a_fast_shape_is_looked_at_from_as_far_as_it_may_come() -> None:
    table = km.ShapeTable()
    table.add(BOX, 0)
    table.add(BOX, 1)
    found, poses = Collisions(table, margin=0.01), [km.Pose(), km.Pose((1.2, 0.0, 0.0))]
    found.update(poses)
    assert len(found.pairs) == 0
    found.places["sweep"] = (0.05, 0.15)
    found.update(poses)
    assert len(found.contacts) == 4
    np.testing.assert_allclose(found.contacts["distance"], 0.2)


# --- what is kept, and what must not be ---


def test_a_recycled_row_inherits_nothing() -> None:
    """Shapes come and go while rows of shapes, of boxes and of pairs are used again: each step is as if it were the
    first. What is inherited would be features that the new shape does not have."""
    rng = np.random.default_rng(1)
    solids = [
        hull(rng, 200, 0.7),
        Polyhedron.box((1, 1, 1)),
        Polyhedron.point(),
        Polyhedron.segment(1.0),
        ring(9),
        ring(4),
    ]
    table, ids = km.ShapeTable(), {}
    found = Collisions(table, question=km.PairQuery.DISTANCE, candidates=km.Candidates.CLOSE)
    for link in range(10):
        ids[link] = table.add(solids[link % 6], link)
    recycled = 0
    for _ in range(60):
        poses = [km.Pose(rng.uniform(-0.8, 0.8, 3), Rotation.random(random_state=rng).as_matrix()) for _ in range(10)]
        link = int(rng.integers(10))
        before = table.row_of(ids[link])
        table.remove(ids[link])
        ids[link] = table.add(solids[int(rng.integers(6))], link)
        recycled += table.row_of(ids[link]) == before
        found.update(poses)
        fresh = Collisions(table, question=km.PairQuery.DISTANCE, candidates=km.Candidates.CLOSE)
        fresh.update(poses)
        known = {(p["a"], p["b"]): p["distance"] for p in found.pairs}
        assert all(known[p["a"], p["b"]] == pytest.approx(p["distance"], abs=1e-8) for p in fresh.pairs)
    assert recycled == 60
    assert found._tables["memory"]["life"].max() > 10  # rows of pairs have been used again as well


def test_memory_belongs_to_a_pair_of_shapes_and_to_a_life_of_its_row() -> None:
    table = km.ShapeTable()
    a, b = table.add(BOX, 0), table.add(BOX, 1)
    found = Collisions(table, question=km.PairQuery.DISTANCE, candidates=km.Candidates.CLOSE)
    near, far = [km.Pose(), km.Pose((1.1, 0.0, 0.0))], [km.Pose(), km.Pose((500.0, 0.0, 0.0))]

    def stamp() -> tuple[int, ...]:
        memory = found._tables["memory"][int(found.pairs["row"][0])]
        return tuple(int(memory[name]) for name in ("a", "b", "generation_a", "generation_b", "life"))

    found.update(near)
    assert stamp() == (0, 1, 0, 0, 1)
    table.remove(b)
    table.add(BALL, 1)
    found.update(near)
    assert stamp() == (0, 1, 0, 1, 2)
    for _ in range(8):
        found.update(far)
    assert len(found.pairs) == 0
    walked = found.numbers["walked"]
    found.update(near)  # the same two: but what they knew is gone with their pair
    assert stamp() == (0, 1, 0, 1, 3)
    assert found.numbers["walked"] > walked + 1
    assert a in table


def test_a_pair_that_hardly_moves_keeps_its_contacts() -> None:
    """Features and points stay on their shapes, the distance is new; it costs no walk. Beyond the tolerance, anew."""
    table = km.ShapeTable()
    table.add(km.Shape.box((4.0, 4.0, 1.0)), 0)
    table.add(BOX, 1)
    found = Collisions(table, margin=1e-3, keep_within=3e-4)
    frame = km.Pose.rpy(0.3, 0.2, 0.1, (1.0, 2.0, 3.0))

    def at(x: float, z: float, tilt: float = 0.0) -> Any:
        found.update([frame, frame @ km.Pose.rpy(0.0, tilt, 0.0, (x, 0.0, 1.0 + z))])
        return found.contacts.copy()

    first = at(0.0, 0.0)
    assert found.numbers["kept"] == 0
    assert (first["before"] == -1).all()
    updates = found.numbers["updates"]
    for x, z in ((1e-4, 0.0), (0.0, -2e-4), (-1e-4, 1e-4), (0.0, 0.0)):
        kept = at(x, z)
        assert np.array_equal(kept["id"], first["id"])
        assert kept["before"].tolist() == [0, 1, 2, 3]
        np.testing.assert_allclose(kept["distance"], z, atol=1e-12)
        np.testing.assert_allclose(kept["x2"] - kept["x1"], kept["distance"][:, None] * kept["normal"], atol=1e-15)
        np.testing.assert_allclose(kept["x1"], first["x1"], atol=3e-4)
    assert found.numbers["kept"] == 4
    assert found.numbers["updates"] == updates
    tilted = at(0.0, 0.0, 1e-4)  # the far corners move by less than the tolerance
    assert found.numbers["kept"] == 5
    assert np.ptp(tilted["distance"]) == pytest.approx(1e-4, rel=1e-3)
    moved = at(0.1, 0.0)
    assert found.numbers["kept"] == 5
    assert found.numbers["updates"] == updates + 1
    assert moved["before"].tolist() == [first["id"].tolist().index(id) for id in moved["id"]]
    np.testing.assert_allclose(
        moved["x1"] - first["x1"][moved["before"]], [frame.rotation @ (0.1, 0, 0)] * 4, atol=1e-9
    )
    assert len(at(0.1, 1.0)) == 0
    assert (at(0.0, 0.0)["before"] == -1).all()


def test_kept_contacts_of_all_kinds_are_close_to_new_ones() -> None:
    """Followed by small motions, pairs keep contacts or make new ones: never far from those made anew."""
    crowd = Crowd(30, seed=3, margin=5e-3, keep_within=1e-3)
    crowd.v *= 0.002
    crowd.spin = Rotation.from_rotvec(crowd.spin.as_rotvec() * 0.002)
    kept = 0
    for k in range(20):
        found = crowd.step()
        fresh = Collisions(crowd.table, margin=5e-3, keep_within=1e-3)
        fresh.update(crowd.links)
        assert in_order(found)
        assert np.array_equal(found.pairs[["a", "b"]], fresh.pairs[["a", "b"]])
        both = np.isfinite(found.pairs["distance"]) & np.isfinite(fresh.pairs["distance"])
        np.testing.assert_allclose(found.pairs["distance"][both], fresh.pairs["distance"][both], atol=1e-2)
        one_sided = np.isfinite(found.pairs["distance"]) ^ np.isfinite(fresh.pairs["distance"])
        lonely = np.minimum(found.pairs["distance"], fresh.pairs["distance"])[one_sided]
        assert (lonely > 5e-3 - 1e-3).all()  # only just within, or just beyond, the margin
        r = found.contacts["x2"] - found.contacts["x1"]
        np.testing.assert_allclose(r, found.contacts["distance"][:, None] * found.contacts["normal"], atol=1e-14)
        if k:
            kept = found.numbers["kept"]
    assert kept > 100
    assert (found.contacts["before"] >= 0).mean() > 0.8


# --- tables that grow ---


def large(found: Collisions) -> None:
    """Tables that need not grow any more."""
    found._make_contacts(8192)
    found._make_known(8192)
    found._make_search(2048)
    tables = found.broad_phase.hash
    tables._make_pairs(8192)
    tables._make_entries(1 << 16)
    tables._make_tiles(1 << 16)
    found.broad_phase.rebuild()
    found._make_pairs(8192)


@pytest.mark.parametrize(
    "settings",
    [
        {"margin": 0.05},
        {"margin": 0.02, "keep_within": 0.02},
        {"question": km.PairQuery.DISTANCE},
        {"question": km.PairQuery.DISTANCE, "candidates": km.Candidates.CLOSE, "threshold": 0.1},
    ],
)
def test_tables_that_grow_on_the_way_change_no_bit(settings: Any) -> None:
    small, roomy = (Crowd(70, side=3.0, **settings) for _ in range(2))
    large(roomy.found)
    grown = 0
    for k in range(12):
        if k == 6:  # a crush: everything grows in the middle of a step
            small.x *= 0.5
            roomy.x *= 0.5
        before = {name: int(small.found.header[name][0]) for name in ("room", "contact_room", "known_room")}
        assert seen(small.step()) == seen(roomy.step())
        assert small.found.numbers == roomy.found.numbers
        grown += sum(int(small.found.header[name][0]) > room for name, room in before.items())
    assert grown >= 3
    assert len(roomy.found._tables["contacts"]) == 2 * 8192
    assert len(roomy.found.broad_phase.rows) == 8192


def test_order_and_bits_do_not_depend_on_how_shapes_came() -> None:
    """The same shapes in the same rows: whether others were there before, and where they all were, is no matter."""
    crowd, other = Crowd(40, margin=0.02), Crowd(40, margin=0.02)
    ghosts = [other.table.add(BOX, 0, km.Pose((0.1 * k, 0.0, 0.0))) for k in range(9)]
    other.found.update(other.links)
    for ghost in ghosts:
        other.table.remove(ghost)
    far = other.links
    far["p"] = 100.0 * far["p"][::-1] + (1e5, 0.0, 1e5)  # out of the grounds
    for _ in range(8):
        other.found.update(far)
    assert len(other.found.pairs) < 100
    crowd.step()
    other.step()
    for name in ("a", "b", "first", "count", "distance"):
        assert np.array_equal(crowd.found.pairs[name], other.found.pairs[name])
    assert seen(crowd.found)[1] == seen(other.found)[1]


# --- copies ---


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("keep_within", [0.0, 0.01])
def test_a_copy_goes_on_with_the_same_bits(copied: Any, keep_within: float) -> None:
    crowd = Crowd(40, margin=0.02, keep_within=keep_within)
    for _ in range(3):
        crowd.step()
    twin = copied(crowd.found)
    assert seen(twin) == seen(crowd.found)
    links = []
    for _ in range(4):
        crowd.move()
        links.append(crowd.links)
    for rows in links:
        twin.update(rows)
    after = seen(twin)
    assert after != seen(crowd.found)
    for rows in links:
        crowd.found.update(rows)
    assert seen(crowd.found) == after
    assert twin.numbers == crowd.found.numbers
    mine, its = crowd.found.header[0], twin.header[0]
    for name in (
        "shapes",
        "mounts",
        "places",
        "boxes",
        "hash",
        "pairs",
        "memory",
        "contacts",
        "known",
        "search",
        "work",
    ):
        assert mine[name] != its[name]
    crowd.table.remove(crowd.table.ids[-1])
    assert len(twin.shapes) == len(crowd.table) + 1


def _elsewhere(found: Collisions, links: list[Any]) -> tuple[bytes, bytes]:
    for rows in links:
        found.update(rows)
    return seen(found)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_another_process_comes_to_the_same_bits(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{method} is not to be had here")
    crowd = Crowd(20, margin=0.02)
    crowd.step()
    links = []
    for _ in range(3):
        crowd.move()
        links.append(crowd.links)
    with multiprocessing.get_context(method).Pool(1) as pool:
        there = pool.apply_async(_elsewhere, (crowd.found, links)).get(timeout=300)
    assert there == _elsewhere(crowd.found, links)


def test_two_threads_are_told_apart() -> None:
    """One that comes in the middle of an update is refused; each with its own copy gets the right numbers."""
    crowd = Crowd(40, margin=0.02)
    crowd.step()
    links, expected = crowd.links, None
    assert crowd.found._busy.acquire()
    try:
        with pytest.raises(RuntimeError, match=r"another thread .* give each thread a copy"):
            crowd.found.update(links)
    finally:
        crowd.found._busy.release()
    answers: list[tuple[bytes, bytes]] = []

    def work(mine: Collisions) -> None:
        for _ in range(20):
            mine.update(links)
        answers.append(seen(mine))

    threads = [threading.Thread(target=work, args=(copy.copy(crowd.found),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    work(crowd.found)
    expected = answers.pop()
    assert answers == [expected] * 4


# --- bad input ---


def test_a_pose_that_is_not_finite_is_refused_and_names_the_shape() -> None:
    crowd = Crowd(10, margin=0.02)
    crowd.step()
    before = crowd.found.broad_phase.pairs.copy()
    bad = crowd.links
    bad["p"][4, 1] = np.nan
    with pytest.raises(ValueError, match=f"shape {crowd.table.ids[6]}: its pose is not finite"):
        crowd.found.update(bad)
    assert np.array_equal(crowd.found.broad_phase.pairs, before)
    crowd.found.broad_phase.check()
    fresh = Collisions(crowd.table, margin=0.02)
    fresh.update(crowd.links)
    crowd.found.update(crowd.links)
    assert np.array_equal(crowd.found.pairs[["a", "b"]], fresh.pairs[["a", "b"]])
    new = crowd.table.add(BOX, 9)
    bad = crowd.links
    bad["R"][10] = np.inf
    with pytest.raises(ValueError, match=f"shape {new}: its pose is not finite|is not finite"):
        crowd.found.update(bad)
    crowd.found.update(crowd.links)
    crowd.found.broad_phase.check()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: Collisions(margin=-1.0), "margin -1.0 must be finite and not negative"),
        (lambda: Collisions(keep_within=np.nan), "keep_within nan must be finite"),
        (lambda: Collisions(max_contacts=0), "max_contacts is 0; expected 1 to"),
        (lambda: Collisions(threshold=-0.1), "threshold -0.1 must not be negative"),
        (lambda: Collisions().update("here"), "expected a list of km.Pose, or rows with R and p"),
        (lambda: Collisions().update(np.zeros(3, PAIR)), "rows of links need R and p"),
        (lambda: Crowd(3).found.update([km.Pose()] * 2), "there are poses of 2 links, but a shape is on link 2"),
    ],
)
def test_bad_arguments_are_named(call: Any, sentence: str) -> None:
    with pytest.raises((TypeError, ValueError), match=sentence):
        call()


def test_a_row_of_another_kind_is_refused() -> None:
    from kinemorph.collision.collide import find_all_contacts, place_and_find_pairs

    other = np.zeros(1, COLLISIONS)
    assert find_all_contacts(other.ctypes.data) == place_and_find_pairs(other.ctypes.data, np.zeros(1, POSE)) == 3


@pytest.mark.lane
def test_no_shapes_and_a_few() -> None:
    found = Collisions(margin=0.01)
    found.update([])
    assert len(found.pairs) == len(found.contacts) == 0
    ids = [found.shapes.add(BOX, 0), found.shapes.add(ring(), 1), found.shapes.add(km.HalfSpace())]
    found.update([km.Pose((0.0, 0.0, 0.505)), km.Pose((0.0, 0.0, 1.16))])
    assert [(p["a"], p["b"], p["count"] > 0) for p in found.pairs] == [(0, 1, True), (2, 0, True), (2, 1, False)]
    found.shapes.remove(ids[0])
    found.update([km.Pose(), km.Pose((0.0, 0.0, 0.155))])
    assert [(p["a"], p["b"], p["count"]) for p in found.pairs] == [(2, 1, 24)]
    np.testing.assert_allclose(found.contacts["distance"], 0.005, atol=1e-12)

"""Internal (ghost) edges: contacts with pieces of ground that the plane of another contact separates already."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import special_ortho_group
from tests.contact.collision_tables import CollisionTables
from tests.contact.reach import LEFT_OUT_GAP, SAME_TREE, Solver, drop_ghosts, ground_is_convex, support_of

from kinemorph.collision.shapes.shape_rows import Form
from kinemorph.geometry.polyhedron import Polyhedron, core_of
from kinemorph.geometry.shapes import Shape

pytestmark = [pytest.mark.lane, pytest.mark.quick]
Array = np.ndarray
FLUSH = 1e-4  # m
BOX = Polyhedron.box((1.0, 1.0, 1.0))


@dataclass
class Piece:
    """A shape of the ground: a core at a place, and a radius around it; `points` span it, many if it is round."""

    core: Polyhedron
    points: Array
    radius: float
    R: Array
    p: Array
    form: Form = Form.CONVEX

    def support(self, n: Array) -> float:
        """Largest n·x over its points x."""
        return float((self.points @ self.R.T @ n).max() + self.radius + n @ self.p)


def random_piece(rng: np.random.Generator) -> tuple[Polyhedron, Array, float]:
    """A core, its points, and a radius; of round cores, the rims."""
    radius, size = float(rng.choice([0.0, 0.05])), rng.uniform(0.2, 1.0, 3)
    kind = rng.integers(5)
    if kind < 2:
        angles = np.linspace(0.0, 2.0 * np.pi, 20_001)
        rim = np.column_stack([size[0] * np.cos(angles), size[0] * np.sin(angles), np.full(20_001, -0.5 * size[1])])
        top = rim * (1.0, 1.0, -1.0) if kind == 0 else np.array([[0.0, 0.0, 0.5 * size[1]]])
        shape = (Shape.cylinder, Shape.cone)[kind](size[0], size[1])
        return core_of(shape)[0], np.vstack([rim, top]), radius
    if kind == 2:
        core = Polyhedron.box(size)
    else:
        core = Polyhedron.hull(rng.normal(size=(12, 3))) if kind == 3 else Polyhedron.segment(size[0])
    return core, core.points, radius


@dataclass
class Touch:
    """A contact of a body with a piece: outward normal of the piece, points of both, the body's part."""

    piece: int
    body: int
    part: int
    normal: Array
    x: Array  # on the piece
    y: Array  # on the body
    gone: bool = False  # left out before
    swapped: bool = False  # the body is the first shape


class Ground:
    """Pieces of ground, bodies with a reach, and contacts in the order of their pairs."""

    def __init__(self, pieces: list[Piece], reaches: list[float], touches: list[Touch]) -> None:
        self.pieces, self.reaches, self.touches = pieces, reaches, sorted(touches, key=lambda t: (t.body, t.piece))

    def left_out(self) -> list[bool]:
        """By the definition, contact by contact: another one of the same convex part of the body, with another piece
        and another normal, has a plane with all of this piece behind it. Who makes one redundant stays."""
        gone, needed = [t.gone for t in self.touches], set()
        for j, one in enumerate(self.touches):
            if gone[j] or j in needed or self.pieces[one.piece].form is not Form.CONVEX:
                continue
            for k, other in enumerate(self.touches):
                if (one.body, one.part) != (other.body, other.part) or one.piece == other.piece or gone[k]:
                    continue
                if self.bends(one, other) and self.is_behind(one.piece, other):
                    gone[j] = True
                    needed.add(k)
                    break
        return gone

    def bends(self, one: Touch, other: Touch) -> bool:
        """Whether the body turns its normal between the two points like a ball no larger than twice its reach: it
        does not lie flat on both."""
        d = one.normal - other.normal
        turned = float(d @ d)
        return turned >= 2e-10 and abs(float(d @ (one.y - other.y))) / turned <= 2.0 * self.reaches[one.body]

    def is_behind(self, piece: int, other: Touch) -> bool:
        return self.pieces[piece].support(other.normal) <= other.normal @ other.x + FLUSH

    def tables(self, step: int = 4) -> tuple[Solver, CollisionTables]:
        solver, tables = Solver(), CollisionTables(step)
        bodies = [tables.add_shape(b, reach=reach) for b, reach in enumerate(self.reaches)]
        rows = [
            tables.add_shape(-1, piece.core, piece.radius, (piece.R, piece.p), fixed=True, form=piece.form)
            for piece in self.pieces
        ]
        last = None
        solver.follow(len(bodies), 0, len(self.touches), 0, 0)
        for i, t in enumerate(self.touches):
            shapes = (bodies[t.body], rows[t.piece]) if t.swapped else (rows[t.piece], bodies[t.body])
            if last != shapes:
                tables.add_pair(*shapes)
            last = shapes
            row = solver["contacts"][i]
            sign, ends, parts = (-1.0, (t.y, t.x), (t.part, 3)) if t.swapped else (1.0, (t.x, t.y), (3, t.part))
            row["contact"] = tables.add_contact(sign * t.normal, *ends, parts=parts)
            row["tree1"], row["tree2"] = (t.body // 2, -1) if t.swapped else (-1, t.body // 2)  # a tree of two bodies
            row["separation"] = row["initial_separation"] = LEFT_OUT_GAP if t.gone else -1e-5
            row["supersedes"] = 1  # of the step before
        solver.header["contact_count"] = len(self.touches)
        return solver, tables

    def found(self, step: int = 4) -> list[bool]:
        solver, tables = self.tables(step)
        drop_ghosts(solver.address, tables.address)
        gaps = solver.contact_constraints["separation"]
        np.testing.assert_array_equal(gaps, solver.contact_constraints["initial_separation"])
        assert set(gaps) <= {LEFT_OUT_GAP, -1e-5}
        return (gaps == LEFT_OUT_GAP).tolist()

    def moved(self, R: Array, p: Array) -> Ground:
        pieces = [Piece(o.core, o.points, o.radius, R @ o.R, p + R @ o.p, o.form) for o in self.pieces]
        touches = [
            Touch(t.piece, t.body, t.part, R @ t.normal, p + R @ t.x, p + R @ t.y, t.gone, t.swapped)
            for t in self.touches
        ]
        return Ground(pieces, self.reaches, touches)

    def swapped(self, swap: Array) -> Ground:
        touches = [
            Touch(t.piece, t.body, t.part, t.normal, t.x, t.y, t.gone, bool(s))
            for t, s in zip(self.touches, swap, strict=True)
        ]
        return Ground(self.pieces, self.reaches, touches)


def pavement(seed: int) -> Ground:
    """Boxes side by side, round solids and hulls, in a random frame: tops that are flush, or are not; contacts with
    tops, sides and edges, some of them nearly parallel, some on what is not convex."""
    rng = np.random.default_rng(seed)
    up, pieces, touches = np.array([0.0, 0.0, 1.0]), [], []
    for i in range(8):
        core, points, radius = random_piece(rng) if rng.random() < 0.4 else (BOX, BOX.points, 0.0)
        R = special_ortho_group.rvs(3, random_state=rng) if rng.random() < 0.3 else np.eye(3)
        piece = Piece(core, points, radius, R, np.array([i % 4, i // 4, 0.0]))
        step = float(rng.choice([0.0, 5e-5, 9.9e-5, 1.01e-4, 1e-3, 1e-2])) * rng.choice([-1.0, 1.0])
        piece.p[2] = step - piece.support(up)  # its top at that height
        piece.form = Form.GROUND if rng.random() < 0.1 else Form.CONVEX
        pieces.append(piece)
    reaches, centres = rng.uniform(0.1, 1.0, 3).tolist(), rng.normal(size=(3, 3))
    for _ in range(24):
        i, tilt = int(rng.integers(8)), float(rng.choice([0.0, 0.0, 1e-6, 5e-5, 1e-3, 0.3, 1.57]))
        axis = special_ortho_group.rvs(3, random_state=rng)[0] * (1.0, 1.0, 0.0)
        n = np.cos(tilt) * up + np.sin(tilt) * axis / np.linalg.norm(axis)
        x = pieces[i].p + rng.normal(size=3) * 0.3
        x += n * (pieces[i].support(n) - n @ x)  # on its supporting plane
        body, y = int(rng.integers(3)), x - 1e-5 * n
        if rng.random() < 0.6:  # as on a ball, of half its reach or more; else it lies on what is nearly parallel
            y = centres[body] - (0.5, 1.9, 2.1)[body] * reaches[body] * n
        touches.append(Touch(i, body, int(rng.integers(2)), n, x, y, bool(rng.random() < 0.1)))
    ground = Ground(pieces, reaches, touches)
    ground = ground.moved(special_ortho_group.rvs(3, random_state=rng), rng.normal(size=3))
    return ground.swapped(rng.permutation(2)[np.array([t.piece for t in ground.touches]) % 2])


SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_contacts_are_left_out_by_the_definition(seed: int) -> None:
    ground = pavement(seed)
    assert ground.found(seed) == ground.left_out()


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_the_frame_nor_the_order_of_shapes_matters(seed: int) -> None:
    ground, rng = pavement(seed), np.random.default_rng(seed)
    found = ground.found()
    assert ground.moved(special_ortho_group.rvs(3, random_state=rng), 10.0 * rng.normal(size=3)).found() == found
    assert ground.swapped(np.array([not t.swapped for t in ground.touches])).found() == found


def test_the_families_leave_out_some_and_keep_some() -> None:
    grounds = [pavement(seed) for seed in SEEDS]
    shares = [np.mean(g.left_out()) - np.mean([t.gone for t in g.touches]) for g in grounds]
    assert 0.1 < np.mean(shares) < 0.9
    assert np.ptp(shares) > 0.2


@pytest.mark.parametrize("seed", SEEDS)
def test_the_support_of_a_piece(seed: int) -> None:
    """Round ones against many points of their rims."""
    ground, rng = pavement(seed), np.random.default_rng(seed)
    _, tables = ground.tables()
    for i, piece in enumerate(ground.pieces):
        for n in np.vstack([special_ortho_group.rvs(3, random_state=rng), piece.R.T, -piece.R.T]):
            found = support_of(tables.address, len(ground.reaches) + i, *n.tolist())
            assert found == pytest.approx(piece.support(n), abs=1e-7)


@pytest.mark.parametrize(("step", "stays"), [(0.0, False), (9.9e-5, False), (1.01e-4, True), (1e-2, True)])
@pytest.mark.parametrize("seed", range(4))
def test_a_box_that_slides_on_meets_the_next_tile_if_that_stands_out(seed: int, step: float, stays: bool) -> None:
    """The usual case: it lies on the first tile, and its edge is a micrometre inside of the next one."""
    rng = np.random.default_rng(seed)
    places = np.array([[0.0, 0.0, -0.5], [1.0, 0.0, step - 0.5]])
    tiles = [Piece(BOX, BOX.points, 0.0, np.eye(3), place) for place in places]
    edge = np.array([0.5, 0.0, -1e-6])
    top = Touch(0, 0, 0, np.array([0.0, 0.0, 1.0]), np.array([0.2, 0.1, 0.0]), np.array([0.2, 0.1, -1e-6]))
    side = Touch(1, 0, 0, np.array([-1.0, 0.0, 0.0]), edge, edge + (1e-6, 0.0, 0.0))
    ground = Ground(tiles, [rng.uniform(0.1, 0.6)], [top, side])
    ground = ground.moved(special_ortho_group.rvs(3, random_state=rng), rng.normal(size=3))
    assert ground.found() == [False, not stays]


def test_moving_shapes_and_contacts_within_a_tree_stay() -> None:
    """Only contacts with something immovable are looked at."""
    for seed in SEEDS:
        ground = pavement(seed)
        solver, tables = ground.tables()
        rows, count = solver["contacts"], len(ground.touches)
        gaps = rows["separation"][:count].copy()
        trees = np.random.default_rng(seed).choice([SAME_TREE, 1], count)
        rows["tree1"][:count], rows["tree2"][:count] = trees, 0
        drop_ghosts(solver.address, tables.address)
        np.testing.assert_array_equal(rows["separation"][:count], gaps)


@pytest.mark.parametrize("form", Form)
@pytest.mark.parametrize("fixed", [False, True])
def test_which_pairs_may_have_ghosts(form: Form, fixed: bool) -> None:
    tables = CollisionTables()
    body, other = tables.add_shape(0), tables.add_shape(-1, fixed=fixed, form=form)
    pairs = tables.add_pair(body, other), tables.add_pair(other, body)
    for pair in pairs:
        assert bool(ground_is_convex(tables.address, pair)) is (fixed and form is Form.CONVEX)

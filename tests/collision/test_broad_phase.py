"""The broad phase never misses a pair, and its counters are right after every step."""

from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.naive.boxes import overlapping

from kinemorph.collision.broad.broad_phase import BroadPhase, swept
from kinemorph.collision.broad.hash_rows import OVERSIZED_LEVEL

UNIT = np.ones(3)


def filled(lows, highs, **settings):
    broad = BroadPhase(**settings)
    for low, high in zip(lows, highs):
        broad.add(low, high)
    return broad


def random_boxes(rng, n, size=1.0, world=None):
    world = n ** (1 / 3) * 2.0 * size if world is None else world
    lows = rng.uniform(-world / 2, world / 2, (n, 3))
    return lows, lows + rng.uniform(0.3, 1.0, (n, 3)) * size


def agrees(broad, lows, highs):
    broad.check()
    assert np.array_equal(broad.pairs, overlapping(lows, highs))


# --- a machine that does anything, in any order ---

exponents = st.integers(-10, 10)
places = st.tuples(*[st.floats(-40, 40)] * 3)
kinds = st.sampled_from([(1, 0xFFFFFFFF), (2, 1), (4, 5), (1, 0), (2**31, 0xFFFFFFFF)])


class AnyOrder(RuleBasedStateMachine):
    """Boxes of all sizes come, go, move, grow, and are ignored; after each step all pairs and counters are right."""

    @initialize(budget=st.integers(8, 40), linger=st.integers(0, 3), coarsest=st.integers(-1, 12))
    def start(self, budget, linger, coarsest):
        self.broad = BroadPhase(budget, 2 * budget, linger, 2.0**-8, 2.0**coarsest)
        self.boxes, self.filters, self.ignored = {}, {}, set()

    def some(self, pick):
        return sorted(self.boxes)[pick % len(self.boxes)]

    @rule(place=places, exponent=exponents, shape=places, kind=kinds, fixed=st.booleans())
    def add(self, place, exponent, shape, kind, fixed):
        low, high = box = self.box(place, exponent, shape)
        id = self.broad.add(low, high, group=kind[0], mask=kind[1], fixed=fixed)
        assert id not in self.boxes
        self.boxes[id], self.filters[id] = box, (*kind, fixed)

    @rule(place=places, exponent=exponents, seed=st.integers(0, 99), count=st.integers(2, 12))
    def add_a_crowd(self, place, exponent, seed, count):
        for shift, shape in np.random.default_rng(seed).uniform(-40, 40, (count, 2, 3)):
            self.add(np.array(place) + shift * 2.0**exponent / 40, exponent, shape, (1, 0xFFFFFFFF), False)

    @rule(pick=st.integers(0), place=places, exponent=exponents, shape=places)
    def move_one(self, pick, place, exponent, shape):
        if self.boxes:
            i = self.some(pick)
            self.boxes[i] = self.box(place, exponent, shape)
            self.broad.move(i, *self.boxes[i])

    @rule(step=places, grow=st.floats(0.5, 2.0), exponent=exponents)
    def move_all(self, step, grow, exponent):
        for n, i in enumerate(self.broad.moving.tolist()):
            low, high = self.boxes[i]
            shift = np.roll(step, n) * 2.0**exponent / 40
            self.boxes[i] = low + shift, low + shift + (high - low) * grow
        self.broad.update(*self.arrays(self.broad.moving))

    @rule(pick=st.integers(0), step=places)
    def move_some(self, pick, step):
        some = [i for i in self.boxes if pick >> i & 1]
        for i in some:
            self.boxes[i] = self.boxes[i][0] + step, self.boxes[i][1] + step
        self.broad.update(*self.arrays(some), ids=some)

    @rule(pick=st.integers(0))
    def remove(self, pick):
        if self.boxes:
            i = self.some(pick)
            self.broad.remove(i)
            del self.boxes[i]
            self.ignored = {pair for pair in self.ignored if i not in pair}

    @rule(one=st.integers(0), other=st.integers(0), heed=st.booleans())
    def ignore(self, one, other, heed):
        if len(self.boxes) > 1 and self.some(one) != self.some(other):
            pair = tuple(sorted((self.some(one), self.some(other))))
            (self.broad.heed if heed else self.broad.ignore)(*pair)
            self.ignored = self.ignored - {pair} if heed else self.ignored | {pair}

    @invariant()
    def no_pair_is_missed_and_counters_are_right(self):
        if not hasattr(self, "broad"):
            return
        self.broad.check()
        ids = np.array(sorted(self.boxes), dtype=int)
        expected = overlapping(*self.arrays(ids), ids).tolist()
        expected = [ij for ij in expected if self.meet(*ij) and tuple(ij) not in self.ignored]
        assert self.broad.pairs.tolist() == expected
        close = self.broad.close.tolist()
        assert close == sorted(close)
        assert all(ij in close for ij in expected)

    def teardown(self):
        if hasattr(self, "broad"):
            for i in list(self.boxes):
                self.broad.remove(i)
            self.broad.check()
            assert len(self.broad) == len(self.broad.close) == self.broad.tile_count == 0

    def meet(self, i, j):
        (group, mask, fixed), (group2, mask2, fixed2) = self.filters[i], self.filters[j]
        return bool(group & mask2 and group2 & mask and not (fixed and fixed2))

    def arrays(self, ids):
        corners = np.array([self.boxes[i] for i in ids]).reshape(-1, 2, 3)
        return corners[:, 0].copy(), corners[:, 1].copy()

    @staticmethod
    def box(place, exponent, shape):
        low = np.array(place)
        return low, low + np.abs(shape) * 2.0**exponent / 40


EXAMPLES = 100 if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0" else 8  # plain Python needs seconds for each
AnyOrder.TestCase.settings = settings(max_examples=EXAMPLES, stateful_step_count=30)
test_any_order = pytest.mark.lane(AnyOrder.TestCase)


# --- motion ---


@pytest.mark.parametrize("step", [0.001, 0.1, 5.0])
@pytest.mark.lane
def test_incremental_equals_from_scratch(rng, step):
    lows, highs = random_boxes(rng, 40)
    broad = filled(lows, highs)
    for _ in range(10):
        move = rng.normal(size=lows.shape) * step
        lows, highs = lows + move, highs + move
        broad.update(lows, highs)
        agrees(broad, lows, highs)
        assert np.array_equal(broad.pairs, filled(lows, highs).pairs)
        before = broad.close
        broad.rebuild()
        broad.check()
        assert np.array_equal(broad.close, before)


def test_thousands_of_bodies(rng):
    lows, highs = random_boxes(rng, 3000)
    broad = filled(lows, highs)
    velocity = rng.normal(size=lows.shape) * 0.05
    for k in range(30):
        lows, highs = lows + velocity, highs + velocity
        broad.update(lows, highs)
        assert np.array_equal(broad.pairs, overlapping(lows, highs))
        if k % 10 == 9:
            broad.check()
    for i in range(3000):
        broad.remove(i)
    broad.check()
    assert len(broad) == len(broad.close) == broad.tile_count == 0


def test_sizes_across_seven_orders_of_magnitude(rng):
    n = 400
    sizes = 10.0 ** rng.uniform(-4, 3, (n, 1))
    lows = rng.normal(size=(n, 3)) * sizes
    highs = lows + sizes * rng.uniform(0.2, 1.0, (n, 3))
    broad = filled(lows, highs)
    agrees(broad, lows, highs)
    for _ in range(5):
        move = rng.normal(size=(n, 3)) * sizes * 0.3
        lows, highs = lows + move, highs + move
        broad.update(lows, highs)
        agrees(broad, lows, highs)
    assert 100 < len(broad.pairs) < n * (n - 1) / 2


@pytest.mark.parametrize("far", [1e3, -1e9, 1e12, 1e17, -1e300])
def test_far_from_the_origin(rng, far):
    lows, highs = random_boxes(rng, 60)
    lows, highs = lows + far, highs + far
    broad = filled(lows, highs)
    agrees(broad, lows, highs)
    broad.update(lows - far, highs - far)
    agrees(broad, lows - far, highs - far)
    broad.update(lows, highs)
    agrees(broad, lows, highs)


def test_bodies_that_wander_off_do_not_fill_the_table(rng):
    lows, highs = random_boxes(rng, 50)
    broad = filled(lows, highs)
    for _ in range(3000):
        lows, highs = lows + 0.7, highs + 0.7
        broad.update(lows, highs)
    agrees(broad, lows, highs)
    assert len(broad.hash["tiles"]) <= 4096


def test_boxes_that_touch_meet():
    broad = BroadPhase()
    for x in (-1.0, 0.0, 1.0, 2.5):
        broad.add((x, 0, 0), (x + 1.0, 1, 1))
    broad.add((0.25, 0.5, 0.5), (0.25, 0.5, 0.5))  # a point
    assert broad.pairs.tolist() == [[0, 1], [1, 2], [1, 4]]


def test_a_box_that_resizes_changes_its_level(rng):
    lows, highs = random_boxes(rng, 100, world=20.0)
    broad = filled(lows, highs)
    levels = set()
    for size in (0.01, 0.1, 1.0, 10.0, 100.0, 3.0, 0.3, 0.001):
        lows[7], highs[7] = -size * UNIT, size * UNIT
        broad.update(lows, highs)
        agrees(broad, lows, highs)
        levels.add(int(broad.boxes["level"][7]))
    assert len(levels) > 5


def test_the_level_has_hysteresis():
    broad = BroadPhase()
    i = broad.add(0.15 * UNIT, 1.05 * UNIT)
    native = broad.boxes["level"][i]
    for shift in np.linspace(0.0, 3.0, 100):  # covers 1 to 8 tiles
        broad.move(i, shift + 0.05 * UNIT, shift + 0.95 * UNIT)
        assert broad.boxes["level"][i] == native


# --- pairs ---


def test_a_pair_lingers():
    broad = BroadPhase(linger=3)
    lows, highs = np.zeros((2, 3)), np.ones((2, 3))
    for low, high in zip(lows, highs):
        broad.add(low, high)
    apart = np.array([[0.0], [50.0]])
    alive = []
    for _ in range(6):
        broad.update(lows + apart, highs + apart)
        assert len(broad.pairs) == 0
        alive.append(len(broad.close))
    assert alive == [1, 1, 1, 0, 0, 0]
    broad.update(lows, highs)  # a ball that bounces within that time keeps its pair
    for _ in range(4):
        for k in (1, 1, 0):
            broad.update(lows + k * apart, highs + k * apart)
            assert broad.close.tolist() == [[0, 1]]


def test_order_does_not_depend_on_history(rng):
    lows, highs = random_boxes(rng, 200, world=6.0)
    one = filled(lows, highs)
    other = filled(lows[::-1] + 100.0, highs[::-1] + 100.0, tile_budget=30)
    other.update(lows, highs)
    assert np.array_equal(one.pairs, other.pairs)
    assert len(one.pairs) > 100


def test_groups_masks_and_fixed_bodies():
    broad = BroadPhase()
    dog = broad.add(-UNIT, UNIT, group=0b001, mask=0b110)
    cat = broad.add(-UNIT, UNIT, group=0b010, mask=0b111)
    dog2 = broad.add(-UNIT, UNIT, group=0b001, mask=0b110)
    wall = broad.add(-UNIT, UNIT, group=0b100, fixed=True)
    broad.add(-UNIT, UNIT, group=0b100, fixed=True)
    broad.remove(4)
    ghost = broad.add(-UNIT, UNIT, mask=0)
    assert broad.pairs.tolist() == [[dog, cat], [dog, wall], [cat, dog2], [cat, wall], [dog2, wall]]
    assert ghost == 4
    broad.check()


def test_a_body_changes_its_group():
    broad = filled(np.zeros((4, 3)), np.ones((4, 3)))
    broad.ignore(2, 3)
    broad.regroup(2, group=2, mask=0xFFFFFFFF)
    broad.regroup(0, group=1, mask=1)
    broad.check()
    assert broad.pairs.tolist() == [[0, 1], [0, 3], [1, 2], [1, 3]]  # 0 and 2 no longer, 2 and 3 still not
    broad.regroup(0, group=1, mask=3)
    broad.heed(2, 3)
    broad.check()
    assert len(broad.pairs) == 6
    with pytest.raises(ValueError, match="mask is -1, expected 32 bits"):
        broad.regroup(0, group=1, mask=-1)
    with pytest.raises(ValueError, match="there is no box 9"):
        broad.regroup(9, group=1, mask=1)


def test_budgets_can_change_at_any_time(rng):
    lows, highs = random_boxes(rng, 60)
    broad = filled(lows, highs)
    few, tiles = broad.boxes["level"][:60].copy(), broad.tile_count
    broad.set_budgets(200, 200)
    agrees(broad, lows, highs)
    assert (broad.boxes["level"][:60] < few).all()
    assert broad.tile_count > 2 * tiles
    broad.set_budgets(8, 64)
    agrees(broad, lows, highs)
    assert (broad.boxes["level"][:60] >= few).all()
    with pytest.raises(ValueError, match="expected 8 <= tile_budget"):
        broad.set_budgets(8, 4)


def test_fixed_bodies_meet_only_what_moves():
    broad = BroadPhase()
    for _ in range(3):
        broad.add(-UNIT, UNIT, fixed=True)
    assert len(broad.pairs) == len(broad.close) == 0
    ball = broad.add(-UNIT, UNIT)
    assert broad.moving.tolist() == [ball]
    assert broad.pairs.tolist() == [[0, ball], [1, ball], [2, ball]]
    broad.move(1, UNIT * 5, UNIT * 6)
    assert broad.pairs.tolist() == [[0, ball], [2, ball]]


def test_parent_and_child_are_ignored():
    broad = filled(np.zeros((3, 3)), np.ones((3, 3)))
    broad.ignore(1, 0)
    assert broad.pairs.tolist() == [[0, 2], [1, 2]]
    for _ in range(10):
        broad.update(np.zeros((3, 3)), np.ones((3, 3)))
    assert broad.pairs.tolist() == [[0, 2], [1, 2]]
    broad.heed(0, 1)
    assert broad.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    broad.ignore(0, 1)
    broad.remove(1)
    assert broad.add(np.zeros(3), UNIT) == 1  # a new box with an old id is not ignored
    assert broad.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_a_pair_can_be_ignored_before_it_meets():
    lows, highs = np.zeros((2, 3)), np.ones((2, 3))
    apart = np.array([[0.0], [50.0]])
    broad = filled(lows + apart, highs + apart)
    broad.ignore(0, 1)
    for k in (0, 1, 1, 0):
        broad.update(lows + k * apart, highs + k * apart)
        assert len(broad.pairs) == len(broad.close) == 0
    broad.heed(0, 1)
    assert broad.pairs.tolist() == [[0, 1]]


def test_a_pair_stays_ignored_while_masks_rule_it_out():
    broad = filled(np.zeros((2, 3)), np.ones((2, 3)))
    broad.regroup(0, group=1, mask=2)
    broad.ignore(0, 1)  # they would not meet anyway
    for mask in (1, 2, 1):
        broad.regroup(0, group=1, mask=mask)
        broad.check()
        assert len(broad.pairs) == 0
    broad.regroup(0, group=1, mask=2)
    broad.heed(0, 1)
    broad.regroup(0, group=1, mask=1)
    assert broad.pairs.tolist() == [[0, 1]]


def test_pairs_come_and_go_in_any_order(rng):
    """Rows of pairs move when others are deleted, and keys when a gap in the table closes: nothing is lost."""
    lows, highs = random_boxes(rng, 150, world=8.0)
    broad = filled(lows, highs, linger=0)
    there = np.arange(150)
    for _ in range(40):
        gone = rng.choice(there, 20, replace=False)
        for i in gone:
            broad.remove(i)
        there = np.setdiff1d(there, gone)
        lows, highs = random_boxes(rng, 150, world=8.0)
        for i in rng.permutation(20):
            i = broad.add(lows[i], highs[i])
            there = np.union1d(there, [i])
        broad.update(lows[there], highs[there])
        broad.check()
        assert np.array_equal(broad.pairs, overlapping(lows[there], highs[there], there))


def test_a_pair_keeps_its_row(rng):
    """What a narrow phase knows of a pair is in a row of the same number, while others come and go."""
    lows, highs = random_boxes(rng, 80, world=7.0)
    broad = filled(lows, highs, linger=1)
    before: dict[tuple[int, int], int] = {}
    kept = 0
    for _ in range(60):
        move = rng.normal(size=lows.shape) * 0.3
        lows, highs = lows + move, highs + move
        broad.update(lows, highs)
        rows = broad.hash["pairs"][: broad.hash.header["pair_count"][0]]
        now = {(row["a"], row["b"]): k for k, row in enumerate(rows) if row["shared"] >= 0}
        kept += len(before.keys() & now.keys())
        assert all(before[pair] == now[pair] for pair in before.keys() & now.keys())
        assert sorted(now) == [tuple(pair) for pair in broad.close]
        before = now
    assert kept > 1000
    assert len(rows) < 3 * len(now)  # rows are used again


def test_tiles_repeat_far_apart_but_boxes_do_not():
    """Keys of tiles have 19 bits an axis: bodies 2^19 tiles apart share a row of the table, and are no pair."""
    broad = BroadPhase()
    a = broad.add((0.0, 0.0, 0.0), (0.9, 0.9, 0.9))
    for axis in range(3):
        away = np.zeros(3)
        away[axis] = 2.0**19 / broad.boxes["scale"][a]
        b = broad.add(away, away + 0.9)
        assert broad.close.tolist() == [[a, b]]
        assert len(broad.pairs) == 0
        broad.check()
        broad.move(b, away + 0.9, away + 1.8)  # tiles on both sides of where space repeats itself
        broad.check()
        broad.move(a, away + 0.5, away + 1.5)
        assert broad.pairs.tolist() == [[a, b]]
        broad.move(a, (0.0, 0.0, 0.0), (0.9, 0.9, 0.9))
        broad.remove(b)
        broad.check()


def test_swept_boxes_catch_a_bullet():
    lows, highs = np.array([[0.0, 0, 0], [5.0, 0, 0]]), np.array([[0.1, 0.1, 0.1], [5.1, 0.1, 0.1]])
    moves = np.array([[10.0, 0, 0], [0, 0, 0]])
    broad = filled(lows, highs)
    broad.update(lows, highs)
    assert len(broad.pairs) == 0
    broad.update(*swept(lows, highs, moves))
    assert broad.pairs.tolist() == [[0, 1]]
    broad.update(*swept(lows, highs, -moves))
    assert len(broad.pairs) == 0


def test_all_over_bodies(rng):
    broad = BroadPhase(coarsest=4.0)
    lows, highs = random_boxes(rng, 50, world=10.0)
    for low, high in zip(lows, highs):
        broad.add(low, high)
    ground, sky = broad.add((-1e18, -1e18, -1e18), (1e18, 1e18, 0.0)), broad.add((-1e9, 0, -1e9), (1e9, 1e9, 1e9))
    assert (broad.boxes["level"][[ground, sky]] == OVERSIZED_LEVEL).all()
    broad.check()
    boxes = [np.array([broad.box(i)[k] for i in range(52)]) for k in range(2)]
    assert np.array_equal(broad.pairs, overlapping(*boxes))
    late = broad.add(-UNIT, UNIT)
    assert [ground, late] in broad.pairs.tolist()
    broad.check()
    broad.move(ground, -UNIT, UNIT)  # it comes down to tiles again
    broad.check()
    assert broad.boxes["level"][ground] != OVERSIZED_LEVEL
    broad.move(ground, (-1e18, -1e18, -1e18), (1e18, 1e18, 0.0))  # and up again
    broad.remove(sky)
    broad.check()
    broad.add((-1e9, 0, -1e9), (1e9, 1e9, 1e9))
    broad.remove(ground)
    broad.add((-1e18, -1e18, -1e18), (1e18, 1e18, 0.0))
    broad.check()
    for i in broad.ids.tolist():
        broad.remove(i)
    broad.check()
    assert len(broad) == len(broad.close) == broad.tile_count == 0


def test_a_large_fixed_body_gets_finer_tiles_than_a_moving_one():
    broad = BroadPhase(tile_budget=8, fixed_budget=64)
    moving, fixed = broad.add((0, 0, 0), (100, 100, 1)), broad.add((0, 0, 0), (100, 100, 1), fixed=True)
    assert broad.boxes["level"][fixed] < broad.boxes["level"][moving]


# --- bad input ---


@pytest.mark.parametrize(
    ("low", "high", "says"),
    [
        ((0, 0, np.nan), (1, 1, 1), r"the new box: low is \[0.0, 0.0, nan\], which is not finite"),
        ((0, 0, 0), (1, np.inf, 1), r"the new box: high is \[1.0, inf, 1.0\], which is not finite"),
        ((0, 2, 0), (1, 1, 1), "the new box: the box reaches from 2.0 to 1.0 along y, which is upside down"),
        ((0, 0), (1, 1), r"the new box: low has shape \(2,\), expected \(3,\)"),
        ((-1.7e308, 0, 0), (1.7e308, 1, 1), "too far"),
    ],
)
def test_a_bad_box_is_refused(low, high, says):
    broad = BroadPhase()
    with np.errstate(over="ignore"), pytest.raises(ValueError, match=says):
        broad.add(low, high)
    assert len(broad) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -5.0])
@pytest.mark.parametrize("which", ["lows", "highs"])
def test_a_bad_update_is_refused_and_changes_nothing(rng, bad, which):
    lows, highs = random_boxes(rng, 20)
    broad = filled(lows, highs)
    boxes = {"lows": lows + 1.0, "highs": highs + 1.0}
    boxes[which][13, 2] = 1e6 if (which, bad) == ("lows", -5.0) else -1e6 if bad == -5.0 else bad
    with pytest.raises(ValueError, match=r"box 13 \(row 13\)"):
        broad.update(**boxes)
    agrees(broad, lows, highs)


def test_wrong_arguments_are_named(rng):
    lows, highs = random_boxes(rng, 4)
    broad = filled(lows, highs)
    with pytest.raises(ValueError, match=r"lows has shape \(3, 3\), expected \(4, 3\)"):
        broad.update(lows[:3], highs[:3])
    with pytest.raises(ValueError, match=r"highs has shape \(4, 2\), expected \(2, 3\)"):
        broad.update(lows[:2], highs[:, :2], ids=[0, 3])
    with pytest.raises(ValueError, match="box 1 more than once"):
        broad.update(np.zeros((2, 3)), np.ones((2, 3)), [1, 1])
    with pytest.raises(ValueError, match="there is no box 4"):
        broad.remove(4)
    with pytest.raises(ValueError, match="there is no box -1"):
        broad.update(lows[:1], highs[:1], ids=[-1])
    with pytest.raises(ValueError, match="makes no pair with itself"):
        broad.ignore(1, 1)
    with pytest.raises(ValueError, match="group is -1, expected 32 bits"):
        broad.add(-UNIT, UNIT, group=-1)
    with pytest.raises(ValueError, match="tile_budget"):
        BroadPhase(tile_budget=0)
    with pytest.raises(ValueError, match="linger"):
        BroadPhase(linger=-1)
    with pytest.raises(ValueError, match="finest"):
        BroadPhase(finest=2.0, coarsest=1.0)
    with pytest.raises(ValueError, match="levels"):
        BroadPhase(finest=2.0**-40, coarsest=2.0**40)
    agrees(broad, lows, highs)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda broad: pickle.loads(pickle.dumps(broad))])
def test_a_copy_goes_on_alone(rng, copied):
    """It has tables of its own, the same rows for the same pairs, and what is ignored; neither changes the other."""
    lows, highs = random_boxes(rng, 40, world=5.0)
    broad = filled(lows, highs, linger=2)
    broad.ignore(0, 1)
    broad.remove(7)
    twin = copied(broad)
    for name in ("boxes", "tiles", "entries", "pairs", "slots", "found"):
        assert twin.hash.header[name] != broad.hash.header[name]
    rest = np.setdiff1d(np.arange(40), 7)
    before = broad.pairs.tolist()
    for _k in range(5):
        move = rng.normal(size=(39, 3)) * 0.3
        lows[rest] += move
        highs[rest] += move
        twin.update(lows[rest], highs[rest])
        twin.check()
        expected = [ij for ij in overlapping(lows[rest], highs[rest], rest).tolist() if ij != [0, 1]]
        assert twin.pairs.tolist() == expected
        broad.check()
        assert broad.pairs.tolist() == before
    broad.update(lows[rest], highs[rest])
    assert np.array_equal(broad.pairs, twin.pairs)
    assert twin.add(-UNIT, UNIT) == broad.add(-UNIT, UNIT) == 7


def test_other_arrays_are_converted(rng):
    lows, highs = random_boxes(rng, 30)
    broad = filled(lows + 5.0, highs + 5.0)
    for convert in (np.asfortranarray, np.ndarray.tolist, lambda x: np.repeat(x, 2, axis=0)[::2]):
        broad.update(lows + 5.0, highs + 5.0)
        broad.update(convert(lows), convert(highs))
        agrees(broad, lows, highs)
    broad.update(lows.astype(np.float32), highs.astype(np.float32))
    agrees(broad, lows.astype(np.float32), highs.astype(np.float32))


def test_an_empty_broad_phase_updates():
    broad = BroadPhase()
    broad.update(np.zeros((0, 3)), np.zeros((0, 3)))
    assert broad.pairs.shape == (0, 2)
    broad.check()

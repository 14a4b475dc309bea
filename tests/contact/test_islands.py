"""Islands: trees that contacts, loops and force elements tie together, against union by search in Python."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.contact.random_scenes import let_settle, scene
from tests.contact.reach import SAME_TREE
from tests.naive.contact import components

import kinemorph as km

pytestmark = pytest.mark.quick

CASES = [(seed, bodies) for seed in range(6) for bodies in (3, 12, 25)]


def heap(seed: int, bodies: int) -> km.World:
    """Random bodies and figures, some apart from the others; some tied by loops and springs."""
    rng = np.random.default_rng(seed)
    world = scene(seed, bodies=bodies, figures=1, held=1)
    for k in range(bodies // 2):
        at = (3.0 + 0.35 * (k % 4), 3.0 * (k // 4), 0.1 + 0.15 * rng.random())
        world.add(km.Shape.box(rng.uniform(0.2, 0.4, 3)), at)
    parts = world.bodies
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(bodies // 6):
            a, b = rng.choice(len(parts), 2, replace=False)
            world.structure.tie(km.ForceElement.spring("a", "b", 10.0, 0.3), parts[a], parts[b])
            a, b = (parts[i] for i in rng.choice(len(parts), 2, replace=False))
            if world.forest.tree_of(int(a)) != world.forest.tree_of(int(b)):
                world.connect(a, b, km.Joint.spherical(), how="loop")
    return let_settle(world, 3)


def index_of(world: km.World, body: int) -> int:
    """The tree of a body by its index, as shapes know bodies; -1 for the base."""
    if body < 0:
        return -1
    id = next(int(b) for b in world.forest.bodies if int(b) & 0xFFFFFFFF == body)
    return world.forest.tree_of(id) & 0xFFFFFFFF


def contact_pairs(world: km.World) -> list[tuple[int, int, int, int]]:
    """Of each pair with contacts: both trees, its first contact, and how many."""
    links, found = world.shapes.rows["link"], []
    for pair in world.collisions.pairs:
        if pair["count"] > 0:
            trees = [index_of(world, int(links[pair[side]])) for side in "ab"]
            found.append((*trees, int(pair["first"]), int(pair["count"])))
    return found


def ties(world: km.World) -> list[tuple[int, int]]:
    """Pairs of trees that belong together."""
    found = [(a, b) for a, b, *_ in contact_pairs(world) if a >= 0 and b >= 0]
    ends = [[int(world.forest.tree_of(int(body))) & 0xFFFFFFFF for body in row if body >= 0] for row in ends_of(world)]
    return found + [(a[0], a[1]) for a in ends if len(a) == 2]


def ends_of(world: km.World) -> list[list[int]]:
    """Bodies of the loops and of the force elements."""
    loops = [list(world.forest.sides(int(j))) for j in world.forest.joints if world.forest.closes_loop(int(j))]
    return loops + [[int(body) for body in row] for row in world.forest._ends]


@pytest.mark.parametrize(("seed", "bodies"), CASES)
def test_trees_that_are_tied_have_one_island(seed: int, bodies: int) -> None:
    world = heap(seed, bodies)
    trees = sorted(int(t) & 0xFFFFFFFF for t in world.forest.trees)
    expected = components(trees, ties(world))
    spans, count = world.solver["slices"], int(world.solver.header["island_count"][0])
    found: dict[int, set[int]] = {}
    for t in trees:
        found.setdefault(int(spans["island"][t]), set()).add(t)
    assert sorted(map(sorted, found.values())) == sorted(map(sorted, expected))
    assert sorted(found) == list(range(count))
    lowest = [min(found[i]) for i in range(count)]
    assert lowest == sorted(lowest)  # in the order of their lowest trees
    assert 1 < count < len(trees) or bodies == 3


@pytest.mark.parametrize(("seed", "bodies"), CASES)
def test_each_island_has_a_slice_of_z_without_holes(seed: int, bodies: int) -> None:
    world = heap(seed, bodies)
    solver = world.solver
    spans, islands = solver["slices"], solver["islands"][: int(solver.header["island_count"][0])]
    at = 0
    for i, island in enumerate(islands):
        assert island["offset"] == at
        trees, t = [], int(island["first_tree"])
        while t >= 0:
            assert spans["island"][t] == i
            trees.append(t)
            t = int(spans["next"][t])
        assert trees == sorted(trees)
        assert trees[-1] == island["last_tree"]
        taken = sorted((int(spans["offset"][t]), int(spans["width"][t])) for t in trees)
        for offset, width in taken:
            assert offset == at
            at += width
        assert island["nz"] == sum(width for _, width in taken)
    assert at == solver.header["nz"][0]


@pytest.mark.parametrize(("seed", "bodies"), CASES)
def test_widths_are_degrees_of_freedom_and_zeros_up_to_four(seed: int, bodies: int) -> None:
    world = heap(seed, bodies)
    tied = {int(world.forest.tree_of(int(b))) for row in ends_of(world)[: world_loops(world)] for b in row if b >= 0}
    for id in world.forest.trees.tolist():
        nv = len(world.forest.state(id).v)
        width = int(world.solver["slices"]["width"][id & 0xFFFFFFFF])
        lone = nv == 6 and len(world.forest.members(id)) == 1
        assert width == (nv if lone or id in tied else 4 * ((nv + 3) // 4))


def world_loops(world: km.World) -> int:
    return sum(world.forest.closes_loop(int(j)) for j in world.forest.joints)


@pytest.mark.parametrize(("seed", "bodies"), CASES)
def test_contacts_are_sorted_by_island_and_keep_their_order(seed: int, bodies: int) -> None:
    world = heap(seed, bodies)
    solver, spans = world.solver, world.solver["slices"]
    expected: dict[int, list[int]] = {i: [] for i in range(int(solver.header["island_count"][0]))}
    for a, b, first, count in contact_pairs(world):
        expected[int(spans["island"][b if b >= 0 else a])] += range(first, first + count)
    touches = solver.contact_constraints
    for i, contacts in expected.items():
        island = solver["islands"][i]
        start = int(island["first_contact"])
        assert touches["contact"][start : start + int(island["contact_count"])].tolist() == contacts
    assert sum(map(len, expected.values())) == len(touches) == len(world.collisions.contacts)
    for t in touches:
        if t["tree1"] >= 0 and t["tree2"] >= 0:
            assert spans["island"][t["tree1"]] == spans["island"][t["tree2"]]
        assert t["tree1"] in (SAME_TREE, -1) or t["tree1"] != t["tree2"]


def test_what_sleeps_has_no_island_and_wakes_with_its_neighbours() -> None:
    """Two stacks at rest; a ball wakes the one that it hits, and all of it."""
    world = km.World()
    world.add_ground()
    stacks = [[world.add(km.Shape.box((0.2,) * 3), (x, 0.0, 0.1 + 0.2 * k)) for k in range(3)] for x in (0.0, 2.0)]
    world.run(3.0)
    assert all(body.asleep for stack in stacks for body in stack)
    spans = world.solver["slices"]
    ball = world.add(km.Shape.sphere(0.1), (2.0, 0.0, 0.705))
    world.step(20)
    trees = [[world.forest.tree_of(int(body)) & 0xFFFFFFFF for body in stack] for stack in stacks]
    hit = world.forest.tree_of(int(ball)) & 0xFFFFFFFF
    spans = world.solver["slices"]
    assert {int(spans["island"][t]) for t in [*trees[1], hit]} == {0}
    assert {int(spans["island"][t]) for t in trees[0]} == {-1}
    assert {int(spans["offset"][t]) for t in trees[0]} == {-1}
    assert world.solver.header["island_count"][0] == 1

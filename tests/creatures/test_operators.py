"""Operators: whatever is done to genotypes, they stay valid and grow; any member can be reached, or be frozen."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kinemorph.creatures import (
    HOLDERS,
    REACHERS,
    WALKERS,
    Connection,
    Form,
    From,
    Genotype,
    Node,
    Operator,
    Rates,
    Routes,
    Settings,
    Source,
    change_body,
    change_control,
    crossover,
    crossover_within,
    develop,
    founder,
    graft,
    mutate,
    offspring,
    random_genotype,
)
from kinemorph.creatures.genotype.genes import GENES
from kinemorph.creatures.genotype.graph import kept_nodes, reachable_nodes
from kinemorph.creatures.genotype.mutate import BODY, CONTROL, mutable_slots, value_at
from kinemorph.creatures.genotype.small_steps import upstream
from kinemorph.creatures.growth.birth_checks import REASONS

ALL = Settings(forms=tuple(Form))
seeds = st.integers(0, 2**32 - 1)
pairs: list[Callable[..., Genotype]] = [crossover, crossover_within, graft]


def rng_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@settings(max_examples=60)
@given(seeds, st.lists(st.sampled_from(["mutate", "crossover", "within", "graft", "offspring"]), max_size=12))
def test_any_sequence_of_operators_gives_valid_genotypes_that_grow(seed: int, names: list[str]) -> None:
    rng = rng_of(seed)
    pool = [random_genotype(rng, ALL), founder(rng, ALL), random_genotype(rng, ALL)]
    one = {"mutate": lambda g: mutate(g, rng, ALL), "offspring": lambda g: offspring(g, rng, ALL)[0]}
    two = dict(zip(["crossover", "within", "graft"], pairs, strict=True))
    for name in names:
        i, j = (int(k) for k in rng.integers(len(pool), size=2))
        child = one[name](pool[i]) if name in one else two[name](pool[i], pool[j], rng, ALL)
        assert child.checked() == child
        assert child.checked().line() == child.line()  # to the type: searches do not check them
        assert len(child.nodes) <= ALL.most_nodes
        pool[i] = child
        creature = develop(child, ALL)
        assert 1 <= len(creature.rows) <= ALL.most_parts
        assert creature.rejected in REASONS.values()
        assert np.isfinite(creature.model.links["I"]).all()
        assert len(creature.brain.effects) == creature.rows["dof"].sum()


@given(seeds)
def test_mutation_changes_something_and_nothing_else_is_random(seed: int) -> None:
    genotype = random_genotype(seed)
    child = mutate(genotype, rng_of(seed), rates=Rates(0.001))
    assert child != genotype
    assert child == mutate(genotype, rng_of(seed), rates=Rates(0.001))


def leaves(value: Any) -> list[Any]:
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, tuple) else [value]


def test_every_member_of_every_object_can_be_reached_and_changed() -> None:
    """One member at a time, all others frozen; of tuples, every number in them changes sooner or later."""
    two = Settings(forms=tuple(Form), most_nodes=4)
    genotype = random_genotype(4, two)
    genotype = replace(genotype, connections=(Connection(0, 1), *genotype.connections))
    seen: Counter[str] = Counter()
    for place, kind, member in mutable_slots(genotype):
        if seen[f"{kind.__name__}.{member}"] == 2:  # two of each are enough
            continue
        seen[f"{kind.__name__}.{member}"] += 1
        by = {f"{k.__name__}.{m}": 0.0 for k, genes in GENES.items() for m in genes}
        rates = Rates(0.0, by | {f"{kind.__name__}.{member}": 0.5})
        changed: set[int] = set()
        before = value_at(genotype, place)
        for seed in range(60):
            if len(changed) == len(leaves(before)):
                break
            after = value_at(mutate(genotype, rng_of(seed), two, rates), place)
            if isinstance(before, tuple) and len(after) != len(before):
                changed |= set(range(len(leaves(before))))  # an array with an entry more or fewer
            else:
                changed |= {k for k, (a, b) in enumerate(zip(leaves(before), leaves(after), strict=True)) if a != b}
        assert changed == set(range(len(leaves(before)))), place
    assert set(seen) == {
        f"{kind.__name__}.{member}"
        for kind, genes in GENES.items()
        for member, gene in genes.items()
        if hasattr(gene, "kind")
    }


@pytest.mark.parametrize("place", ["nodes[0]", "connections", "nodes[1].neurons[0].weights", "neurons", "nodes"])
def test_what_is_frozen_stays(place: str) -> None:
    genotype = random_genotype(21)
    rates = Rates(0.1, frozen=frozenset({place}))
    for seed in range(20):
        child = mutate(genotype, rng_of(seed), rates=rates)
        assert value_at(child, place) == value_at(genotype, place)
        assert child != genotype


def test_rates_by_kind_of_object_and_by_type() -> None:
    genotype = random_genotype(5)
    for seed in range(20):
        control = mutate(genotype, rng_of(seed), rates=Rates(0.3, CONTROL))
        assert [c for c in control.connections] == [c for c in genotype.connections]
        bodies = [replace(n, neurons=(), effectors=genotype.nodes[0].effectors) for n in control.nodes]
        assert bodies == [replace(n, neurons=(), effectors=genotype.nodes[0].effectors) for n in genotype.nodes]
        body = mutate(genotype, rng_of(seed), rates=Rates(0.3, BODY | {"Genotype": 0.0}))
        assert [n.neurons for n in body.nodes] == [n.neurons for n in genotype.nodes]
        flips = mutate(genotype, rng_of(seed), rates=Rates(0.0, {"boolean": 0.5}))
        assert [replace(c, reflected=False, terminal=False) for c in flips.connections] == [
            replace(c, reflected=False, terminal=False) for c in genotype.connections
        ]
    with pytest.raises(ValueError, match=r"there is no 'Node.colour'"):
        Rates(by={"Node.colour": 0.1})
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        Rates(1.5)
    with pytest.raises(ValueError, match="nothing can change"):
        mutate(genotype, rng_of(0), rates=Rates(0.0))


def test_rates_are_how_often_members_change() -> None:
    genotype = random_genotype(8)
    rates = Rates(0.0, {"Connection.turn": 0.25, "Connection.scale": 1.0})
    turned, scaled, all_of = 0, 0, 0
    for seed in range(200):
        child = mutate(genotype, rng_of(seed), rates=rates)
        for a, b in zip(genotype.connections, child.connections, strict=True):
            turned, scaled, all_of = turned + (a.turn != b.turn), scaled + (a.scale != b.scale), all_of + 1
    assert scaled == all_of
    assert abs(turned / all_of - 0.25) < 5.0 * np.sqrt(0.25 * 0.75 / all_of)


def marked(count: int, mark: float) -> Genotype:
    """A chain of nodes that are known by their sizes."""
    nodes = tuple(Node(size=(mark, mark, 0.1 + 0.01 * i)) for i in range(count))
    return Genotype(nodes=nodes, connections=tuple(Connection(i, i + 1, turn=mark) for i in range(count - 1)))


@given(seeds, st.integers(1, 6), st.integers(1, 6))
def test_crossover_takes_a_run_of_nodes_and_the_connections_among_them(seed: int, m: int, n: int) -> None:
    a, b = marked(m, 0.05), marked(n, 0.2)
    child = crossover(a, b, rng_of(seed))
    taken = [i for i, node in enumerate(child.nodes) if node == (b.nodes[i] if i < n else None)]
    assert taken == list(range(taken[0], taken[-1] + 1))
    assert [child.nodes[i] for i in range(m) if i not in taken] == [a.nodes[i] for i in range(m) if i not in taken]
    for c in child.connections:
        assert (c.turn == 0.2) == (c.parent in taken and c.child in taken)
    assert len(child.connections) == m - 1


@given(seeds)
def test_crossover_within_nodes_spreads_a_part_of_a_node(seed: int) -> None:
    a, b = random_genotype(seed), random_genotype(seed + 1)
    child = crossover_within(a, b, rng_of(seed))
    different = [i for i in range(len(a.nodes)) if child.nodes[i] != a.nodes[i]]
    assert child.connections == a.connections
    if not different:  # a limit that is the same in both
        return
    assert len(different) == 1
    old, new = a.nodes[different[0]], child.nodes[different[0]]
    for name in Node.__struct_fields__:
        assert getattr(new, name) == getattr(old, name) or getattr(new, name) in [getattr(n, name) for n in b.nodes]
    assert (new.neurons == old.neurons) or any(
        (new.neurons, new.effectors) == (n.neurons, n.effectors) for n in b.nodes
    )


@given(seeds, st.integers(1, 6), st.integers(1, 6))
def test_a_graft_grows_on_the_stock(seed: int, m: int, n: int) -> None:
    a, b = marked(m, 0.05), marked(n, 0.2)
    child = graft(a, b, rng_of(seed))
    new = [i for i, node in enumerate(child.nodes) if node.size[0] == 0.2]
    assert new
    assert len(child.nodes) <= 6
    assert child.nodes[0] == a.nodes[0]
    assert any(c.child == new[0] and c.parent not in new for c in child.connections)
    inner = [c for c in child.connections if c.parent in new and c.child in new]
    assert len(inner) == len(new) - 1
    assert all(c.turn == 0.2 for c in inner)


def test_nodes_that_go_leave_the_others_connected() -> None:
    chain = marked(5, 0.1)
    left = kept_nodes(chain, [0, 1, 3, 4])
    assert [(c.parent, c.child) for c in left.connections] == [(0, 1), (2, 3)]
    assert reachable_nodes(left) == [0, 1]


@given(seeds)
def test_founders_have_routes_from_senses_or_clocks_to_effectors(seed: int) -> None:
    genotype = founder(seed, routes=REACHERS)
    assert genotype.checked() == genotype
    for node in genotype.nodes:
        assert any(n.function == "wave" for n in node.neurons)
    effectors, neurons = upstream(genotype)
    assert len(effectors) == sum(genotype.nodes[i].dof for i in reachable_nodes(genotype))
    assert all(k < len(genotype.neurons if i < 0 else genotype.nodes[i].neurons) for i, _, k in neurons)


def test_most_effectors_of_reachers_see_the_target() -> None:
    inputs = Counter(
        e.input.kind for seed in range(200) for n in founder(seed, routes=REACHERS).nodes for e in n.effectors
    )
    assert 0.5 < inputs[From.DIRECTION] / sum(inputs.values()) < 0.75


def test_reachers_turn_their_parts_towards_the_target() -> None:
    """A turn about an axis a moves the end of a part, which stands along z, along a x z."""
    told: Counter[bool] = Counter()
    for seed in range(200):
        for node in founder(seed, routes=REACHERS).nodes:
            for effector, axis in zip(node.effectors, node.axes, strict=True):
                moves = np.cross(axis, (0.0, 0.0, 1.0))
                if effector.input.kind is From.DIRECTION and np.linalg.norm(moves) > 0.5:
                    told[bool(effector.weight * moves[effector.input.index % 3] > 0.5 * np.abs(moves).max())] += 1
    assert told[True] / told.total() > 0.5  # of random ones a fifth


def test_hands_hold_on_by_clocks_or_angles_and_their_grasps_evolve() -> None:
    hands = Settings(grasps=True)
    kinds: Counter[From] = Counter()
    for node in (node for seed in range(100) for node in founder(seed, hands).nodes):
        grip = node.effectors[-1]
        assert grip.weight > 0.0
        kinds[node.neurons[grip.input.index].inputs[0].kind if grip.input.kind is From.LOCAL else grip.input.kind] += 1
    assert all(0.3 < kinds[kind] / kinds.total() < 0.5 for kind in (From.LOCAL, From.ANGLE))
    assert 0.1 < kinds[From.ONE] / kinds.total() < 0.3
    genotype = founder(3, hands)
    node = replace(genotype.nodes[0], dof=1)
    genotype = replace(genotype, nodes=(node, *genotype.nodes[1:]))
    assert (0, "effectors", 2) in upstream(genotype, grasps=True)[0]
    assert (0, "effectors", 2) not in upstream(genotype)[0]
    changed = {grasps: 0 for grasps in (False, True)}
    for grasps in changed:
        for seed in range(100):
            child = change_control(genotype, rng_of(seed), Settings(grasps=grasps))
            changed[grasps] += child.nodes[0].effectors[2] != node.effectors[2]
    assert changed[False] == 0
    assert changed[True] > 5


@given(seeds, st.sampled_from([WALKERS, REACHERS, HOLDERS]))
def test_the_limbs_of_a_founder_have_one_pace(seed: int, routes: Routes) -> None:
    genotype = founder(seed, routes=routes)
    clocks = [n for node in genotype.nodes for n in node.neurons if n.function == "wave" and n.weights[0] == 1.0]
    assert len(clocks) >= len(genotype.nodes)
    assert all(clock.inputs[0] == Source(From.GLOBAL, 0) for clock in clocks)
    assert routes.pace[0] <= genotype.neurons[0].weights[0] <= routes.pace[1]


@given(seeds)
def test_gentle_operators_keep_to_their_part(seed: int) -> None:
    rng, genotype = rng_of(seed), founder(seed)
    control = change_control(genotype, rng)
    assert control.connections == genotype.connections
    assert [n.size for n in control.nodes] == [n.size for n in genotype.nodes]
    assert control != genotype
    body = change_body(genotype, rng)
    assert [(n.neurons, n.effectors, n.dof) for n in body.nodes] == [
        (n.neurons, n.effectors, n.dof) for n in genotype.nodes
    ]
    assert body.neurons == genotype.neurons
    child, operator = offspring(genotype, rng)
    assert child.checked() == child
    assert operator in Operator


def test_a_stride_is_checked_and_all_else_stays() -> None:
    usual = Settings(most_parts=5)
    assert hash(usual) != hash(usual.striding(0.5))  # asked for before, and not taken along
    assert usual.striding(0.5) == Settings(most_parts=5, stride=0.5)
    assert hash(usual.striding(0.5)) == hash(Settings(most_parts=5, stride=0.5))
    for finest in (np.nan, 0.0, np.inf, -1.0):
        with pytest.raises(ValueError, match=r"offspring: finest is .*, and must be (from|finite)"):
            offspring(random_genotype(np.random.default_rng(0)), np.random.default_rng(0), finest=finest)


def test_offspring_come_by_their_shares() -> None:
    rng = rng_of(0)
    parent = founder(1)
    told = Counter(offspring(parent, rng)[1] for _ in range(600))
    for operator, share in zip(Operator, (0.6, 0.25, 0.15), strict=True):
        assert abs(told[operator] / 600 - share) < 5.0 * np.sqrt(share * (1.0 - share) / 600)


@pytest.mark.parametrize("kind", [kind for kind in GENES if kind is not Genotype])
def test_genes_are_drawn_in_the_order_of_their_members(kind: Any) -> None:
    assert tuple(GENES[kind]) == kind.__struct_fields__

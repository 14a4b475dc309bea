"""Growth: what is made of which node, where it sits, what accumulates, and why creatures are rejected at birth."""

import math
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kinemorph as km
from kinemorph.brain import Acted
from kinemorph.creatures import (
    Connection,
    Counting,
    EffectorGene,
    Form,
    From,
    Genotype,
    NeuronGene,
    Node,
    Phenotype,
    Root,
    Settings,
    Source,
    develop,
    grow,
    random_genotype,
)
from kinemorph.creatures.growth.birth_checks import REASONS, Reason

pytestmark = pytest.mark.quick

ALL = Settings(forms=tuple(Form))
USES, CYCLES = Settings(most_parts=64), Settings(most_parts=64, counting=Counting.CYCLES)
Z, X = (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)
MIRROR = np.diag([1.0, -1.0, 1.0])
seeds = st.integers(0, 2**32 - 1)


def graph(limits: Iterable[int], edges: Iterable[tuple[int, int]], **more: object) -> Genotype:
    nodes = tuple(Node(size=(0.05, 0.05, 0.05), replication=n) for n in limits)
    return Genotype(nodes=nodes, connections=tuple(Connection(a, b, **more) for a, b in edges))  # type: ignore[arg-type]


def made_of(genotype: Genotype, s: Settings) -> list[int]:
    return grow(genotype, s)["node"].tolist()


@pytest.mark.lane
def test_growth_is_breadth_first_and_limits_count_uses_or_cycles() -> None:
    # a trunk that repeats itself, with a leg at each of its parts
    genotype = graph([3, 2], [(0, 0), (0, 1)])
    assert made_of(genotype, USES) == [0, 0, 1, 0, 1]  # the third trunk finds the leg used up
    assert made_of(genotype, CYCLES) == [0, 0, 1, 0, 1, 1]
    # two nodes that lead to each other
    loop = graph([2, 2], [(0, 1), (1, 0)])
    assert made_of(loop, USES) == made_of(loop, CYCLES) == [0, 1, 0, 1]
    # a fork that repeats itself doubles under cycles, and does not under uses
    fork = graph([3], [(0, 0), (0, 0)])
    assert len(made_of(fork, USES)) == 3
    assert len(made_of(fork, CYCLES)) == 1 + 2 + 4


@pytest.mark.lane
def test_terminal_connections_come_only_where_the_limit_is_used_up() -> None:
    chain = Genotype(
        nodes=tuple(Node(size=(0.05, 0.05, 0.05), replication=n) for n in (4, 9)),
        connections=(Connection(0, 0), Connection(0, 1, terminal=True)),
    )
    for s in (USES, CYCLES):
        parts = grow(chain, s)
        assert parts["node"].tolist() == [0, 0, 0, 0, 1]
        assert parts["parent"].tolist() == [-1, 0, 1, 2, 3]


def test_caps_end_growth() -> None:
    assert len(grow(graph([64], [(0, 0), (0, 0)]), Settings(counting=Counting.CYCLES, most_parts=20))) == 20
    assert len(grow(graph([64], [(0, 0)]), Settings(most_parts=64, most_depth=5))) == 6


@pytest.mark.lane
def test_reflection_and_scale_accumulate() -> None:
    genotype = graph([4], [(0, 0)], scale=0.8, reflected=True)
    parts = grow(genotype, Settings(most_parts=8, part_scale=(0.01, 10.0)))
    assert parts["mirrored"].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(parts["scale"], 0.8 ** np.arange(4), rtol=1e-15)
    np.testing.assert_allclose(parts["half"][:, 0], 0.05 * 0.8 ** np.arange(4), rtol=1e-15)
    np.testing.assert_allclose(parts["mass"], parts["mass"][0] * 0.8 ** (3 * np.arange(4)), rtol=1e-14)
    assert grow(genotype, Settings(part_scale=(0.7, 1.6)))["scale"].min() == 0.7


@settings(max_examples=60)
@given(seeds, st.sampled_from(list(Form)), st.sampled_from(list(Form)))
def test_a_child_sits_on_the_ray_along_the_normal_and_just_touches(seed: int, one: Form, two: Form) -> None:
    rng = np.random.default_rng(seed)
    d = rng.normal(size=3)
    d /= np.linalg.norm(d)
    sizes = [tuple(rng.uniform(0.05, 0.2, 3).tolist()) for _ in range(2)]
    genotype = Genotype(
        nodes=tuple(Node(form=form, size=size) for form, size in zip((one, two), sizes, strict=True)),
        connections=(Connection(0, 1, tuple(d.tolist()), float(rng.uniform(-3, 3)), bool(rng.random() < 0.5)),),
    )
    creature = develop(genotype)
    child = creature.rows[1]
    model = creature.model
    at = (MIRROR @ d) if child["mirrored"] else d
    np.testing.assert_allclose(np.cross(child["joint_p"], at), 0.0, atol=1e-12)  # on the ray
    assert child["joint_p"] @ at > 0.0
    np.testing.assert_allclose(
        child["p"], child["joint_p"] + child["rise"] * child["R"].reshape(3, 3)[:, 2], atol=1e-12
    )
    R = child["joint_R"].reshape(3, 3)
    np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-12)
    assert np.linalg.det(R) > 0.0
    # the point is on the surface, and a step along z leaves the parent by as much
    solid = model.shapes[0][0]
    for step in (1e-4, -1e-4):
        point = child["joint_p"] + step * R[:, 2]
        assert km.closest_point(solid, None, point).distance == pytest.approx(step, abs=1e-6)
    poses = [km.Pose(), km.Pose(child["joint_p"], R)]
    gap = km.distance(model.shapes[0][0], poses[0], model.shapes[1][0], poses[1]).distance
    assert abs(gap) < 1e-9


@pytest.mark.lane
def test_sizes_become_shapes_of_the_same_mass() -> None:
    for form in Form:
        creature = develop(Genotype(nodes=(Node(form=form, size=(0.05, 0.08, 0.2)),)))
        shape, row = creature.model.shapes[0][0], creature.model.links[0]
        expected = km.inertia_of(shape, 500.0)
        assert row["mass"] == pytest.approx(expected.mass, rel=1e-13)
        x, y, z = expected.com
        far = expected.mass * np.array([y * y + z * z, x * x + z * z, x * x + y * y])
        np.testing.assert_allclose(row["I"][[0, 3, 5]], np.diag(expected.matrix) + far, rtol=1e-12)
        np.testing.assert_allclose(row["h"], expected.mass * expected.com, atol=1e-12)


@settings(max_examples=80)
@given(seeds)
def test_turns_about_the_normal_turn_the_child_and_nothing_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = rng.normal(size=3)
    turn = float(rng.uniform(-3.0, 3.0))
    frames = []
    for angle in (0.0, turn):
        c = Connection(0, 1, tuple((d / np.linalg.norm(d)).tolist()), angle)
        frames.append(grow(Genotype(nodes=(Node(), Node()), connections=(c,)))[1]["joint_R"].reshape(3, 3))
    by = frames[0].T @ frames[1]
    s, c_ = math.sin(turn), math.cos(turn)
    np.testing.assert_allclose(by, [[c_, -s, 0.0], [s, c_, 0.0], [0.0, 0.0, 1.0]], atol=1e-12)


def symmetric(seed: int) -> Phenotype:
    """A trunk with a random limb on each side: the same connection twice, once reflected."""
    rng = np.random.default_rng(seed)
    limb = random_genotype(rng, ALL)
    count = len(limb.nodes)
    trunk = Node(form=list(Form)[int(rng.integers(4))], size=(0.2, 0.2, 0.2))
    d = rng.normal(size=3)
    first = Connection(0, 1, tuple((d / np.linalg.norm(d)).tolist()), float(rng.uniform(-3, 3)))
    twin = Connection(0, 1, first.direction, first.turn, True)
    inner = tuple(
        Connection(c.parent + 1, c.child + 1, c.direction, c.turn, c.reflected, c.scale, c.terminal)
        for c in limb.connections
    )
    genotype = Genotype(nodes=(trunk, *limb.nodes), connections=(first, twin, *inner))
    assert count + 1 == len(genotype.nodes)
    return develop(genotype, Settings(forms=tuple(Form), counting=Counting.CYCLES, most_parts=64, most_depth=4))


def twins(creature: Phenotype) -> list[tuple[int, int]]:
    """Parts of the two limbs that are each other's images: those that came by the same way."""
    ways: dict[tuple[int, ...], list[int]] = {}
    rows = creature.rows
    for i in range(1, len(rows)):
        way, k = [], i
        while rows[k]["parent"] > 0:
            way.append(int(rows[k]["connection"]))
            k = int(rows[k]["parent"])
        ways.setdefault(tuple(way), []).append(i)
    return [(a, b) for a, b in ways.values()]


@pytest.mark.lane
@settings(max_examples=60, deadline=None)
@given(seeds)
def test_mirrored_parts_are_mirror_images(seed: int) -> None:
    creature = symmetric(seed)
    rows = creature.rows
    pairs = twins(creature)
    assert 1 + 2 * len(pairs) == len(rows)
    for a, b in pairs:
        one, other = rows[a], rows[b]
        assert one["mirrored"] + other["mirrored"] == 1
        assert one["mass"] == other["mass"]
        assert one["strength"] == other["strength"]
        np.testing.assert_array_equal(one["half"], other["half"])
        np.testing.assert_array_equal(one["moments"], other["moments"])
        np.testing.assert_allclose(MIRROR @ one["p"], other["p"], atol=1e-12)
        R = MIRROR @ one["R"].reshape(3, 3) @ MIRROR
        np.testing.assert_allclose(R, other["R"].reshape(3, 3), atol=1e-12)


@settings(max_examples=30)
@given(seeds)
def test_mirrored_parts_move_mirrored(seed: int) -> None:
    """The same positions, speeds and torques on both sides: the trunk stays in its plane, and both sides agree."""
    creature = symmetric(seed)
    model, rng = creature.model, np.random.default_rng(seed)
    q, v, tau = km.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    same = []
    for a, b in twins(creature):
        for one, other in zip(creature.parts[a].links, creature.parts[b].links, strict=True):
            i, j = model.link(one), model.link(other)
            low, high = model.limits(one)
            q[model.q_slice(i)] = q[model.q_slice(j)] = rng.uniform(low, high)
            v[model.v_slice(i)] = v[model.v_slice(j)] = rng.normal()
            tau[model.v_slice(i)] = tau[model.v_slice(j)] = rng.normal()
            same.append((model.v_slice(i), model.v_slice(j)))
    data = km.Data(model)
    a = km.aba(model, data, q, v, tau)
    scale = 1.0 + np.abs(a).max()
    for i, j in same:
        np.testing.assert_allclose(a[i], a[j], atol=1e-7 * scale)
    # of the trunk, what a mirror across y turns round is zero: turning about x and z, and going along y
    np.testing.assert_allclose(a[[0, 2, 4]], 0.0, atol=1e-7 * scale)
    km.kinematics(model, data, q)
    for one, other in twins(creature):
        middle = [km.pose_of(model, data, f"part{k}").apply([0.0, 0.0, creature.rows[k]["rise"]]) for k in (one, other)]
        np.testing.assert_allclose(MIRROR @ middle[0], middle[1], atol=1e-9)


@pytest.mark.parametrize("kind", [From.ANGLE, From.SPEED, From.UP, From.DIRECTION, From.DISTANCE])
def test_mirrored_parts_live_mirrored(kind: From) -> None:
    """One brain on both sides, which sees a target in the plane between them: what each does is the image."""
    clock = NeuronGene("wave", (Source(), Source(), Source()), (1.1, 0.3, 1.0))
    seers = tuple(
        NeuronGene("add", (Source(kind, k), Source(From.LOCAL, 0), Source()), (1.0, 0.5, 0.0)) for k in range(3)
    )
    limb = Node(
        size=(0.04, 0.05, 0.12), dof=3, limits=((-0.4, 0.4),) * 3, replication=2, neurons=(clock, *seers),
        effectors=tuple(EffectorGene(Source(From.LOCAL, k), 0.7) for k in (1, 2, 3)),
    )  # fmt: skip
    side = Connection(0, 1, (0.48, 0.8, 0.36), 0.7)
    twin = Connection(0, 1, side.direction, side.turn, True)
    creature = develop(Genotype(nodes=(Node(size=(0.2, 0.15, 0.1)), limb), connections=(side, twin)))
    world = km.World(gravity=(0, 0, 0), dt=5e-3)
    figure = world.add(creature.model)
    world.brains.attach(figure, creature.brain, (2.0, 0.0, 0.5))
    swing = 0.0
    for _ in range(10):
        world.run(0.1)
        swing = max(swing, *(abs(float(figure.position(link)[0])) for link in creature.parts[1].links))
        one, other = (figure[name].pose for name in ("part1", "part2"))
        np.testing.assert_allclose(MIRROR @ one.position, other.position, atol=1e-4)  # the solver ends before zero
        np.testing.assert_allclose(MIRROR @ one.rotation @ MIRROR, other.rotation, atol=1e-4)
        assert not world.contacts()
    assert abs(figure["part0"].position[1]) < 1e-4
    assert swing > 0.1


# --------------------------------------------------------------------------------------------------------- rejections

PAIR = Genotype(nodes=(Node(), Node()), connections=(Connection(0, 1, Z),))
REJECTED = {
    "one part": (Genotype(nodes=(Node(),)), PAIR, Settings()),
    "tiny part": (
        Genotype(nodes=(Node(), Node(size=(0.1, 0.0099, 0.1))), connections=(Connection(0, 1, Z),)),
        Genotype(nodes=(Node(), Node(size=(0.1, 0.0101, 0.1))), connections=(Connection(0, 1, Z),)),
        Settings(),
    ),
    "overlap at birth": (
        Genotype(nodes=(Node(), Node(replication=2)), connections=(Connection(0, 1, Z), Connection(0, 1, Z))),
        Genotype(
            nodes=(Node(), Node(replication=2)), connections=(Connection(0, 1, Z), Connection(0, 1, (0.0, 0.0, -1.0)))
        ),
        Settings(),
    ),
    "too long": (graph([31], [(0, 0)]), graph([29], [(0, 0)]), Settings(most_parts=64, most_depth=64)),
    "too many neurons": (
        Genotype(nodes=(Node(neurons=(NeuronGene(),) * 6), Node()), connections=(Connection(0, 1, Z),)),
        Genotype(nodes=(Node(neurons=(NeuronGene(),) * 5), Node()), connections=(Connection(0, 1, Z),)),
        Settings(most_wires=5),
    ),
}


@pytest.mark.parametrize("reason", list(REJECTED))
def test_creatures_are_rejected_at_birth_by_name(reason: str) -> None:
    bad, good, s = REJECTED[reason]
    assert develop(bad, s).rejected == reason
    assert develop(good, s).rejected == ""


def test_every_reason_is_planted() -> None:
    assert {*REJECTED, ""} == set(REASONS.values())
    assert set(REASONS) == set(Reason)


@settings(max_examples=60)
@given(seeds)
def test_overlaps_are_those_that_collision_detection_finds(seed: int) -> None:
    """Boxes: what the cheap test calls an overlap is one, and what it lets pass is none that is deep."""
    s = Settings(overlap=0.05)
    creature = develop(random_genotype(seed, s), s)
    parts = creature.parts
    deepest = 0.0
    for i, a in enumerate(parts):
        for j, b in enumerate(parts[:i]):
            if a.parent != j and b.parent != i:
                shapes = [km.Shape.box([2.0 * x for x in part.size]) for part in (a, b)]
                depth = -km.distance(shapes[0], a.pose, shapes[1], b.pose).distance
                deepest = max(deepest, depth / (2.0 * min(max(a.size), max(b.size))))
    if abs(deepest - 0.05) > 1e-6:
        assert (creature.rejected == "overlap at birth") == (deepest > 0.05)


def test_a_child_is_never_inside_its_parent() -> None:
    """It only touches: so no more than half of it can be in its parent, and there is no such reason."""
    for seed in range(300):
        creature = develop(random_genotype(seed, ALL), ALL)
        for part in creature.rows[1:]:
            parent = creature.rows[part["parent"]]
            out = parent["R"].reshape(3, 3).T @ (part["R"].reshape(3, 3)[:, 2])
            toward = parent["R"].reshape(3, 3).T @ (part["p"] - parent["p"])
            assert toward @ out > 0.0


def test_numbers_of_the_root_are_junk_and_change_nothing() -> None:
    plain = Node(size=(0.1, 0.1, 0.1))
    odd = Node(size=(0.1, 0.1, 0.1), dof=3, limits=((-0.1, 0.1),) * 3, axes=(Z, X, (0.0, 1.0, 0.0)))
    for root in (plain, odd):
        rows = grow(Genotype(nodes=(root, plain), connections=(Connection(0, 1, Z),)))
        assert rows["dof"].tolist() == [0, 1]
    assert Source().kind is From.ONE


@pytest.mark.parametrize(
    ("genotype", "words"),
    [
        (Genotype(nodes=(Node(size=(math.nan, 0.1, 0.1)),)), r"nodes\[0\].size\[0\]"),
        (Genotype(nodes=(Node(axes=((math.inf, 0.0, 0.0), Z, X)),)), r"nodes\[0\].axes\[0\]\[0\]"),
        (Genotype(nodes=(Node(),), connections=(Connection(0, 70),)), r"connections\[0\].child"),
        (Genotype(nodes=(Node(),), connections=(Connection(0, 1),)), r"there is no node 1, only 1 nodes"),
        (Genotype(nodes=(Node(),), connections=(Connection(0, 0, (0.0, 0.0, 0.0)),)), r"connections\[0\].direction"),
        (Genotype(nodes=(Node(dof=7),)), r"nodes\[0\].dof"),
        (Genotype(nodes=(Node(form="egg"),)), r"nodes\[0\].form"),  # type: ignore[arg-type]
        (Genotype(nodes=()), "nodes"),
    ],
)
def test_what_is_made_wrong_by_hand_does_not_grow(genotype: Genotype, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        develop(genotype)


@pytest.mark.parametrize(
    "bad",
    [
        {"size": (0.2, 0.1)}, {"size": (0.1,)}, {"size": (1e-9, 1.0)}, {"reach": (0.1, 9.0)}, {"scale": (0.01, 1.0)},
        {"part_scale": (math.nan, 1.0)}, {"density": math.nan}, {"density": 1e300}, {"joint_damping": math.nan},
        {"joint_damping": -1.0}, {"lag": math.inf}, {"overlap": math.nan}, {"weight": 101.0}, {"rate": 1e4},
        {"functions": ("dream",)}, {"forms": ()}, {"forms": ("egg",)}, {"sources": ("smell",)}, {"most_nodes": 65},
        {"most_parts": 10**12}, {"most_parts": 2.5}, {"most_depth": -1}, {"most_wires": 4096}, {"grasps": "no"},
        {"root": "hung"}, {"counting": "sheep"}, {"acted": 9}, {"acted": None},
    ],
    ids=str,
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=f"creature settings: .*{next(iter(bad)).removesuffix('s')}"):
        Settings(**bad)  # type: ignore[arg-type]


def test_choices_may_be_told_by_their_values() -> None:
    told = Settings(root="fixed", counting="cycles", acted=0, forms=["box", "cone"])  # type: ignore[arg-type]
    assert told == Settings(root=Root.FIXED, counting=Counting.CYCLES, acted=Acted.TORQUE, forms=(Form.BOX, Form.CONE))
    assert develop(PAIR, told).model.nv == 1
    assert develop(PAIR, told).brain.effects[0].what is Acted.TORQUE


def test_what_is_no_genotype_does_not_develop() -> None:
    with pytest.raises(TypeError, match="develop: genotype is 'worm', and must be a Genotype"):
        develop("worm")  # type: ignore[arg-type]

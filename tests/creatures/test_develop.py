"""Development: rows as the Builder makes them, wiring by relative address, and the same creature in MuJoCo."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mujoco_twin import assert_equal

import kinemorph as km
from kinemorph.brain import Acted, Brain, Function, Sense, Sensed
from kinemorph.creatures import (
    Connection,
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
    random_genotype,
)
from kinemorph.multibody.layout import DOF, LINK

pytestmark = pytest.mark.quick

ALL = Settings(forms=tuple(Form))
seeds = st.integers(0, 2**32 - 1)
Z, DOWN = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


def built(model: km.Model) -> km.Model:
    """The same creature, link by link, with inertias of its shapes."""
    builder = km.Builder("creature")
    for i, name in enumerate(model.names):
        row, dof = model.links[i], model.dofs[model.v_slice(i)]
        if row["kind"] == km.JointKind.REVOLUTE:
            numbers = {f: float(dof[f][0]) for f in ("lower", "upper", "effort_limit", "damping", "armature")}
            joint = km.Joint.revolute(row["axis"], **numbers)
        else:
            joint = km.Joint.free() if row["kind"] == km.JointKind.FREE else km.Joint.fixed()
        inertia = None
        if model.shapes[i]:
            mass = km.inertia_of(model.shapes[i][0], 500.0)
            inertia = km.Inertia(mass.mass, mass.com, mass.matrix)
        parent = None if row["parent"] < 0 else model.names[row["parent"]]
        builder.link(name, parent, joint, km.Pose(row["p"], row["R"].reshape(3, 3)), inertia, model.shapes[i])
    return builder.build()


@settings(max_examples=40)
@given(seeds, st.sampled_from(list(Root)))
def test_rows_are_those_that_the_builder_makes(seed: int, root: Root) -> None:
    s = Settings(forms=tuple(Form), root=root, least_parts=1)
    model = develop(random_genotype(seed, s), s).model
    if model.n == 1 and root is Root.FIXED:
        return  # nothing moves
    expected = built(model)
    assert model.joint_names == expected.joint_names
    for field in LINK.names or ():
        np.testing.assert_allclose(model.links[field], expected.links[field], rtol=1e-12, atol=1e-13, err_msg=field)
    for field in DOF.names or ():
        np.testing.assert_allclose(model.dofs[field], expected.dofs[field], rtol=1e-12, err_msg=field)
    np.testing.assert_array_equal(model.rest, expected.rest)
    np.testing.assert_array_equal(model.bodies["link"], expected.bodies["link"])


@pytest.mark.lane
def test_links_of_parts_have_names() -> None:
    node = Node(dof=3, replication=9)
    creature = develop(Genotype(nodes=(Node(), node), connections=(Connection(0, 1, Z), Connection(0, 1, DOWN))))
    assert creature.model.names == ("part0", "part1:0", "part1:1", "part1", "part2:0", "part2:1", "part2")
    assert [part.links for part in creature.parts] == [
        (), ("part1:0", "part1:1", "part1"), ("part2:0", "part2:1", "part2"),
    ]  # fmt: skip
    assert [part.name for part in creature.parts] == ["part0", "part1", "part2"]
    assert [part.depth for part in creature.parts] == [0, 1, 1]


def test_a_phenotype_travels() -> None:
    creature = develop(random_genotype(12, ALL), ALL)
    again = pickle.loads(pickle.dumps(creature))
    assert again.rows.tobytes() == develop(creature.genotype, ALL).rows.tobytes()
    assert again.brain == creature.brain
    assert again.model.links.tobytes() == creature.model.links.tobytes()


def test_strength_goes_by_cross_section_and_is_limited_by_weight() -> None:
    thin, thick = Node(size=(0.03, 0.04, 0.2)), Node(size=(0.05, 0.06, 0.2))
    genotype = Genotype(nodes=(thin, thick), connections=(Connection(0, 1, Z),))
    free = develop(genotype, Settings(whole_strength=1e9))
    assert free.parts[1].strength == pytest.approx(2e4 * (0.1 * 0.12) ** 1.5)
    bound = develop(genotype)
    weight_times_length = 9.81 * bound.model.mass * 0.8
    assert bound.parts[1].strength == pytest.approx(min(free.parts[1].strength, 2.0 * weight_times_length))
    many = Genotype(
        nodes=(thin, Node(size=(0.05, 0.06, 0.1), dof=3, replication=2)),
        connections=(Connection(0, 1, Z), Connection(0, 1, DOWN)),
    )
    hub = develop(many)
    total = sum(part.strength * len(part.links) for part in hub.parts)
    assert total <= 2.0 * 9.81 * hub.model.mass * 2.0 * (1.0 + 1e-12)


# ------------------------------------------------------------------------------------------------------------- wiring


def neuron(*inputs: Source, function: str = "add") -> NeuronGene:
    sources = (*inputs, Source(), Source(), Source())[:3]
    return NeuronGene(function, sources, (1.0, 2.0, 3.0))


@pytest.mark.lane
def test_neurons_are_wired_by_relative_address() -> None:
    """The fourth neuron of the second child, neurons of the parent and of the central brain, and senses."""
    trunk = Node(
        neurons=(
            neuron(Source(From.CHILD, 3, 1), Source(From.CHILD, 0, 2), Source(From.PARENT, 0)),
            neuron(Source(From.GLOBAL, 1), Source(From.LOCAL, 0), Source(From.ANGLE, 0)),
        )
    )
    limb = Node(
        dof=2, replication=2,
        neurons=(
            neuron(Source(From.PARENT, 1), Source(From.ANGLE, 1), Source(From.ANGLE, 2)),
            neuron(Source(From.UP, 4), Source(From.DIRECTION, 1), Source(From.TOUCH, 5)),
            neuron(Source(From.LOCAL, 7), Source(From.SPEED, 0), Source(From.DISTANCE)),
            neuron(Source(From.PLACE, 2), function="sine"),
        ),
        effectors=(
            EffectorGene(Source(From.LOCAL, 2), 0.5), EffectorGene(Source(From.GLOBAL, 9), 0.25), EffectorGene(),
        ),
    )  # fmt: skip
    genotype = Genotype(
        nodes=(trunk, limb),
        connections=(Connection(0, 1, Z), Connection(0, 1, Z, reflected=True, turn=1.0)),
        neurons=(
            neuron(Source(From.LOCAL, 1), Source(From.PARENT, 1), Source(From.CHILD, 2, 1)),
            neuron(Source(From.UP, 0), Source(From.ANGLE, 0), Source(From.GLOBAL, 0)),
        ),
    )
    brain = develop(genotype).brain
    sources = [n.sources for n in brain.neurons]
    # 0 nothing, 1 one; trunk 2 3; first limb 4-7; second limb 8-11; central 12 13; then senses
    senses = {sense: 14 + k for k, sense in enumerate(brain.senses)}
    assert sources[0] == (11, 0, 0)
    assert sources[1] == (13, 2, 0)
    assert sources[2] == (3, senses[Sense(Sensed.ANGLE, "part1")], 0)
    assert sources[6] == (3, senses[Sense(Sensed.ANGLE, "part2")], 0)
    up, turned = Sense(Sensed.UP, "part1", 1), Sense(Sensed.UP, "part2", 1, True)
    assert sources[3] == (senses[up], senses[Sense(Sensed.DIRECTION, "part1", 1)], senses[Sense(Sensed.TOUCH, "part1")])
    assert sources[7][:2] == (senses[turned], senses[Sense(Sensed.DIRECTION, "part2", 1, True)])
    assert sources[4] == (0, senses[Sense(Sensed.SPEED, "part1:0")], senses[Sense(Sensed.DISTANCE, "part1")])
    assert sources[5] == (senses[Sense(Sensed.PLACE, "part1", 2)], 1, 1)
    assert brain.neurons[5].function is Function.SINE
    assert sources[10] == (13, 3, 10)
    assert sources[11] == (senses[Sense(Sensed.UP, "part0", 0)], 0, 12)
    assert all(n.weights == (1.0, 2.0, 3.0) for n in brain.neurons)
    effects = [(e.link, e.source, e.weight) for e in brain.effects]
    assert effects == [("part1:0", 6, 0.5), ("part1", 0, 0.25), ("part2:0", 10, 0.5), ("part2", 0, 0.25)]


@pytest.mark.parametrize("acted", [Acted.TORQUE, Acted.TARGET, Acted.SPEED])
def test_effectors_have_strength_and_range(acted: Acted) -> None:
    creature = develop(random_genotype(12, ALL), Settings(acted=acted))
    for effect in creature.brain.effects:
        part = creature.parts[int(effect.link.removeprefix("part").partition(":")[0])]
        assert effect.what is acted
        assert effect.effort_limit == part.strength
        low, high = creature.model.limits(effect.link)
        assert (effect.low, effect.high) == ((-10.0, 10.0) if acted is Acted.SPEED else (low[0], high[0]))


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_what_is_not_there_reads_nothing_and_brains_are_complete(seed: int) -> None:
    creature = develop(random_genotype(seed, ALL), ALL)
    brain = creature.brain
    count = sum(len(creature.genotype.nodes[k].neurons) for k in creature.rows["node"])
    assert len(brain.neurons) == count + len(creature.genotype.neurons)
    assert brain.rate == 25.0
    assert np.isfinite(brain.respond(np.zeros((5, len(brain.senses))))).all()


# ----------------------------------------------------------------------------------------------------- other programs


def compiled(creature: Phenotype, folder: Path) -> Any:
    path = km.save_mjcf(creature.driven_model, folder / "creature.xml")
    return mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize("seed", range(12))
def test_mujoco_has_the_same_creature(seed: int, tmp_path: Path) -> None:
    """Masses, inertias, axes and limits of joints, and accelerations at random states without contact, to 1e-9."""
    creature = develop(random_genotype(seed, ALL), ALL)
    model, peer = creature.driven_model, compiled(creature, tmp_path)
    assert peer.nu == model.nv - 6 == len(creature.brain.effects)
    assert peer.nbody == 1 + len(creature.parts)
    for part, row in zip(creature.parts, creature.rows, strict=True):
        body = peer.body(part.name)
        assert body.mass[0] == pytest.approx(part.mass, rel=1e-9)
        np.testing.assert_allclose(np.sort(body.inertia), np.sort(row["moments"]), rtol=1e-9)
        for name in part.links:
            joint = peer.joint(name)
            link = model.link(name)
            np.testing.assert_allclose(joint.axis, model.links[link]["axis"], rtol=0.0, atol=1e-9)
            np.testing.assert_allclose(joint.range, np.ravel(model.limits(name)), rtol=1e-9)
            assert peer.actuator(name).forcerange[1] == pytest.approx(part.strength, rel=1e-9)
    assert_equal(model, peer, np.random.default_rng(seed))


@pytest.mark.parametrize("acted", list(Acted))
def test_mujoco_drives_the_same_creature(acted: Acted, tmp_path: Path) -> None:
    """Torques, speeds or positions are told to its actuators: its joint forces are those of `km.actuator_forces`."""
    own = replace(ALL, acted=acted)
    creature = develop(random_genotype(7, own), own)
    model, peer = creature.driven_model, compiled(creature, tmp_path)
    assert peer.nu >= 3
    there, rng, to = mujoco.MjData(peer), np.random.default_rng(7), km.convert.mujoco(model, peer)
    for strength in (0.1, 10.0):  # within the limits of drives, and beyond
        q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
        there.qpos, there.qvel = to.q(q), to.v(q, v)
        told = strength * rng.normal(size=peer.nu)
        there.ctrl = told
        mujoco.mj_forward(peer, there)
        forces = to.tau(q, km.actuator_forces(model, q, v, told))
        assert np.abs(forces).max() > 0.0
        np.testing.assert_allclose(there.qfrc_actuator, forces, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:model 'creature'. URDF has no armature")
def test_urdf_has_the_same_creature(tmp_path: Path) -> None:
    model = develop(random_genotype(5, ALL), ALL).model
    again = km.load_urdf(km.save_urdf(model, tmp_path / "creature.urdf"))
    assert set(model.names) <= set(again.names)
    assert again.mass == pytest.approx(model.mass, rel=1e-12)
    bare = model.with_dofs(armature=1e-3)
    with_same = again.with_dofs(armature=1e-3)
    rng = np.random.default_rng(1)
    q = km.random_configuration(bare, rng)
    other = km.neutral(with_same)
    for name in model.joint_names:
        other[with_same.q_slice(name)] = q[bare.q_slice(name)]
    one, two = km.crba(bare, km.Data(bare), q), km.crba(with_same, km.Data(with_same), other)
    order = [k for name in bare.joint_names for k in range(*with_same.v_slice(name).indices(with_same.nv))]
    np.testing.assert_allclose(one, two[np.ix_(order, order)], rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:model 'creature'. URDF has no armature")
@pytest.mark.parametrize("seed", [1, 2, 5, 8])
def test_mujoco_reads_the_urdf_of_a_creature(seed: int, tmp_path: Path) -> None:
    """Joints of several axes are links without mass, which MuJoCo takes; all but armature is there, to 1e-9."""
    creature = develop(random_genotype(seed, ALL), ALL)
    assert creature.rows["dof"].max() > 1
    model = creature.model
    peer = mujoco.MjModel.from_xml_path(str(km.save_urdf(model, tmp_path / "creature.urdf")))
    for part, row in zip(creature.parts, creature.rows, strict=True):
        body = peer.body(part.name)
        assert body.mass[0] == pytest.approx(part.mass, rel=1e-9)
        np.testing.assert_allclose(np.sort(body.inertia), np.sort(row["moments"]), rtol=1e-9)
        for name in part.links:
            joint = peer.joint(name)
            np.testing.assert_allclose(joint.axis, model.links[model.link(name)]["axis"], rtol=0.0, atol=1e-9)
            np.testing.assert_allclose(joint.range, np.ravel(model.limits(name)), rtol=1e-9)
            assert joint.armature[0] == 0.0
            joint.armature = model.dofs[model.v_slice(name)]["armature"]
    assert_equal(model, peer, np.random.default_rng(seed))


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_a_wired_brain_is_what_its_neurons_senses_and_effects_say(seed: int) -> None:
    """The rows that a kernel has filled are those that a brain makes of the objects that they stand for."""
    wired = develop(random_genotype(seed, ALL), replace(ALL, grasps=True)).brain
    brain = Brain(wired.neurons, wired.senses, wired.effects, wired.rate)
    assert brain == wired
    assert hash(brain) == hash(wired)
    assert pickle.loads(pickle.dumps(wired)) == wired
    assert wired.idle is (not wired.effects)
    for own, other in zip(wired.rows, brain.rows, strict=True):
        for name in set(own.dtype.names or ()) - {"id", "body"}:  # these are numbers of links
            np.testing.assert_array_equal(own[name], other[name])
    assert [wired.links[i] for i in wired.rows[1]["id"]] == [brain.links[i] for i in brain.rows[1]["id"]]
    assert [wired.links[i] for i in wired.rows[2]["body"]] == [brain.links[i] for i in brain.rows[2]["body"]]


def test_a_brain_with_numbers_that_are_none_is_refused_with_its_place() -> None:
    gene = NeuronGene("add", (Source(),) * 3, (float("nan"), 0.0, 0.0))
    creature = develop(Genotype(nodes=(Node(neurons=(gene,)), Node()), connections=(Connection(0, 1, Z),)))
    with pytest.raises(ValueError, match=r"nodes\[0\].neurons\[0\].weights"):
        _ = creature.brain
    unknown = Genotype(nodes=(Node(neurons=(NeuronGene("think"),)),))
    with pytest.raises(ValueError, match="there is no 'think'"):
        _ = develop(unknown).brain

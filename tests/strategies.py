"""Random trees and states: `random_tree` for any program, and strategies for Hypothesis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from kinemorph import Builder, Inertia, Joint, JointKind, Model, Pose, random_configuration

KINDS = tuple(JointKind)
TREE_SHAPES = ("chain", "bushy", "random")

Array = np.ndarray
Rng = np.random.Generator


class State(NamedTuple):
    """A model with numbers for all that its dynamics need."""

    model: Model
    q: Array
    v: Array
    a: Array
    tau: Array
    external: Array


def random_tree(
    rng: Rng,
    n: int,
    kinds: Sequence[JointKind] = KINDS,
    shape: str = "random",
    roots: int = 1,
    armature: float = 0.0,
) -> Model:
    """A tree of n links with joints of the given kinds, each kind as often as the others.

    `shape` is "chain", "bushy" (four children each) or "random"; `roots` links hang on the base. `armature` is the
    largest one at a joint.
    """
    parent = {"chain": lambda i: i - roots, "bushy": lambda i: (i - roots) // 4, "random": lambda i: rng.integers(i)}
    parents = [-1 if i < roots else int(parent[shape](i)) for i in range(n)]
    rounds = [rng.permutation(np.array(kinds, dtype=int)) for _ in range(0, n, len(kinds))]
    return build_tree(rng, np.concatenate(rounds)[:n], parents, armature)


def build_tree(rng: Rng, kinds: Sequence[int], parents: Sequence[int], armature: float = 0.0) -> Model:
    """A tree with given joints and topology; its numbers are random."""
    builder = Builder("random tree", gravity=rng.normal(size=3) * 5.0)
    for i, (kind, parent) in enumerate(zip(kinds, parents)):
        builder.link(
            f"link{i}",
            None if parent < 0 else f"link{parent}",
            random_joint(rng, JointKind(kind), armature),
            random_pose(rng, 0.3),
            random_inertia(rng),
        )
    builder.frame("tool", f"link{len(kinds) - 1}", random_pose(rng, 0.3))
    builder.frame("stand", None, random_pose(rng, 0.3))
    return builder.build()


def copy_into(
    builder: Builder,
    tree: Model,
    root: str | None = None,
    placed: Pose | None = None,
    prefix: str = "",
    armature: Array | None = None,
    backwards: bool = False,
) -> None:
    """Add the links of a tree to a builder: under a link, moved as a whole by `placed`, children first if `backwards`.

    `armature` has an entry for each degree of freedom of the tree; what the tree's own joints have is left out.
    """
    placed = placed or Pose()
    armature = np.zeros(tree.nv) if armature is None else armature
    for i in reversed(range(tree.n)) if backwards else range(tree.n):
        l = tree.links[i]
        base, at = l["parent"] < 0, Pose(l["p"], l["R"].reshape(3, 3))
        I, com = l["I"][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3), l["h"] / l["mass"]
        builder.link(
            prefix + tree.names[i],
            root if base else prefix + tree.names[l["parent"]],
            Joint(JointKind(l["kind"]), l["axis"], l["axis2"], l["pitch"], armature=armature[tree.v_slice(i)]),
            placed @ at if base else at,
            Inertia(l["mass"], com, I - l["mass"] * (com @ com * np.eye(3) - np.outer(com, com))),
        )


def random_joint(rng: Rng, kind: JointKind, armature: float = 0.0) -> Joint:
    """A joint with random axes (those of a universal joint at least 45° apart)."""
    axis = random_unit(rng)
    across = np.cross(axis, random_unit(rng))
    axis2 = across / np.linalg.norm(across) + rng.uniform(-1.0, 1.0) * axis
    return Joint(kind, axis, axis2, pitch=float(rng.uniform(0.05, 0.3)), armature=float(rng.uniform(0.0, armature)))


def random_inertia(rng: Rng) -> Inertia:
    """A solid box, about a kilogram and a few decimetres, anywhere near the link's origin."""
    box = Inertia.box(rng.uniform(0.5, 2.0), rng.uniform(0.1, 0.5, 3))
    return box.moved(random_pose(rng, 0.2))


def random_pose(rng: Rng, reach: float = 1.0) -> Pose:
    return Pose.quaternion(rng.normal(size=4), rng.uniform(-reach, reach, 3))


def random_unit(rng: Rng) -> Array:
    x = rng.normal(size=3)
    return x / np.linalg.norm(x)


def random_state(rng: Rng, model: Model) -> State:
    """Positions within limits, and velocities, accelerations and forces of the size of one."""
    v, a, tau = rng.normal(size=(3, model.nv))
    return State(model, random_configuration(model, rng), v, a, tau, rng.normal(size=(model.n, 6)))


def seeds() -> st.SearchStrategy[int]:
    return st.integers(0, 2**32 - 1)


@st.composite
def trees(
    draw: st.DrawFn, kinds: Sequence[JointKind] = KINDS, most: int = 12, armature: float = 0.5, floating: bool = False
) -> Model:
    """Trees and forests of up to `most` links; floating ones hang on a first link that is free.

    They shrink to few links with simple joints.
    """
    drawn = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=most))
    lowest = -1
    if floating:
        drawn, lowest = [JointKind.FREE, *drawn], 0
    parents = [-1, *(draw(st.integers(lowest, i - 1)) for i in range(1, len(drawn)))]
    rng = np.random.default_rng(draw(seeds()))
    return build_tree(rng, drawn, parents, armature)


@st.composite
def states(draw: st.DrawFn, *args: Any, **kwargs: Any) -> State:
    """A random tree, as `trees` draws it, in a random state."""
    model = draw(trees(*args, **kwargs))
    return random_state(np.random.default_rng(draw(seeds())), model)


@st.composite
def angles(draw: st.DrawFn, largest: float = np.pi) -> float:
    """Angles of either sign up to `largest`, often at or next to a multiple of π/2."""
    if draw(st.booleans()):
        return draw(st.floats(-largest, largest))
    turns = int(largest / (np.pi / 2) + 1e-9)
    near = draw(st.sampled_from([0.0, 1e-16, 1e-8, 1e-4]))
    angle = draw(st.integers(-turns, turns)) * np.pi / 2 + draw(st.sampled_from([-near, near]))
    return float(np.clip(angle, -largest, largest))


def vectors(size: int, largest: float = 1.0) -> st.SearchStrategy[Array]:
    return st.lists(st.floats(-largest, largest), min_size=size, max_size=size).map(np.array)


@st.composite
def rotation_vectors(draw: st.DrawFn, largest: float = np.pi) -> Array:
    """Rotations of at most `largest`, often tiny, or by a multiple of π/2, or about a coordinate axis."""
    axis = draw(st.sampled_from([np.array(a) for a in ((1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0))]) | _directions())
    return abs(draw(angles(largest))) * axis


@st.composite
def lone_joints(draw: st.DrawFn, kind: JointKind) -> Model:
    """A model of one link with a joint of this kind, placed anywhere."""
    return build_tree(np.random.default_rng(draw(seeds())), [kind], [-1])


@st.composite
def configurations(draw: st.DrawFn, model: Model, largest_angle: float = np.pi) -> Array:
    """Configurations whose angles are often at or next to a multiple of π/2."""
    q: list[float] = []
    for l in model.links:
        q += draw(_coordinates(JointKind(l["kind"]), largest_angle))
    return np.array(q)


@st.composite
def _directions(draw: st.DrawFn) -> Array:
    return random_unit(np.random.default_rng(draw(seeds())))


@st.composite
def _coordinates(draw: st.DrawFn, kind: JointKind, largest_angle: float) -> list[float]:
    angle, distance = angles(largest_angle), st.floats(-2.0, 2.0)
    if kind in (JointKind.SPHERICAL, JointKind.FREE):
        phi = draw(rotation_vectors())
        half = 0.5 * float(np.linalg.norm(phi))
        quaternion = [np.cos(half), *(phi / (2.0 * half) * np.sin(half) if half else phi)]
        position = [draw(distance) for _ in range(3)] if kind is JointKind.FREE else []
        return position + [float(x) for x in quaternion]
    parts = {
        JointKind.FIXED: (),
        JointKind.REVOLUTE: (angle,),
        JointKind.PRISMATIC: (distance,),
        JointKind.SCREW: (angle,),
        JointKind.CYLINDRICAL: (angle, distance),
        JointKind.UNIVERSAL: (angle, angle),
        JointKind.PLANAR: (distance, distance, angle),
    }[kind]
    return [draw(part) for part in parts]

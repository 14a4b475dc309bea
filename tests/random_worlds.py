"""Random worlds: all shapes, masses from 1e-3 to 1e3 kg, overlapping starts, absurd speeds, and edits while they run.

    python -m tests.random_worlds 10000 [--seed 0] [--first 0] [--usual]

Each is made of a seed and a number, so that it can be made again. None may end in a number that is not finite, in a
hang or in a crash. `WorldError`, which names the body and leaves the world as it was, is the only way out for what is
absurd; how many take it is told, by how absurd it was. Where nothing is, as with `--usual`, none may take it. If the
process dies, random-worlds-*.txt in the folder for temporary files has the number of the world.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import kinemorph as km

SECONDS = 120.0  # of the processor for one world, with kernels that it compiles; more is a hang, and so is
PATIENCE = 600.0  # s
STEPS = 40  # in one go, at most
ROUNDS = 8
TOLD = 100  # worlds after which it says how far it is
LEAST, MOST = -3.0, 3.0  # decades of kg
ABSURD = 0.08  # share of speeds and torques that are up to a million times as large as usual
GROUNDS = ("none", "plane", "field", "terrain", "slope", "tiles")


def random_shape(rng: np.random.Generator) -> km.Shape:
    size = 10.0 ** rng.uniform(-1.7, 0.0)
    kind = rng.integers(5)
    pose = random_pose(rng, 0.2 * size) if rng.random() < 0.3 else None
    if kind == 0:
        return km.Shape.sphere(size, pose)
    if kind == 1:
        return km.Shape.box(size * 10.0 ** rng.uniform(-0.7, 0.0, 3), pose)
    if kind == 2:
        return km.Shape.cylinder(size * 10.0 ** rng.uniform(-0.7, 0.0), size, pose)
    if kind == 3:
        return km.Shape.capsule(size * 10.0 ** rng.uniform(-0.7, 0.0), size, pose)
    return km.Shape.mesh(_wedge(), size * 10.0 ** rng.uniform(-0.5, 0.0, 3), pose)


_FILES: list[Path] = []


def _wedge() -> Path:
    if not _FILES:
        from kinemorph.geometry.meshes.kept_mesh import keep_mesh

        points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1), (0.5, 0.5, 0.5)], float)
        faces = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)])
        _FILES.append(keep_mesh(points, faces))
    return _FILES[0]


def random_pose(rng: np.random.Generator, spread: float) -> km.Pose:
    q = rng.normal(size=4)
    return km.Pose.quaternion(q, spread * rng.normal(size=3))


def random_joint(rng: np.random.Generator) -> km.Joint:
    extra: dict[str, Any] = {}
    kind = int(rng.integers(9))
    if rng.random() < 0.4:
        extra["damping"] = 10.0 ** rng.uniform(-3, 2)
    if rng.random() < 0.2:
        extra["stiffness"] = 10.0 ** rng.uniform(-1, 4)
    if kind in (1, 2, 3) and rng.random() < 0.5:
        extra |= {"lower": -rng.random(), "upper": rng.random()}
    if kind in (1, 2, 3) and rng.random() < 0.3:
        extra["friction"] = 10.0 ** rng.uniform(-2, 2)
    joint = km.JointKind(kind)
    axis = rng.normal(size=3)
    if joint is km.JointKind.SCREW:
        extra["pitch"] = float(rng.normal())
    if joint in (km.JointKind.UNIVERSAL, km.JointKind.PLANAR):
        axis /= np.linalg.norm(axis)
        other = np.cross(axis, rng.normal(size=3))
        return km.Joint(joint, axis, other / np.linalg.norm(other), **extra)
    return km.Joint(joint, axis, **extra)


def random_figure(rng: np.random.Generator) -> km.Model:
    b = km.Builder("figure")
    for i in range(int(rng.integers(1, 6))):
        shape = random_shape(rng)
        mass = km.inertia_of(shape, 1.0)
        factor = 10.0 ** rng.uniform(LEAST, MOST) / mass.mass
        inertia = km.Inertia(mass.mass * factor, mass.com, mass.matrix * factor)
        joint = random_joint(rng) if i or rng.random() < 0.4 else km.Joint.free()
        b.link(f"part {i}", f"part {rng.integers(i)}" if i else None, joint, random_pose(rng, 0.3), inertia, [shape])
    return b.build()


class Dice(np.random.Generator):
    """Random numbers; speeds and torques among them are absurd now and then."""

    def __init__(self, seed: int | list[int], absurd: float = ABSURD) -> None:
        super().__init__(np.random.PCG64(seed))
        self.share = absurd
        self.worst = 1.0  # times the usual, of all that was asked for

    def strength(self, usual: float) -> float:
        """A speed or a torque."""
        if self.random() >= self.share:
            return usual
        times = 10.0 ** self.uniform(0, 6)
        self.worst = max(self.worst, times)
        return usual * times


def add_something(world: km.World, rng: Dice) -> None:
    at = random_pose(rng, 0.7).position + (0, 0, 0.5)
    pose = km.Pose(at, random_pose(rng, 1.0).rotation)
    material = km.Material(10.0 ** rng.uniform(-2, 0.5), restitution=rng.random() if rng.random() < 0.4 else 0.0)
    if rng.random() < 0.3:
        model = random_figure(rng)
        v = rng.strength(1.0) * rng.normal(size=model.nv)
        world.add(model, at=pose, q=km.random_configuration(model, rng), v=v, material=material)
        return
    shape = random_shape(rng)
    density = 10.0 ** rng.uniform(LEAST, MOST) / km.inertia_of(shape, 1.0).mass
    world.add(shape, at=pose, twist=rng.strength(2.0) * rng.normal(size=6), density=density, material=material)


def add_ground(world: km.World, rng: np.random.Generator) -> str:
    kind = str(rng.choice(GROUNDS))
    if kind == "plane":
        world.add_ground()
    elif kind == "slope":
        world.add_ground(km.HalfSpace((0.3 * rng.normal(), 0.3 * rng.normal(), 1.0)))
    elif kind == "field":
        world.add_ground(km.HeightField(0.2 * rng.random((6, 7)), (4.0, 4.0)))
    elif kind == "terrain":
        world.add_ground(km.Terrain(km.mesh_of(km.Shape.box((3.0, 3.0, 0.3)))))
    elif kind == "tiles":
        for i, j in product(range(4), range(4)):
            high = 0.1 * rng.random() if rng.random() < 0.3 else 0.0
            world.add_ground(km.Shape.box((1.0, 1.0, 0.5), km.Pose((i - 1.5, j - 1.5, high - 0.25))))
    return kind


def edit(world: km.World, rng: Dice) -> str:
    """One change, at random; what worlds refuse with a sentence is no fault."""
    bodies = world.bodies
    what = str(rng.choice(("add", "remove", "connect", "cut", "reroot", "push", "wake", "save", "place", "set joint")))
    if what == "add" or len(bodies) < 2:
        add_something(world, rng)
        return "add"
    one, two = (bodies[i] for i in rng.permutation(len(bodies))[:2])
    try:
        if what == "remove":
            world.remove(one)
        elif what == "connect":
            world.connect(one if rng.random() < 0.8 else None, two, random_joint(rng), two.pose @ random_pose(rng, 0.1))
        elif what == "cut":
            world.cut(int(rng.choice(world.forest.joints)))
        elif what == "reroot":
            world.reroot(one)
        elif what == "wake":
            world.sleep.wake(one)
        elif what == "place":
            twist = rng.strength(1.0) * rng.normal(size=6) if rng.random() < 0.5 else None
            world.placement.place(one, random_pose(rng, 0.7) if rng.random() < 0.5 else None, twist)
        elif what == "set joint":
            joint = int(rng.choice(world.forest.joints))
            q, v = world.forest.position(joint), world.forest.velocity(joint)
            world.placement.set_joint(
                joint, q + 0.3 * rng.normal(size=len(q)), v + rng.strength(1.0) * rng.normal(size=len(v))
            )
        elif what == "push":
            tree = int(rng.choice(world.forest.trees))
            members = world.forest.members(tree)
            lightest = min(body.mass for body in bodies if body.id in members)
            usual = lightest  # N m, or N: a tenth of its weight
            world.forest.set_state(tree, tau=rng.strength(usual) * rng.normal(size=len(world.forest.state(tree).v)))
            world.sleep.wake(int(members[0]))
        else:
            world.restore(world.save())
    except (ValueError, ArithmeticError) as error:
        if isinstance(error, km.FileError):
            raise
        return f"{what} refused"
    return what


def live(number: int, seed: int = 0, absurd: float = ABSURD) -> str:
    """One world. Returns how it ended: "done", or "stopped" and what a step stopped for; anything else raises."""
    rng = Dice([seed, number], absurd)
    dt = float(rng.choice((1e-3, 2e-3, 5e-3)))
    world = km.World(dt=dt, sleep=bool(rng.random() < 0.7))
    add_ground(world, rng)
    for _ in range(int(rng.integers(1, 12))):
        add_something(world, rng)
    began = time.process_time()
    end = "done"
    for _ in range(ROUNDS):
        try:
            world.step(int(rng.integers(1, STEPS)))
        except km.WorldError as error:
            if rng.worst == 1.0:
                raise AssertionError(f"it stopped, though nothing absurd was asked for: {error}") from None
            end = f"stopped (asked for 1e{int(np.log10(rng.worst))} times the usual or more)"
            print(f"world {number} {end}: {error}", flush=True)
            check(world)
            world.remove(world.bodies[int(rng.integers(len(world.bodies)))])
            if not len(world.bodies):
                break
        check(world)
        edit(world, rng)
        check(world)
        assert time.process_time() - began < SECONDS, "it hangs"
    return end


def check(world: km.World) -> None:
    """All numbers are finite, and all ids lead somewhere."""
    for tree in world.forest.trees.tolist():
        state = world.forest.state(tree)
        assert np.isfinite(state.q).all(), f"q of tree {tree} is not finite"
        assert np.isfinite(state.v).all(), f"v of tree {tree} is not finite"
    for body in world.bodies:
        assert np.isfinite(body.position).all()
        assert world.forest.tree_of(body.id) >= 0
    assert len(world.bodies) == len(world.forest.bodies)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--usual", action="store_true")
    chosen = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    ends: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.NamedTemporaryFile("w+", prefix="random-worlds-", suffix=".txt") as notes:
        for number in range(chosen.first, chosen.first + chosen.count):
            notes.seek(0)
            notes.write(f"{number}\n")
            notes.flush()
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            try:
                ends[live(number, chosen.seed, 0.0 if chosen.usual else ABSURD)] += 1
            except Exception as error:
                ends["failed"] += 1
                where = traceback.extract_tb(error.__traceback__)[-1]
                print(f"world {number}: {type(error).__name__}: {error} ({where.name}:{where.lineno})", flush=True)
            faulthandler.cancel_dump_traceback_later()
            done = number - chosen.first + 1
            if done % TOLD == 0 or done == chosen.count:
                told = ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))
                print(f"{done} random worlds in {time.monotonic() - began:.0f} s: {told}", flush=True)
    return 1 if ends["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())

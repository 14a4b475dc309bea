"""A world that goes back to before an event waits for it again, and lives through it again as it did."""

from __future__ import annotations

import numpy as np
import pytest

import kinemorph as km

E = km.Event


def bouncing():
    world = km.World()
    world.add_ground()
    world.add(km.Shape.sphere(0.1), at=(0, 0, 0.5), name="ball", material=km.Material(restitution=0.7))
    return world


def test_an_event_that_happened_once_happens_once_again():
    """What was reported."""
    world, said = bouncing(), []
    watch = world.when(E.contact("ball", "ground", times=1), lambda w, m: said.append(w.time))
    start = world.save()
    world.run(1.0)
    after = world.save()
    assert watch.done
    for _ in range(2):
        world.restore(start)
        assert (watch.done, watch.count, world.monitors) == (False, 0, [watch])
        world.run(1.0)
        assert watch.done
    assert len(said) == 3
    assert len(set(said)) == 1
    world.restore(after)
    world.run(1.0)
    assert len(said) == 3


def test_what_was_cancelled_waits_again_before_that_and_not_after():
    world, said = bouncing(), []
    watch = world.when(E.contact("ball", "ground"), lambda w, m: said.append(m.name))
    timer = world.every(0.1, lambda w: said.append("tick"))
    start = world.save()
    watch.cancel()
    timer.cancel()
    late = world.save()
    world.run(0.5)
    assert said == []
    world.restore(start)
    assert (watch.cancelled, timer.cancelled) == (False, False)
    world.run(0.5)
    assert {"ball touches ground", "tick"} == set(said)
    said.clear()
    world.restore(late)
    world.run(0.5)
    assert said == []
    again = km.World.load(late)
    again.run(0.5)
    assert again.hash() == world.hash()


def test_one_life_does_not_lend_its_functions_to_another():
    """Two lives from one start register events that are alike; each snapshot goes on with those of its own."""
    world, said = bouncing(), []
    start, kept = world.save(), []
    for life in ("one", "two"):
        world.restore(start)
        world.when(E.contact("ball", "ground", times=1), lambda w, m, life=life: said.append(life))
        world.every(0.2, lambda w, life=life: said.append(life), name="tick")
        kept.append(world.save())
        world.run(0.5)
        assert said == [life] * 4
        said.clear()
    for life, data in zip(("one", "two"), kept, strict=True):
        world.restore(data)
        world.run(0.5)
        assert said == [life] * 4
        said.clear()


def test_a_snapshot_of_a_world_that_was_built_alike_finds_its_functions():
    def built(said):
        world = bouncing()
        world.when(E.at(0.1), lambda w, m: said.append("time"))
        world.when(E.contact("ball", "ground", times=1), lambda w, m: said.append("touch"))
        return world

    said, other = [], []
    world, twin = built(said), built(other)
    early = world.save()
    world.run(0.2)
    late = world.save()
    twin.run(1.0)
    other.clear()
    twin.restore(late)
    twin.run(0.5)
    assert other == ["touch"]
    twin.restore(early)
    twin.run(0.5)
    assert other == ["touch", "time", "touch"]


def test_what_is_over_and_in_no_snapshot_does_not_pile_up(monkeypatch):
    monkeypatch.setattr("kinemorph.world.control.known_events.MOST_FINISHED_EVENTS", 8)
    world, said = bouncing(), []
    world.when(E.contact("ball", "ground", times=1), lambda w, m: said.append(m.name))
    start = world.save()
    for _ in range(40):  # episodes that register what they wait for
        world.restore(start)
        world.when(E.at(0.05), lambda w, m: said.append(m.name))
        world.every(0.02, lambda w: None)
        world.step(30)
    assert len(world._monitors._known) < 12
    assert len(world._timers._known) < 12
    said.clear()
    world.restore(start)
    world.run(0.5)
    assert said == ["ball touches ground"]


# ---------------------------------------------------------------------------------------------------------- the family


def swinging(rng):
    """A ball that bounces, a box that comes to rest, and a pendulum with a stop."""
    world = bouncing()
    world.add(km.Shape.box((0.2, 0.2, 0.2)), at=(1.0, 0, 0.12), name="box")
    b = km.Builder("pendulum")
    b.link("bob", None, km.Joint.revolute("y", name="hinge", lower=-1.2, upper=0.6), (0, 2, 1.5),
           km.Inertia.box(1.0, (0.1, 0.1, 0.4), (0, 0, -0.2)))  # fmt: skip
    world.add(b.build(), q=[rng.uniform(-1.1, -0.6)])
    world.memory["n"] = 0.0
    return world


def drawn(rng, k):
    """An event of any kind, by a name of its own or by the one that it gets."""
    times = float(rng.choice([1, 2, 3, np.inf]))
    kinds = [
        lambda **m: E.at(rng.uniform(0, 1.5), **m), lambda **m: E.contact("ball", "ground", **m),
        lambda **m: E.contact("ball", "ground", direction=-1, **m), lambda **m: E.impact("ball", "ground", 0.1, **m),
        lambda **m: E.height("ball", rng.uniform(0.15, 0.4), direction=0, **m),
        lambda **m: E.distance("ball", "box", 1.0, **m), lambda **m: E.position("hinge", rng.uniform(-0.5, 0.5), **m),
        lambda **m: E.velocity("hinge", 0.0, **m), lambda **m: E.limit("hinge", **m), lambda **m: E.sleep("box", **m),
        lambda **m: E.load("hinge", rng.uniform(5.0, 15.0), **m),
        lambda **m: E("own", lambda w: w["ball"].position[2] - 0.25, **m),
    ]  # fmt: skip
    return kinds[int(rng.integers(len(kinds)))](times=times)


def action(rng, said, depth=0):
    """What an event does: nothing, or a change of structure, a drive, a timer, another event."""
    way = int(rng.integers(7 if depth < 2 else 3))
    inner = (drawn(rng, 0), action(rng, said, depth + 1)) if way >= 5 else None
    delay = rng.uniform(0.02, 0.3)

    def act(world, moment):
        said.append((round(world.time, 9), moment.name, way))
        world.memory["n"] = world.memory["n"] + 1.0
        names = world.registry.joint_names.values()
        if way == 1 and "glue" not in names:
            world.connect(world["ball"], world["box"], km.Joint.revolute("y", name="glue"))
        elif way == 1:
            world.cut("glue")
        elif way == 2:
            world.add(km.Shape.sphere(0.05), at=(3, 0, 1.0 + world.memory["n"]), name=f"drop {world.memory['n']:g}")
        elif way == 3:
            world.apply_force(world["ball"], force=(0, 0, 20.0), lasting=False)
        elif way == 4:
            world.every(delay, lambda w: said.append((round(w.time, 9), "tick")), name="tick")
        elif way == 5 and world.memory["n"] < 20:
            world.when(*inner)
        elif way == 6 and world.memory["n"] < 20:
            world.when(E.at(world.time + delay), inner[1])

    return act


@pytest.mark.parametrize("seed", range(12))
def test_any_events_happen_again_from_any_time(seed):
    rng = np.random.default_rng(seed)
    world, said = swinging(rng), []
    handles = [world.when(drawn(rng, k), action(rng, said)) for k in range(6)]
    ticks = [world.every(0.15, lambda w, k=k: said.append((round(w.time, 9), k))) for k in range(2)]
    world.when(E.at(rng.uniform(0.1, 1.4)), lambda w, m: (handles[0].cancel(), ticks[0].cancel()))
    saved, found = [], []
    for _ in range(5):
        saved.append((world.save(), world.time))
        world.step(150)
        found.append(world.hash())
    whole = list(said)
    for k in (*rng.permutation(5).tolist(), 0):
        data, time = saved[k]
        world.restore(data)
        said.clear()
        if rng.random() < 0.3:  # a part of the way, and then from elsewhere
            world.step(int(rng.integers(1, 100)))
            world.restore(data)
            said.clear()
        for expected in found[k:]:
            world.step(150)
            assert world.hash() == expected
        assert said == [one for one in whole if one[0] > time + 1e-9 or (one[0] >= time - 1e-9 and len(one) == 2)]
    assert len(whole) > 5


def test_what_was_cancelled_is_waited_for_neither_before_a_snapshot_nor_after_it():
    """It stayed listed until something else happened: what an action does to the first one was not the same again."""
    world = bouncing()
    watches = [world.when(E.height("ball", 0.05 * k), lambda w, m: None) for k in range(3)]
    watches[0].cancel()
    assert world.monitors == watches[1:]
    world.restore(world.save())
    assert world.monitors == watches[1:]

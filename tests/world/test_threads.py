"""Several threads for one world: the same bits as one, whatever happens in between, and none is left waiting."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.world.golden import SCENES, SECONDS, digest, go, made
from tests.world.kept_worlds import arm

import kinemorph as km
from kinemorph.motion.parallel.many_worlds import cores
from kinemorph.world.threads import worker_threads

needs_cores = pytest.mark.skipif(cores() < 2, reason="there is one core")
PATIENCE = 60.0  # s


def crowd(threads: int, count: int = 150) -> km.World:
    """Piles of bodies of all shapes that fall, and arms that swing among them."""
    world = km.World(threads=threads)
    world.add_ground()
    rng = np.random.default_rng(7)
    shapes = [km.Shape.box((0.2, 0.15, 0.1)), km.Shape.sphere(0.08), km.Shape.capsule(0.06, 0.12)]
    for i in range(count):
        pile = i // 3
        at = (0.7 * (pile % 10), 0.7 * (pile // 10), 0.12 + 0.25 * (i % 3))
        spin = rng.normal(size=6) if i % 5 == 0 else np.zeros(6)
        world.add(shapes[i % 3], at=at, density=500, twist=spin)
    for i in range(3):
        world.add(arm(), at=(0.7 * i, -1.0, 1.0), q=[0.3, 1, 0, 0, 0])
    return world


@pytest.fixture
def eager(monkeypatch):
    """Threads for the smallest of worlds."""
    monkeypatch.setattr(worker_threads, "LEAST_SHARED_TREES", 1)
    monkeypatch.setattr(worker_threads, "LEAST_SHARED_ROWS", 2)


def way_of(world: km.World) -> list[str]:
    """Digests on the way until some sleep, and what touches in the end."""
    found = []
    for _ in range(5):
        world.run(0.25)
        found.append(world.hash())
    assert any(world.sleep.is_asleep(body) for body in world.bodies)
    return [*found, world.solver.contact_constraints.tobytes().hex()]  # with where the numbers of each touch are


@needs_cores
@pytest.mark.parametrize("threads", [2, 3])
def test_any_number_of_threads_comes_to_the_same_bits(threads, eager):
    way, end = way_of(crowd(1)), time.monotonic() + PATIENCE
    helped = 0
    while helped == 0 and time.monotonic() < end:  # a busy machine may have no time for a second thread at first
        together = crowd(threads)
        assert way_of(together) == way
        helped = together._worker_threads.helped
    assert helped > 0


@needs_cores
@pytest.mark.parametrize("name", SCENES)
def test_scenes_come_to_the_same_bits(name, eager):
    world, scene = made(name)
    world.threads = 2
    go(world, scene, round(SECONDS / world.dt))
    assert world.hash() == digest(name)


def test_threads_are_no_part_of_the_state(eager):
    world = crowd(2, 30)
    world.run(0.1)
    data = world.save()
    again, restored = km.World.load(data), crowd(2, 6)
    assert (again.threads, world.branch().threads) == (1, 2)
    restored.run(0.05)
    restored.restore(data)
    assert restored.threads == 2
    for one in (again, restored, world):
        one.run(0.2)
    assert again.hash() == restored.hash() == world.hash()
    world.threads = 1
    world.run(0.1)
    again.run(0.1)
    assert world.hash() == again.hash()
    for bad in (0, 65, 1.5, "2"):
        with pytest.raises(ValueError, match="threads"):
            world.threads = bad


def test_an_error_of_a_controller_leaves_all_in_order(eager):
    def fails(world):
        if world.time > 0.05:
            raise RuntimeError("no more")

    worlds = [crowd(threads, 30) for threads in (1, 2)]
    for world in worlds:
        timer = world.every(0.01, fails, "hand")
        with pytest.raises(km.WorldError, match="hand"):
            world.run(0.2)
        timer.cancel()
        world.run(0.1)
    assert worlds[0].hash() == worlds[1].hash()


def test_what_explodes_is_named_as_by_one_thread(eager):
    told = []
    for threads in (1, 2):
        world = crowd(threads, 30)
        for i in (5, 20):
            world.apply_force(world.bodies[i], force=(1e300, 0, 0))
        with pytest.raises(km.WorldError) as caught:
            world.run(0.1)
        told.append((str(caught.value), world.hash()))
    assert told[0] == told[1]


def test_worlds_in_several_threads_and_in_batches(eager):
    worlds = [crowd(2, 30) for _ in range(4)]
    alone = crowd(1, 30)
    alone.run(0.2)
    runners = [threading.Thread(target=world.run, args=(0.2,)) for world in worlds[:2]]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    helped = [world._worker_threads.helped for world in worlds[2:]]
    km.batch.run(worlds[2:], 0.2, workers=2)
    assert {world.hash() for world in worlds} == {alone.hash()}
    assert [world._worker_threads.helped for world in worlds[2:]] == helped  # a batch has all cores as it is


INTERRUPTED = """
import sys, threading
from tests.world.test_threads import crowd
world = crowd(2, 240)
world.step(5)
print("runs", flush=True)
try:
    world.run(1e6)
except KeyboardInterrupt:
    pass
world.step(20)
alone = crowd(1, 240)
alone.step(int(world._header[0]["steps"]))
print(world.hash() == alone.hash(), flush=True)
threading.Thread(target=world.run, args=(1e6,), daemon=True).start()  # and ends in the middle of it
"""


def test_an_interrupt_and_the_end_of_a_process_leave_nobody_waiting():
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout.readline() == "runs\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=PATIENCE)[0] == "True\n"
            assert process.returncode == 0
        finally:
            process.kill()


FORKED = """
import os, warnings
from tests.world.test_threads import crowd
warnings.simplefilter("ignore", DeprecationWarning)  # of forks where there are threads, which is what this is about
world = crowd(2, 240)
world.step(50)
child = os.fork()
world.step(50)
if child == 0:
    print(world.hash(), flush=True)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), world.hash())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_process_has_threads_of_its_own():
    told = subprocess.run(
        [sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=2 * PATIENCE, check=True
    ).stdout.split()
    assert told[1] == "0"
    assert told[0] == told[2]

"""Environments over worlds: as gymnasium wants them, the same alone and side by side, and tasks that can be done."""

import os
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import kinemorph as km
import kinemorph.gym as kg
from kinemorph.gym import hand_over, stand_up, walk
from kinemorph.gym.task import Aim

IDS = {name: f"kinemorph/{kind.__name__}-v0" for name, kind in kg.TASKS.items()}


@pytest.mark.parametrize("name", kg.TASKS)
def test_gymnasium_finds_nothing_wrong(name):
    env = gymnasium.make(IDS[name], disable_env_checker=True, render_mode="rgb_array")
    check_env(env.unwrapped)  # its warnings are errors here
    assert env.unwrapped.spec.id == IDS[name]
    env.reset(seed=1)
    image = env.render()
    assert image.shape == (360, 480, 3)
    assert image.std() > 5.0
    env.close()


@pytest.mark.parametrize("name", kg.TASKS)
def test_many_at_once_go_as_each_alone(name):
    """Observations, rewards, ends and new beginnings are those of gymnasium's own vector of single environments."""
    many = gymnasium.make_vec(IDS[name], 3, vectorization_mode="vector_entry_point")
    alone = SyncVectorEnv([lambda: kg.WorldEnv(name)] * 3)
    assert many.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert (many.observation_space, many.action_space) == (alone.observation_space, alone.action_space)
    rng, ends = np.random.default_rng(5), 0
    first, their_first = many.reset(seed=7)[0], alone.reset(seed=7)[0]
    for key in ("numbers", "present"):
        np.testing.assert_array_equal(first[key], their_first[key])
    for _ in range(80):
        actions = rng.uniform(-1.0, 1.0, many.action_space.shape).astype(np.float32)
        ours, theirs = many.step(actions), alone.step(actions)
        for key in ("numbers", "present"):
            np.testing.assert_array_equal(ours[0][key], theirs[0][key])
        for one, other in zip(ours[1:4], theirs[1:4], strict=True):
            np.testing.assert_array_equal(one, other)
        ends += int((ours[2] | ours[3]).sum())
        assert many.observation_space.contains(ours[0])
    assert ends > 0 or name == "stand up"


def test_the_mask_says_what_is_there():
    env = kg.WorldEnv("hand over")
    seen, _ = env.reset(seed=3)
    there = dict(zip(env.names, seen["present"], strict=True))
    assert (there["left grip.q"], there["right grip.q"], there["ball.x"]) == (1, 0, 1)
    nothing = np.zeros(6, np.float32)
    nothing[4] = -1.0  # lets go
    seen, _, over, *_ = env.step(nothing)
    there = dict(zip(env.names, seen["present"], strict=True))
    assert (there["left grip.q"], there["ball.x"], over) == (0, 1, False)
    assert seen["numbers"][env.names.index("left grip.q")] == 0.0
    while not over:
        _, reward, over, late, info = env.step(nothing)
    assert (reward < -10.0, late, info["success"]) == (True, False, False)  # it was dropped


def test_the_ball_can_be_handed_over():
    env = kg.WorldEnv("hand over")
    env.reset(seed=1)
    goal = (np.array([-1.541, 1.59]) - hand_over.START["right"]) / hand_over.SWING
    over, k, grips = False, 0, set()
    while not over and k < 100:
        k += 1
        far = np.linalg.norm(kg.HandOver.hand(env.world, "right") - env.world["ball"].position)
        let_go = -1.0 if kg.HandOver.holds(env.world, "right") else 1.0
        take = 1.0 if far < 0.08 else -1.0
        seen, reward, over, _, info = env.step([0.0, 0.0, *goal * min(1.0, k / 50), let_go, take])
        grips.add(tuple(seen["present"][-4:].tolist()))
    assert (over, info["success"], reward > 9.0) == (True, True, True)
    assert grips == {(1, 1, 0, 0), (0, 0, 1, 1)}


def test_one_can_stand_up():
    env = kg.WorldEnv("stand up")
    env.reset(seed=1)
    assert kg.StandUp.height(env.world) < 0.65
    over, k = False, 0
    while not over and k < 200:
        k += 1
        _, _, over, _, info = env.step(np.array(stand_up.CROUCH) / stand_up.SWING * max(0.0, 1.0 - k / 75))
    assert (over, info["success"]) == (True, True)


def test_a_trot_gets_ahead():
    env = kg.WorldEnv("walk")
    env.reset(seed=0)
    total = 0.0
    for k in range(150):
        now = 2.0 * np.pi * 2.34 * 0.02 * k
        phases = [now + (0.0 if leg in ("front left", "rear right") else np.pi) for leg in walk.LEGS]
        _, reward, over, _, _ = env.step([x for p in phases for x in (0.18 * np.sin(p), 0.57 * np.sin(p + 2.3))])
        total += reward
        assert not over
    ahead = float(env.world["torso"].position[0])
    assert ahead > 0.5
    assert total * env.task.period == pytest.approx(ahead, abs=0.4)  # metres, less the effort


def test_episodes_end_when_they_are_long():
    env = kg.WorldEnv("stand up")
    env.reset(seed=0)
    late, k = False, 0
    while not late:
        _, _, over, late, _ = env.step(np.array(stand_up.CROUCH) / stand_up.SWING)
        k += 1
        assert not over
    assert k == env.task.longest


class Bursts(kg.Task):
    """A body that flies apart when it is told to."""

    names, actions = ("ball.z", "wheel.q"), ("burst",)

    def world(self):
        world = km.World()
        b = km.Builder("wheel")
        b.link("wheel", None, km.Joint.revolute("y", name="wheel"), inertia=km.Inertia.sphere(1.0, 0.1))
        self.aim = Aim([world.servo(world.add(b.build()).joint("wheel"), stiffness=1.0, damping=1.0)])
        world.add(km.Shape.sphere(0.1), name="ball")
        return world

    def act(self, world, action):
        self.aim(world, action)
        if action[0] > 0.5:
            tree = world.forest.tree_of(world["wheel"].id)
            world.forest.set_state(tree, tau=[1e300])

    def reward(self, world, action):
        return 1.0

    def over(self, world):
        return False


def test_a_world_that_cannot_go_on_ends_its_episode_alone():
    env = kg.WorldVectorEnv(Bursts(), 3, workers=2)
    env.reset(seed=0)
    _, rewards, terminated, _, infos = env.step(np.array([[0.0], [1.0], [0.0]]))
    assert terminated.tolist() == [False, True, False]
    assert rewards.tolist() == [1.0, 0.0, 1.0]
    assert "not finite" in infos["error"][1]
    _, rewards, terminated, _, infos = env.step(np.zeros((3, 1)))
    assert terminated.tolist() == [False] * 3
    assert (rewards[1], infos["time"][1], infos["time"][0]) == (0.0, 0.0, pytest.approx(0.04))  # it has begun anew


def test_what_is_wrong_is_a_sentence():
    with pytest.raises(ValueError, match='there is no task "wolk"; did you mean "walk"'):
        kg.WorldEnv("wolk")
    with pytest.raises(ValueError, match=r"'torso\.color' must be the name of a body or joint, a dot, and one of x, y"):
        kg.Reading(["torso.color"])
    env = kg.WorldEnv("walk")
    with pytest.raises(RuntimeError, match="begins with reset"):
        env.step(np.zeros(8))
    env.reset(seed=0)
    for bad in (np.zeros(7), np.full(8, np.nan)):
        with pytest.raises(ValueError, match="an action is 8 finite numbers"):
            env.step(bad)
    with pytest.raises(ValueError, match="3 episodes, and 2 seeds"):
        kg.WorldVectorEnv("walk", 3).reset(seed=[1, 2])


def test_without_gymnasium_it_says_how_to_get_it():
    code = "import sys; sys.modules['gymnasium'] = None; import kinemorph.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False)
    assert "environments need gymnasium: pip install 'kinemorph[gym]'" in done.stderr

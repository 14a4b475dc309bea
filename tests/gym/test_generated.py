"""Environments from seeds: joints of all kinds, grips that come and go, steps and periods of any length."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import kinemorph as km
import kinemorph.gym as kg
from kinemorph.gym.task import Aim

# attributes of torch.nn.ModuleDict, which its keys may not have: of 2.13.0, and dict's own
OF_MODULES = """
T_destination add_module apply bfloat16 buffers call_super_init children clear compile cpu cuda double
dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half ipu items
keys load_state_dict modules mtia named_buffers named_children named_modules parameters named_parameters pop
register_backward_hook register_buffer register_forward_hook register_module register_forward_pre_hook
register_full_backward_hook register_full_backward_pre_hook state_dict register_load_state_dict_post_hook
register_load_state_dict_pre_hook register_parameter to to_empty register_state_dict_post_hook
register_state_dict_pre_hook requires_grad_ set_extra_state train set_submodule share_memory training type
update values xpu zero_grad
"""
TAKEN = {*dir(dict), *OF_MODULES.split()}
JOINTS = {
    "revolute": lambda name: km.Joint.revolute("y", name=name),
    "prismatic": lambda name: km.Joint.prismatic("x", name=name),
    "screw": lambda name: km.Joint.screw("z", 0.1, name=name),
    "fixed": lambda name: km.Joint.fixed(name=name),
    "spherical": lambda name: km.Joint.spherical(name=name),
    "universal": lambda name: km.Joint.universal(name=name),
    "cylindrical": lambda name: km.Joint.cylindrical(name=name),
    "planar": lambda name: km.Joint.planar(name=name),
}
SINGLE = ("revolute", "prismatic", "screw")


class Drawn(kg.Task):
    """A chain of joints with one degree of freedom, and a ball that it takes by a joint of any kind and lets go."""

    def __init__(self, seed: int, grip: str) -> None:
        rng = np.random.default_rng(seed)
        self.kinds = [str(kind) for kind in rng.choice(SINGLE, rng.integers(1, 5))]
        self.dt, steps = float(rng.choice([1e-3, 2e-3, 2.5e-3, 1 / 300, 0.003])), int(rng.integers(1, 9))
        self.period, self.longest, self.grip = steps * self.dt, int(rng.integers(3, 12)), grip
        self.names = tuple(
            [f"j{k}.{n}" for k in range(len(self.kinds)) for n in ("q", "v")]
            + [f"ball.{n}" for n in ("x", "z", "vx", "wy", "up")] + ["grip.q", "grip.v", "nothing.x", "no joint.q"]
        )  # fmt: skip
        self.actions = (*(f"j{k}" for k in range(len(self.kinds))), "grip")

    def world(self):
        world = km.World(dt=self.dt, sleep=False)
        b, carrier = km.Builder("arm"), None
        for k, kind in enumerate(self.kinds):
            at = (0.0, 0.0, 2.0) if k == 0 else (0.3, 0.0, 0.0)
            carrier = b.link(f"l{k}", carrier, JOINTS[kind](f"j{k}"), at, km.Inertia.sphere(1.0, 0.1))
        arm = world.add(b.build())
        joints = [arm.joint(f"j{k}") for k in range(len(self.kinds))]
        self._aim = Aim([world.servo(joint, 0.0, stiffness=40.0, damping=4.0) for joint in joints])
        world.add(km.Shape.sphere(0.1), (5.0, 0.0, 5.0), name="ball")
        return world

    def act(self, world, action):
        self._aim(world, action[:-1])
        held = any(name == "grip" and world.forest.has_joint(id) for id, name in world.registry.joint_names.items())
        if action[-1] > 0.0 and not held:
            last = world[f"l{len(self.kinds) - 1}"]
            world.connect(last, world["ball"], JOINTS[self.grip]("grip"), world["ball"].position)
        elif action[-1] < -0.5 and held:
            world.cut("grip")

    def reward(self, world, action):
        return float(world["ball"].position[2])

    def over(self, world):
        return False


@pytest.mark.parametrize("seed", range(8))
def test_any_environment_is_as_gymnasium_wants_it(seed):
    """Also side by side and as a copy, taken in the middle of an episode: the same bits."""
    grip = list(JOINTS)[seed]
    env, rng = kg.WorldEnv(Drawn(seed, grip)), np.random.default_rng(seed)
    check_env(env, skip_render_check=True)
    assert env.metadata["render_fps"] == round(1.0 / env.task.period)
    for key in env.observation_space:
        assert key not in TAKEN
        assert "." not in key
    many = kg.WorldVectorEnv(Drawn(seed, grip), 2, workers=1)
    seen, _ = env.reset(seed=seed)
    many.reset(seed=seed)
    twins, late = [], False
    while not late:
        action = rng.uniform(-1.0, 1.0, env.action_space.shape)
        outcomes = [one.step(action) for one in (env, *twins)]
        told = many.step(np.stack([action, action]))
        for other in (*outcomes[1:], [{key: rows[0] for key, rows in told[0].items()}, told[1][0], told[2][0]]):
            for key, numbers in outcomes[0][0].items():
                np.testing.assert_array_equal(numbers, other[0][key])
            assert outcomes[0][1:3] == tuple(other[1:3])
        seen, _, _, late, _ = outcomes[0]
        there = dict(zip(env.names, seen["present"].tolist(), strict=True))
        values = dict(zip(env.names, seen["numbers"].tolist(), strict=True))
        held = "grip" in [
            env.world.registry.joint_names[id]
            for id in env.world.registry.joint_names
            if env.world.forest.has_joint(id)
        ]
        assert there["grip.q"] == there["grip.v"] == int(held and grip in SINGLE)
        assert there["grip.q"] or values["grip.q"] == values["grip.v"] == 0.0
        assert (there["ball.x"], there["j0.q"], there["nothing.x"], there["no joint.q"]) == (1, 1, 0, 0)
        twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
    assert env.world.time == pytest.approx(env.task.longest * env.task.period, rel=1e-12)
    copied = pickle.loads(pickle.dumps(many))
    copied.reset(seed=seed)
    copied.step(np.zeros(many.action_space.shape))


@pytest.mark.parametrize("kind", [kind for kind in JOINTS if kind not in SINGLE])
@pytest.mark.parametrize("number", ["q", "v"])
def test_joints_without_one_number_are_refused_when_it_is_made(kind, number):
    task = Drawn(0, "fixed")
    task.kinds[0] = "revolute"
    task.names = (f"grip.{number}",)
    plain = task.world

    def world():
        made = plain()
        made.connect(made["l0"], made["ball"], JOINTS[kind]("grip"), made["ball"].position)
        return made

    task.world = world
    for make in (kg.WorldEnv, lambda task: kg.WorldVectorEnv(task, 2)):
        with pytest.raises(ValueError, match=r"joint 'grip' has [0-9] degrees of freedom, and q and v are of joints"):
            make(task)


@pytest.mark.parametrize(
    ("period", "dt", "good"),
    [(0.02, 0.003, False), (0.001, 0.003, False), (0.02, 0.0025, True), (1 / 30, 1 / 300, True), (0.1 + 0.2, 0.1, True),
     (0.0201, 0.002, False), (0.0, 0.002, False), (-0.02, 0.002, False), (float("nan"), 0.002, False),
     (float("inf"), 0.002, False), ("fast", 0.002, False)],
)  # fmt: skip
def test_a_period_is_a_whole_number_of_steps(period, dt, good):
    task = Drawn(3, "fixed")
    task.period, task.dt = period, dt
    for make in (kg.WorldEnv, lambda task: kg.WorldVectorEnv(task, 1)):
        if good:
            env = make(task)
            env.reset(seed=0)
            env.step(np.zeros(env.action_space.shape))
            world = env.world if isinstance(env, gymnasium.Env) else env.worlds[0]
            assert world.time == pytest.approx(period, rel=1e-9)
        else:
            with pytest.raises(ValueError, match="task Drawn: period"):
                make(task)


@pytest.mark.parametrize("name", kg.TASKS)
def test_copies_of_shipped_environments_go_on_as_they_do(name):
    env, rng = kg.WorldEnv(name), np.random.default_rng(4)
    env.reset(seed=4)
    for k in range(12):
        if k % 4 == 0:
            twins = [pickle.loads(pickle.dumps(env)), copy.deepcopy(env)]
        action = rng.uniform(-1.0, 1.0, env.action_space.shape)
        seen, reward, *_ = env.step(action)
        for twin in twins:
            other, their_reward, *_ = twin.step(action)
            np.testing.assert_array_equal(seen["numbers"], other["numbers"])
            assert reward == their_reward
            assert twin.world.hash() == env.world.hash()

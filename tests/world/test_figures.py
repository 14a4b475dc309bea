"""Handles of figures: had again from a world, also after it was loaded, restored or branched."""

import numpy as np
import pytest

import kinemorph as km

ARM = """<mujoco model="{name}"><worldbody>
<body name="upper" pos="0 0 1"><joint name="shoulder" axis="0 1 0"/><geom size=".05" mass="1"/>
<body name="lower" pos="0 0 -.3"><joint name="elbow" axis="0 1 0"/><geom size=".05" pos="0 0 -.2" mass="1"/></body>
</body></worldbody><actuator><position name="bend" joint="elbow" kp="50" kv="2"/></actuator></mujoco>"""


@pytest.fixture
def arm(tmp_path):
    def made(name="arm"):
        path = tmp_path / f"{name}.xml"
        path.write_text(ARM.format(name=name))
        return km.load_mjcf(path)

    return made


def same(one, other):
    """Two handles, in two worlds, are of the same figure, in the same state."""
    assert one.name == other.name
    assert one.joints == other.joints
    assert [(body.name, body.id) for body in one] == [(body.name, body.id) for body in other]
    assert all((one.position(joint) == other.position(joint)).all() for joint in one.joints)
    assert {name: one.control[name] for name in one.control} == {name: other.control[name] for name in other.control}


def test_a_world_knows_its_figures_by_name(arm):
    world = km.World()
    world.add(km.Shape.sphere(0.1), name="ball")
    left, right = world.add(arm(), name="left"), world.add(arm(), at=(1, 0, 0), name="right")
    left.control["bend"] = 0.5
    assert [figure.name for figure in world.figures] == ["left", "right"]
    same(world.figure("left"), left)
    same(world.figure("right"), right)
    assert world.figure("left").model is left.model
    with pytest.raises(KeyError, match="no figure 'ball'"):
        world.figure("ball")


def test_a_figure_has_the_name_of_its_model_and_two_of_a_name_are_told(arm):
    world = km.World()
    world.add(arm("crane"))
    assert world.figure("crane").name == "crane"
    world.add(arm("crane"), at=(1, 0, 0))
    with pytest.raises(KeyError, match="but 2 of them: see world"):
        world.figure("crane")


@pytest.mark.parametrize("way", ["load", "restore", "branch"])
def test_handles_of_a_copy_of_a_world_work_on_it(way, arm):
    world = km.World()
    robot = world.add(arm())
    robot.control["bend"] = 0.4
    world.run(0.1)
    if way == "restore":
        copy = km.World()
        copy.add_ground()
        copy.restore(world.save())
    else:
        copy = km.World.load(world.save()) if way == "load" else world.branch()
    again = copy.figure("arm")
    same(again, robot)
    again.control["bend"] = -0.3
    copy.run(0.5)
    assert again.position("elbow")[0] < robot.position("elbow")[0] - 0.1
    with pytest.raises(AttributeError, match="the model is not kept"):
        again.model  # noqa: B018
    robot.control["bend"] = -0.3
    world.run(0.5)
    same(again, robot)
    assert copy.hash() == world.hash()


def test_what_is_gone_of_a_figure_is_refused_and_the_rest_is_there(arm):
    world = km.World()
    world.add(arm())
    world.remove(world.figure("arm")["lower"])
    figure = world.figure("arm")
    assert np.isfinite(figure["upper"].position).all()
    with pytest.raises(KeyError, match="no body 'lower'"):
        figure["lower"].position  # noqa: B018
    again = km.World.load(world.save()).figure("arm")
    assert np.isfinite(again["upper"].position).all()
    world.remove(figure["upper"])
    assert world.figures == []


def test_a_link_that_is_part_of_another_one_is_told(tmp_path):
    fixed = '<joint name="f" type="fixed"><parent link="arm"/><child link="hand"/></joint>'
    turns = '<joint name="t" type="continuous"><parent link="base"/><child link="arm"/></joint>'
    mass = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
    links = f'<link name="base"/><link name="arm">{mass}</link><link name="hand">{mass}</link>'
    (tmp_path / "robot.urdf").write_text(f'<robot name="robot">{links}{turns}{fixed}</robot>')
    robot = km.World().add(km.load_urdf(tmp_path / "robot.urdf"))
    with pytest.raises(KeyError, match="'hand' is part of 'arm', which it is fixed to; take that"):
        robot["hand"]
    with pytest.raises(KeyError, match="has no body 'base'"):
        robot["base"]

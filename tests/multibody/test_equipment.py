"""Drives, floors, exclusions and keyframes of a model: checked when they are given, and true after edits."""

import numpy as np
import pytest

import kinemorph as km


def chain(prefix: str = "") -> km.Model:
    b = km.Builder("chain")
    rod = km.Inertia.box(1.0, (0.1, 0.1, 0.5))
    b.link(f"{prefix}a", joint=km.Joint.revolute("y", name=f"{prefix}one"), inertia=rod)
    b.link(f"{prefix}b", f"{prefix}a", km.Joint.revolute("y", name=f"{prefix}two", effort_limit=5.0), (0, 0, 0.5), rod)
    b.link(f"{prefix}c", f"{prefix}b", km.Joint.spherical(name=f"{prefix}ball"), (0, 0, 0.5), rod)
    model = b.build()
    return model.with_equipment(
        actuators=(
            km.Actuator.motor("push", f"{prefix}one", 2.0, control=(-1.0, 1.0)),
            km.Actuator.position("hold", f"{prefix}two", 30.0, 2.0),
            km.Actuator("twist", f"{prefix}ball", gear=(1.0, 2.0, 3.0)),
        ),
        floors=(km.Floor(name="floor"),),
        exclusions=((f"{prefix}a", f"{prefix}c"), (None, f"{prefix}b")),
        keyframes={"bent": km.Keyframe(km.State(np.array([0.1, 0.2, 1, 0, 0, 0]), np.zeros(5)))},
    )


def test_drives_make_joint_forces():
    model = chain()
    q, v = np.array([0.3, 0.1, 1, 0, 0, 0]), np.array([0.0, 0.5, 0, 0, 0])
    tau = km.actuator_forces(model, q, v, [3.0, 0.2, 0.5])
    assert tau == pytest.approx([2.0, 30.0 * 0.1 - 2.0 * 0.5, 0.5, 1.0, 1.5])
    assert km.actuator_forces(model, q, v, [0.0, 9.0, 0.0])[1] == 5.0  # no more than the joint's effort


def test_drive_checks_its_controls():
    model = chain()
    q, v = km.neutral(model), np.zeros(5)
    with pytest.raises(ValueError, match=r"control has shape \(2,\), expected \(3,\)"):
        km.actuator_forces(model, q, v, [0.0, 0.0])
    with pytest.raises(ValueError, match=r"control\[1\] \('hold'\) is nan"):
        km.actuator_forces(model, q, v, [0.0, np.nan, 0.0])


@pytest.mark.parametrize(
    ("equipment", "words"),
    [
        ({"actuators": (km.Actuator.motor("m", "nowhere"),)}, "drives a joint 'nowhere' that is not there"),
        ({"actuators": (km.Actuator.motor("m", "one"),) * 2}, "two actuators 'm'"),
        ({"actuators": (km.Actuator.motor("m", "ball"),)}, "has 1 gears for joint 'ball'"),
        ({"keyframes": {"k": km.Keyframe(km.State(np.zeros(2), np.zeros(2)))}}, "keyframe 'k' has q of"),
        ({"keyframes": {"k": km.Keyframe(km.State(np.full(6, np.nan), np.zeros(5)))}}, "keyframe 'k' is not finite"),
    ],
)
def test_equipment_that_does_not_fit_is_refused(equipment, words):
    with pytest.raises(ValueError, match=words):
        chain().with_equipment(**equipment)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: km.Actuator("m", "j", gain=np.inf),
        lambda: km.Actuator("m", "j", control=(1.0, -1.0)),
        lambda: km.Actuator("m", "j", gear=(1.0, 1.0, 1.0), bias=(0.0, 1.0, 0.0)),
        lambda: km.Material(friction=-1.0),
        lambda: km.Material(restitution=2.0),
        lambda: km.Material(directions=2),
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"actuator 'm'|Material"):
        wrong()


def test_drive_does_the_same_after_a_change_of_root():
    model = chain()
    state = km.State(np.array([0.3, 0.4, 1, 0, 0, 0]), np.array([0.1, 0.2, 0, 0, 0]))
    cut = km.cut(model, state, "one")
    turned = km.reroot(cut.model, cut.state, "b")
    before, after = (r.model.actuators for r in (cut, turned))
    assert [a.name for a in before] == ["hold", "twist"]
    powers = []
    for report in (cut, turned):
        tau = km.actuator_forces(report.model, report.state.q, report.state.v, [0.9, 0.0])
        powers.append(float(tau @ report.state.v))
    assert powers[0] == pytest.approx(powers[1])
    assert after[0].gear == (-1.0,)
    assert cut.model.keyframes == {}  # they are of the model as it was


def test_equipment_of_an_added_model_comes_along():
    model, other = chain(), chain("x_")
    state = km.State(km.neutral(model), np.zeros(model.nv))
    both = km.add(model, state, other, at=(1, 0, 0), prefix="new_").model
    assert [a.joint for a in both.actuators][3:] == ["new_x_one", "new_x_two", "new_x_ball"]
    assert both.exclusions == ((0, 2), (-1, 1), (3, 5), (-1, 4))
    assert [floor.pose.position.tolist() for floor in both.floors] == [[0, 0, 0], [1, 0, 0]]
    assert both.keyframes == {}

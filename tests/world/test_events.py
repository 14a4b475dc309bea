"""What worlds wait for, and the functions that they call between steps."""

import copy

import numpy as np
import pytest

import kinemorph as km


def dropped(height: float = 1.0, **settings) -> tuple[km.World, km.Body]:
    world = km.World(**settings)
    world.add_ground()
    return world, world.add(km.Shape.sphere(0.1), at=(0, 0, height), name="ball")


def door(lower: float = -1.0, upper: float = 1.0) -> km.Model:
    b = km.Builder("door")
    b.link(
        "leaf",
        joint=km.Joint.revolute("z", lower=lower, upper=upper),
        inertia=km.Inertia.box(5.0, (1.0, 0.1, 2.0), (0.5, 0, 0)),
    )
    return b.build()


def test_contact_begins_at_the_end_of_the_step_in_which_it_does():
    world, ball = dropped()
    moments = []
    world.when(km.Event.contact("ball", "ground"), lambda w, m: moments.append(m))
    world.run(1.0)
    assert len(moments) == 1
    fall = np.sqrt(2 * 0.9 / 9.81)
    assert fall - world.dt < moments[0].time < fall + 2 * world.dt
    assert moments[0].body == ball
    assert moments[0].other is None


def test_contact_begins_and_ends_with_every_bounce():
    world, ball = dropped(material=km.Material(restitution=0.8))
    begins, ends = (world.when(km.Event.contact(ball, direction=direction)) for direction in (1, -1))
    world.run(1.5)
    assert begins.count >= 2
    assert ends.count in (begins.count, begins.count - 1)


def test_contact_with_anything_says_with_what():
    world, ball = dropped()
    box = world.add(km.Shape.box((1, 1, 0.2)), at=(0, 0, 0.1), name="box")
    met = []
    world.when(km.Event.contact(ball), lambda w, m: met.append(m.other))
    world.run(1.0)
    assert met == [box]


def test_what_sleeps_goes_on_touching():
    world, ball = dropped(0.11)
    parted = world.when(km.Event.contact(ball, "ground", direction=-1))
    world.run(3.0)
    assert ball.asleep
    assert parted.count == 0


def test_an_impact_of_more_than_so_much():
    world, ball = dropped()
    speed = np.sqrt(2 * 9.81 * 0.9)
    values = []
    world.when(km.Event.impact(ball, "ground", 0.9 * ball.mass * speed), lambda w, m: values.append(m.value))
    too_hard = world.when(km.Event.impact(ball, "ground", 1.1 * ball.mass * speed))
    world.run(1.0)
    assert values == [pytest.approx(ball.mass * speed, rel=0.02)]
    assert too_hard.count == 0


def test_points_pass_a_height_and_come_near():
    world, ball = dropped()
    post = world.add(km.Shape.box((0.1, 0.1, 0.1)), at=(2, 0, 0.05), name="post")
    times = {}
    world.when(km.Event.height("ball", 0.5), lambda w, m: times.setdefault("height", m))
    far = np.hypot(2.0, 0.75 - 0.05)
    world.when(km.Event.distance(ball, post, far), lambda w, m: times.setdefault("distance", m))
    world.run(0.6)
    assert times["height"].time == pytest.approx(np.sqrt(2 * 0.5 / 9.81), abs=world.dt)
    assert times["height"].value == pytest.approx(0.5, abs=0.01)
    assert times["distance"].time == pytest.approx(np.sqrt(2 * 0.25 / 9.81), abs=world.dt)


def test_a_joint_passes_a_position_turns_back_and_reaches_its_limit():
    world = km.World(gravity=(0, 0, 0))
    figure = world.add(door(), v=[2.0])
    names = []
    for event in (km.Event.position("leaf", 0.5, name="half"), km.Event.limit("leaf", name="limit")):
        world.when(event, lambda w, m: names.append((m.name, round(m.time, 2))))
    world.run(0.7)
    assert [name for name, _ in names] == ["half", "limit"]
    assert names[0][1] == pytest.approx(0.25, abs=0.01)
    assert names[1][1] == pytest.approx(0.5, abs=0.02)
    assert figure.position("leaf")[0] == pytest.approx(1.0, abs=0.01)


def test_time_comes_once_and_exactly():
    world, _ = dropped()
    times = []
    world.when(km.Event.at(0.1), lambda w, m: times.append(m.time))
    world.run(0.5)
    assert times == [pytest.approx(0.1, abs=1e-12)]


def test_falling_asleep_and_why_it_woke():
    world, ball = dropped(0.1)
    said = []
    world.when(km.Event.sleep(ball), lambda w, m: said.append("sleeps"))
    world.when(km.Event.sleep(ball, direction=-1), lambda w, m: said.append(m.why))
    world.run(1.0)
    world.sleep.wake(ball)
    world.run(1.0)
    world.add(km.Shape.sphere(0.1), at=(0.02, 0, 0.5), name="guest")
    world.run(0.5)
    assert said[:5] == ["sleeps", "it was asked to wake", "sleeps", "'guest' touched it"] + said[4:5]


def test_a_function_of_the_world_is_looked_at_after_every_step():
    world, ball = dropped()
    event = km.Event("half way", lambda w: ball.position[2] - 0.5, direction=-1)
    times = []
    world.when(event, lambda w, m: times.append(m.time))
    world.run(0.6)
    assert times == [pytest.approx(np.sqrt(2 * 0.5 / 9.81), abs=world.dt)]


def test_an_event_may_end_a_run_and_happen_so_many_times():
    world, _ = dropped(material=km.Material(restitution=0.9))
    bounce = world.when(km.Event.contact("ball", "ground", ends=2))
    world.run(10.0)
    assert bounce.count == 2
    assert world.time < 2.0
    once = world.when(km.Event.contact("ball", "ground", times=1))
    world.run(2.0)
    assert once.count == 1
    assert once.done


def test_only_where_it_is_wanted():
    world, _ = dropped(material=km.Material(restitution=0.9))
    late = world.when(km.Event.contact("ball", "ground", only=lambda w, m: m.time > 1.0))
    world.run(2.0)
    first = late.count
    assert first >= 1
    late.cancel()
    world.run(2.0)
    assert late.count == first


def test_actions_change_the_structure():
    """A ball is caught by a hand the moment it touches it, carried, and let go."""
    world = km.World()
    world.add_ground()
    hand = world.add(km.Shape.box((0.3, 0.3, 0.1)), at=(0, 0, 1), name="hand")
    world.connect(None, hand, km.Joint.fixed())
    ball = world.add(km.Shape.sphere(0.1), at=(0, 0, 1.5), name="ball")
    grips = []

    def catch(world, moment):
        grips.append(world.connect(hand, ball, km.Joint.fixed()))

    world.when(km.Event.contact(hand, ball, times=1), catch)
    world.when(km.Event.at(1.0), lambda world, moment: world.cut(grips[0]))
    world.run(0.9)
    assert len(grips) == 1
    held = ball.position[2]
    assert held == pytest.approx(1.15, abs=0.005)
    world.run(0.05)
    assert ball.position[2] == pytest.approx(held, abs=1e-9)
    world.run(0.4)
    assert not world.forest.has_joint(grips[0].joint)


def test_what_it_waits_for_may_go():
    world, ball = dropped()
    other = world.add(km.Shape.sphere(0.1), at=(1, 0, 2), name="other")
    waits = world.when(km.Event.contact(ball, other))
    world.run(0.1)
    world.remove(other)
    world.add(km.Shape.sphere(0.1), at=(0, 0, 0.3), name="new")  # in the place of the one that is gone
    world.run(1.0)
    assert waits.count == 0


def test_a_controller_is_called_at_its_own_rate():
    world, _ = dropped(dt=0.002)
    times = []
    timer = world.every(0.01, lambda w: times.append(w.time))
    world.run(0.1)
    assert np.allclose(times, 0.01 * np.arange(10), atol=1e-12)
    timer.cancel()
    world.run(0.1)
    assert len(times) == 10


def test_a_rate_that_is_no_multiple_of_a_step_does_not_drift():
    world, _ = dropped(dt=0.002)
    times = []
    world.every(0.0033, lambda w: times.append(w.time))
    world.run(3.3)
    assert len(times) == 1000
    assert (np.abs(np.array(times) - 0.0033 * np.arange(1000)) < 0.002 + 1e-9).all()


def test_an_error_in_a_controller_names_it_and_the_time():
    world, ball = dropped()

    def balance(world):
        if world.time > 0.05:
            raise ValueError("a mistake of its own")

    world.every(0.01, balance)
    with pytest.raises(km.WorldError, match=r"controller 'balance' at 0.06 s: a mistake of its own"):
        world.run(1.0)
    assert world.time == pytest.approx(0.06)
    assert ball.position[2] == pytest.approx(1.0 - 0.5 * 9.81 * 0.06**2, rel=1e-6)


def test_an_error_in_an_action_names_its_event():
    world, _ = dropped()
    world.when(km.Event.contact("ball", "ground"), lambda w, m: 1 / 0)
    with pytest.raises(km.WorldError, match=r"event 'ball touches ground' at .* division by zero"):
        world.run(1.0)


def test_no_steps_within_steps():
    world, _ = dropped()
    world.every(0.01, lambda w: w.step())
    with pytest.raises(km.WorldError, match="cannot be made by what is called in between"):
        world.run(0.1)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda w: w.when(km.Event.contact("bell", "ground")), "no body 'bell'"),
        (lambda w: w.when(km.Event.position("hinge", 0.1)), "no joint 'hinge'"),
        (lambda w: w.when("contact"), "must be kinemorph.Event objects"),
        (lambda w: w.when(km.Event.at(1.0), 3), "its action must be a function"),
        (lambda w: w.when(km.Event.at(np.nan)), "nan is not a level"),
        (lambda w: w.every(0.0001, print), "must be a step"),
        (lambda w: w.every(np.nan, print), "must be a step"),
        (lambda w: w.every("often", print), "a period of 'often'"),
        (lambda w: w.every(0.1, None), "takes a function of the world"),
        (lambda w: w.every(0.1, print, start=-1.0), "it is 0 s already"),
    ],
)  # fmt: skip
def test_what_cannot_be_waited_for_is_refused(make, sentence):
    world, _ = dropped()
    with pytest.raises((KeyError, TypeError, ValueError), match=sentence):
        make(world)


def test_a_simulation_has_no_contacts():
    model = door()
    state = km.State(km.neutral(model), np.zeros(1))
    with pytest.raises(ValueError, match=r"World\.when waits for it"):
        km.simulate(model, state, 0.1, [km.Event.contact("leaf")])


def test_a_branch_waits_for_the_same():
    world, _ = dropped()
    told = []
    world.when(km.Event.contact("ball", "ground"), lambda w, m: told.append((w, m.time)))
    world.every(0.1, lambda w: told.append((w, "tick")))
    world.run(0.2)
    other = world.branch()
    third = copy.copy(world)
    told.clear()
    for each in (world, other, third):
        each.run(0.5)
    assert [what for w, what in told if w is world] == [what for w, what in told if w is other]
    assert [what for w, what in told if w is world] == [what for w, what in told if w is third]
    assert len(told) == 3 * 6


def test_watching_changes_nothing():
    worlds = [dropped(material=km.Material(restitution=0.7)) for _ in range(2)]
    for event in (km.Event.contact("ball", "ground"), km.Event.height("ball", 0.3), km.Event.at(0.2)):
        worlds[0][0].when(event, lambda w, m: w.queries.cast_ray((0, 0, 3), (0, 0, -1)))
    worlds[0][0].every(0.004, lambda w: w.contacts())
    for world, _ in worlds:
        world.run(2.0)
    states = [world.forest.state(int(world.forest.trees[0])) for world, _ in worlds]
    assert states[0].q.tobytes() == states[1].q.tobytes()
    assert states[0].v.tobytes() == states[1].v.tobytes()


@pytest.mark.parametrize("gap", np.linspace(0.0, 4e-3, 9))
def test_two_bodies_that_only_bounce_have_touched(gap: float) -> None:
    """A bounce may happen in the step before overlap would be pushed apart, from whatever distance."""
    world = km.World(gravity=(0, 0, 0), sleep=False, material=km.Material(friction=0.0, restitution=0.3))
    world.add(km.Shape.sphere(0.1), at=(0, 0, 0), twist=(0, 0, 0, 2, 0, 0), name="a")
    world.add(km.Shape.sphere(0.1), at=(0.25 + gap, 0, 0), name="b")
    watch = world.when(km.Event.contact("a", "b"))
    world.run(0.08)
    assert world["b"].velocity[0] > 1.0
    assert watch.count == 1


def test_an_action_may_forget_all_events_and_wait_for_another():
    world = km.World()
    world.add_ground()
    other = world.add(km.Shape.sphere(0.1), at=(1, 0, 0.3))
    met = []

    def forget(world, moment):
        world.clear_callbacks()
        world.when(km.Event.at(0.05), lambda world, moment: met.append(moment.time))

    world.when(km.Event.at(0.01, times=1), forget)
    for _ in range(50):
        world.when(km.Event.height(other, 0.2))
    world.run(0.02)
    assert len(world.monitors) == int(world._header[0]["event_count"]) == 1
    world.run(0.1)
    assert met == [pytest.approx(0.05, abs=2e-3)]

"""Events of joints in a simulation whose structure changes: a joint is watched as it was declared."""

from __future__ import annotations

import numpy as np
import pytest
from tests.strategies import random_inertia, random_joint, random_pose

import kinemorph as km

KINDS = [kind for kind in km.JointKind if kind not in (km.JointKind.FIXED, km.JointKind.FREE)]


def crossings(kind, seed, rooted):
    """What the joint between two links does, and when; with `rooted` it changes sides meanwhile."""
    rng = np.random.default_rng([int(kind), seed])
    b = km.Builder("two", gravity=(0, 0, 0))
    b.link("base", None, km.Joint.free(), inertia=random_inertia(rng))
    b.link("tip", "base", random_joint(rng, kind), random_pose(rng, 0.4), random_inertia(rng))
    model = b.build()
    q, v = km.random_configuration(model, rng), rng.normal(size=model.nv)
    found = []

    def note(name):
        return lambda m, s: found.append((name, s.time))

    of_q, of_v = q[model.q_slice("tip")], v[model.v_slice("tip")]
    events = [km.Event.at(0.013, lambda m, s: km.reroot(m, s, "tip"))] if rooted else []
    for way in (1, -1):
        for made, values in ((km.Event.position, of_q), (km.Event.velocity, of_v)):
            for k, x in enumerate(values):
                name = f"{made.__name__} {k} {way}"
                events.append(made("tip", x + 0.03 * way, note(name), entry=k, direction=way, name=name))
    km.simulate(model, km.State(q, v), 0.2, events, dt=1e-3)
    return sorted(found)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name.lower())
def test_an_event_happens_at_the_same_time_if_the_joint_changes_sides(kind):
    for seed in range(3):
        expected, found = crossings(kind, seed, False), crossings(kind, seed, True)
        assert len(expected) > 0
        assert [name for name, _ in found] == [name for name, _ in expected]
        np.testing.assert_allclose([time for _, time in found], [time for _, time in expected], atol=1e-6)

"""Motions of models as BVH: bodies are where they were."""

import numpy as np
import pytest

import kinemorph as km


def test_joints_are_where_links_were(rng):
    model = km.human(limits=False)
    q = np.array([km.random_configuration(model, k) for k in range(5)])
    bvh = km.mocap.bvh_of(model, q, dt=0.02, unit=0.01, names={"pelvis": "Hips"})
    assert bvh.names[0] == "Hips"
    turns, places = bvh.world()
    data = km.Data(model)
    for k in range(5):
        km.kinematics(model, data, q[k])
        for i in range(model.n):
            y, z, x = 0.01 * places[k, i]  # y is up in the file: x to the left, y up, z forward
            assert np.allclose([x, y, z], km.pose_of(model, data, i).position, atol=1e-9)
    assert bvh.dt == 0.02
    assert np.isfinite(turns).all()


def test_what_bvh_cannot_say_is_refused():
    b = km.Builder("slider")
    b.link("rail", joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    b.link("cart", "rail", km.Joint.prismatic("x"), inertia=km.Inertia.sphere(1.0, 0.1))
    model = b.build()
    with pytest.raises(ValueError, match="joint 'cart' is prismatic; BVH's joints only turn"):
        km.mocap.bvh_of(model, km.neutral(model)[None], 0.01)
    b = km.Builder("two")
    for name in ("a", "b"):
        b.link(name, joint=km.Joint.free(), inertia=km.Inertia.sphere(1.0, 0.1))
    model = b.build()
    with pytest.raises(ValueError, match="has 2 trees; a BVH file holds one"):
        km.mocap.bvh_of(model, km.neutral(model)[None], 0.01)

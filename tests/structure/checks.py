"""What must hold across a change of structure: bodies by name, momentum, energy, validity of a tree, maps."""

from __future__ import annotations

import numpy as np

import kinemorph as km
from kinemorph.scenes import mechanisms

Either = km.Model | km.Mechanism

# the classic mechanisms, and how many degrees of freedom each has
CLASSIC = [
    (mechanisms.four_bar, 1),
    (mechanisms.slider_crank, 1),
    (mechanisms.bennett, 1),
    (mechanisms.stewart, 6),
    (mechanisms.delta, 3),
    (mechanisms.two_arms, 8),
    (mechanisms.free_flyer, 2),
]


def tree_of(model: Either) -> km.Model:
    return model.model if isinstance(model, km.Mechanism) else model


def loops_of(model: Either) -> tuple[str, ...]:
    return model.names if isinstance(model, km.Mechanism) else ()


def poses(model: Either, state: km.State) -> dict[str, np.ndarray]:
    """Pose of every body by name."""
    tree = tree_of(model)
    data = km.Data(tree)
    km.kinematics(tree, data, state.q, state.v)
    return {name: km.pose_of(tree, data, name).matrix() for name in tree.names}


def twists(model: Either, state: km.State) -> dict[str, np.ndarray]:
    tree = tree_of(model)
    data = km.Data(tree)
    km.kinematics(tree, data, state.q, state.v)
    return {name: km.velocity_of(tree, data, name) for name in tree.names}


def masses(model: Either, state: km.State) -> dict[str, np.ndarray]:
    """Mass, centre of mass in the world, and inertia about it in world axes, of every body by name."""
    tree = tree_of(model)
    data = km.Data(tree)
    km.kinematics(tree, data, state.q)
    found = {}
    for name, l, d in zip(tree.names, tree.links, data.links, strict=True):
        R, m = d["R"].reshape(3, 3), float(l["mass"])
        c = l["h"] / m
        I = l["I"][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3) - m * (c @ c * np.eye(3) - np.outer(c, c))
        found[name] = np.concatenate([[m], d["p"] + R @ c, (R @ I @ R.T).ravel()])
    return found


def momentum(model: Either, state: km.State) -> np.ndarray:
    tree = tree_of(model)
    return km.momentum(tree, km.Data(tree), state.q, state.v)


def kinetic(model: Either, state: km.State) -> float:
    tree = tree_of(model)
    return km.energy(tree, km.Data(tree), state.q, state.v).kinetic


def total_energy(model: Either, state: km.State) -> float:
    tree = tree_of(model)
    return km.energy(tree, km.Data(tree), state.q, state.v).total


def same(x: dict[str, np.ndarray], y: dict[str, np.ndarray], tolerance: float = 1e-11) -> None:
    assert x.keys() == y.keys()
    for name, value in x.items():
        np.testing.assert_allclose(value, y[name], atol=tolerance, err_msg=name)


def is_tied(model: Either) -> bool:
    """Whether anything holds the system to the base."""
    tree = tree_of(model)
    tops = tree.links[tree.links["parent"] < 0]
    loops = model.rows if isinstance(model, km.Mechanism) else np.zeros(0, [("a", "i4"), ("b", "i4"), ("nv", "i4")])
    to_base = ((loops["a"] < 0) | (loops["b"] < 0)) & (loops["nv"] < 6)
    return bool((tops["kind"] != km.JointKind.FREE).any() or to_base.any())


def valid(model: Either) -> None:
    """Parents before children, entries without gaps, unique names, loops that know their links."""
    tree = tree_of(model)
    links = tree.links
    assert (links["parent"] < np.arange(tree.n)).all()
    assert (links["parent"] >= -1).all()
    for start, size, total in (("iq", "nq", tree.nq), ("iv", "nv", tree.nv)):
        np.testing.assert_array_equal(links[start], np.cumsum(links[size]) - links[size])
        assert links[size].sum() == total
    assert len(tree.dofs) == tree.nv
    assert len(tree.rest) == tree.nq
    before = {-1: -1}
    for i, l in enumerate(links):
        last = before[int(l["parent"])]
        for k in range(l["iv"], l["iv"] + l["nv"]):
            assert tree.dofs[k]["link"] == i
            assert tree.dofs[k]["parent"] == last
            last = k
        before[i] = last
    names = (*tree.joint_names, *loops_of(model))
    assert len(set(names)) == len(names)
    assert len(set(tree.names)) == tree.n
    for name, (link, _) in tree.frames.items():
        assert name not in tree.names or link == tree.link(name)


def maps_follow(old: Either, state: km.State, report: km.Report) -> None:
    """Entries of joints that are still there are where the maps say, equal, or opposite if the joint is inverted."""
    before, after = tree_of(old), report.tree
    assert [after.names[i] for i in report.link_map] == list(before.names)
    assert len(report.loop_map) == len(loops_of(old))
    for i, name in enumerate(loops_of(old)):
        where = int(report.loop_map[i])
        assert where == -1 or loops_of(report.model)[where] == name
        assert (where == -1) == (name not in loops_of(report.model))
    for link, name in enumerate(before.joint_names):
        entries, rates = report.q_map[before.q_slice(link)], report.v_map[before.v_slice(link)]
        if not len(rates) or (rates == -1).any():
            assert (rates == -1).all()
            assert (entries == -1).all()
            continue
        to = after.joint(name)
        turn = -1 if _swaps(before, after, link, to) else 1
        assert entries.tolist() == list(range(after.nq))[after.q_slice(to)][::turn]
        assert rates.tolist() == list(range(after.nv))[after.v_slice(to)][::turn]
        q, v = state.q[before.q_slice(link)], state.v[before.v_slice(link)]
        q_new, v_new = report.state.q[entries], report.state.v[rates] - report.jump[rates]
        if after.names[to] == before.names[link]:
            np.testing.assert_array_equal(q_new, q)
            np.testing.assert_allclose(v_new, v, atol=1e-12 * (1.0 + np.abs(state.v).max()))
        elif len(q) == len(v) < 3:
            np.testing.assert_array_equal(q_new, -q)
            np.testing.assert_allclose(v_new, -v, atol=1e-12 * (1.0 + np.abs(state.v).max()))


def _swaps(before: km.Model, after: km.Model, link: int, to: int) -> bool:
    """Whether a joint is a universal one that is inverted: its angles change places."""
    return before.links[link]["kind"] == km.JointKind.UNIVERSAL and after.names[to] != before.names[link]

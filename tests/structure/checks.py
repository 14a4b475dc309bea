"""What must hold across a change of structure: bodies by name, momentum, energy, validity of a model, maps."""

from __future__ import annotations

import numpy as np

import kinemorph as km


def poses(model: km.Model, state: km.State) -> dict[str, np.ndarray]:
    """Pose of every body by name."""
    data = km.Data(model)
    km.kinematics(model, data, state.q, state.v)
    return {name: km.pose_of(model, data, name).matrix() for name in model.names}


def twists(model: km.Model, state: km.State) -> dict[str, np.ndarray]:
    data = km.Data(model)
    km.kinematics(model, data, state.q, state.v)
    return {name: km.velocity_of(model, data, name) for name in model.names}


def masses(model: km.Model, state: km.State) -> dict[str, np.ndarray]:
    """Mass, centre of mass in the world, and inertia about it in world axes, of every body by name."""
    data = km.Data(model)
    km.kinematics(model, data, state.q)
    found = {}
    for name, l, d in zip(model.names, model.links, data.links, strict=True):
        R, m = d["R"].reshape(3, 3), float(l["mass"])
        c = l["h"] / m
        I = l["I"][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3) - m * (c @ c * np.eye(3) - np.outer(c, c))
        found[name] = np.concatenate([[m], d["p"] + R @ c, (R @ I @ R.T).ravel()])
    return found


def momentum(model: km.Model, state: km.State) -> np.ndarray:
    return km.momentum(model, km.Data(model), state.q, state.v)


def kinetic(model: km.Model, state: km.State) -> float:
    return km.energy(model, km.Data(model), state.q, state.v).kinetic


def total_energy(model: km.Model, state: km.State) -> float:
    return km.energy(model, km.Data(model), state.q, state.v).total


def same(x: dict[str, np.ndarray], y: dict[str, np.ndarray], tolerance: float = 1e-11) -> None:
    assert x.keys() == y.keys()
    for name, value in x.items():
        np.testing.assert_allclose(value, y[name], atol=tolerance, err_msg=name)


def is_tied(model: km.Model) -> bool:
    """Whether anything holds the system to the base."""
    tops = model.links[model.links["parent"] < 0]
    loops = model.loop_rows
    to_base = ((loops["a"] < 0) | (loops["b"] < 0)) & (loops["nv"] < 6)
    return bool((tops["kind"] != km.JointKind.FREE).any() or to_base.any())


def valid(model: km.Model) -> None:
    """Parents before children, entries without gaps, unique names, loops that know their links."""
    links = model.links
    assert (links["parent"] < np.arange(model.n)).all()
    assert (links["parent"] >= -1).all()
    for start, size, total in (("iq", "nq", model.nq), ("iv", "nv", model.nv)):
        np.testing.assert_array_equal(links[start], np.cumsum(links[size]) - links[size])
        assert links[size].sum() == total
    assert len(model.dofs) == model.nv
    assert len(model.rest) == model.nq
    before = {-1: -1}
    for i, l in enumerate(links):
        last = before[int(l["parent"])]
        for k in range(l["iv"], l["iv"] + l["nv"]):
            assert model.dofs[k]["link"] == i
            assert model.dofs[k]["parent"] == last
            last = k
        before[i] = last
    names = (*model.joint_names, *model.loop_names)
    assert len(set(names)) == len(names)
    assert len(set(model.names)) == model.n
    for name, (link, _) in model.frames.items():
        assert name not in model.names or link == model.link(name)


def maps_follow(old: km.Model, state: km.State, report: km.ModelEdit) -> None:
    """Entries of joints that are still there are where the maps say, equal, or opposite if the joint is inverted."""
    before, after = old, report.model
    assert [after.names[i] for i in report.link_map] == list(before.names)
    assert len(report.loop_map) == len(old.loop_names)
    for i, name in enumerate(old.loop_names):
        where = int(report.loop_map[i])
        assert where == -1 or report.model.loop_names[where] == name
        assert (where == -1) == (name not in report.model.loop_names)
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

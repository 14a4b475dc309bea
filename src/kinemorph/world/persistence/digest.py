"""Digests: one number for all that decides how a world goes on, and one for each body.

They are of ids, numbers and impulses, in the order of ids: where tables are, how long they are and which of their rows
are free changes nothing. Worlds that will take the same way, bit for bit, have the same digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinemorph.collision.narrow.core_pair import Relation
from kinemorph.structure.forest.copying import STATE_VECTOR_COUNT
from kinemorph.structure.forest.layout import REST, TAU, Q, V
from kinemorph.structure.forest.memory import ID_INDEX_MASK
from kinemorph.world.layout import ContactModel
from kinemorph.world.persistence.random_streams import dice_of

Array = np.ndarray[Any, Any]


def digest_of(world: Any, waiting: bool = True) -> str:
    """Of a whole world, or of all but its controllers and the events that it waits for: 32 hexadecimal digits."""
    found = hashlib.blake2b(digest_size=16)
    parts = (_times, _structure, _rest, _acting, _contacts, _pairs, _minds, *([_waiting] if waiting else []))
    for part in (part for each in parts for part in each(world)):
        array = np.ascontiguousarray(part)
        found.update(repr((array.dtype.str, array.shape)).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def bodies_of(world: Any) -> tuple[Array, Array]:
    """Ids of all bodies, and a digest of each: what carries it, and the position and velocity of that joint."""
    forest = world.forest
    ids, found = [], []
    for tree in forest.trees.tolist():
        members, t = forest.members(tree).tolist(), tree & ID_INDEX_MASK
        q, v = forest._vector(t, Q), forest._vector(t, V)
        for body, link in zip(members, forest._links(t), strict=True):
            carrier = members[link["parent"]] if link["parent"] >= 0 else -1
            iq, iv = int(link["iq"]), int(link["iv"])
            numbers = q[iq : iq + int(link["nq"])].tobytes() + v[iv : iv + int(link["nv"])].tobytes()
            text = b"%d %d " % (carrier, link["kind"])
            ids.append(body)
            found.append(int.from_bytes(hashlib.blake2b(text + numbers, digest_size=8).digest(), "little", signed=True))
    order = np.argsort(np.array(ids, np.int64), kind="stable")
    return np.array(ids, np.int64)[order], np.array(found, np.int64)[order]


def _times(world: Any) -> Iterator[Any]:
    h, solver = world._header[0], world.solver.header[0]
    yield np.array([h["time"], h["dt"], h["slow"], h["patience"], solver["h"]])
    yield np.array([h["steps"], solver["substeps"], solver["direct_work"]])
    if h["model"] == ContactModel.IMPULSE:
        yield np.array([*h["impacts"][["epsilon", "slow", "boost"]].item(), h["within"], h["longest_part"]])
        yield np.array([h["impacts"]["turn"] & 1, h["halvings"], h["fresh"]])


def _structure(world: Any) -> Iterator[Any]:
    """Trees, bodies, joints and loops by their ids, what they are, and how they move."""
    forest = world.forest
    gravity, _, _, tables, ties, _, elements, ends, extents, links, dofs, numbers = forest.__getstate__()
    yield np.array(gravity)
    yield from (forest.trees, forest.bodies, forest.joints, extents, links, dofs, ties, elements, ends)
    yield from (tables[1]["R"], tables[1]["p"])
    at = 0
    for nq in extents["nq"].tolist():
        vectors = numbers[at : at + STATE_VECTOR_COUNT * nq].reshape(STATE_VECTOR_COUNT, nq)
        at += STATE_VECTOR_COUNT * nq
        yield vectors[[Q, V, TAU, REST]]


def _rest(world: Any) -> Iterator[Any]:
    """Sleeping trees, how long trees have been still, islands that are solved directly, and shapes."""
    slices = world.solver["slices"][world.forest.trees & ID_INDEX_MASK]
    yield from (slices[name] for name in ("asleep", "still", "direct", "pairs", "touched"))
    rows = world.shapes.rows[: world.shapes.count]
    used = np.flatnonzero(rows["form"])
    yield from (rows[name][used] for name in ("form", "generation", "link", "group", "mask", "carrier", "radius"))
    materials = world.solver["materials"][used]
    yield from (used, *(materials[name] for name in materials.dtype.names))


def _acting(world: Any) -> Iterator[Any]:
    """Drives of joints, forces on bodies, and settings of pairs of shapes that users made."""
    h = world.solver.header[0]
    for table, owner in (("drives", "joint"), ("applied_forces", "body"), ("pair_materials", "a")):
        rows = world.solver[table][: int(h[f"{table[:-1]}_count"])]
        alive = rows[rows[owner] >= 0]
        yield from (alive[name] for name in rows.dtype.names if name not in ("next", "generation", "applied"))
        if table == "drives" and len(alive):
            yield alive["applied"]
    joints = world.forest.joints & ID_INDEX_MASK
    kept = world.solver["warm_joints"]
    warm = joints[joints < len(kept)]
    warm = warm[np.any(kept["p"][warm] != 0.0, axis=1)]
    if len(warm):  # the forces from which limits and dry friction start
        yield from (warm, kept["p"][warm])


def _minds(world: Any) -> Iterator[Any]:
    """Brains and what they remember, what is recorded, and the fluid that all are in; nothing, where there is none."""
    yield from world._brain_instances.plain()
    if world._recorder is not None:
        yield from _leaves(world._recorder.state())
    h = world._header[0]
    if h["fluid"] > 0.0:
        yield np.array([h["fluid"], h["drag"]])


def _leaves(state: Any) -> Iterator[Any]:
    """Numbers and arrays of a state in tuples."""
    if isinstance(state, tuple):
        for one in state:
            yield from _leaves(one)
    else:
        yield state


def _waiting(world: Any) -> Iterator[Any]:
    """Controllers, events, the numbers of both, and the random ones."""
    timers = world._timers.plain()
    yield np.array([(due[1], due[2], due[3]) for due in timers], float)
    listed, rows = world._monitors.plain()
    yield np.array([one[-2] for one in listed], np.int64)
    yield rows["side"]
    names = [timer[0] for timer in timers] + [one[0] for one in listed]
    yield np.frombuffer(repr(names).encode(), np.uint8)
    for name in sorted(world.memory):
        yield np.frombuffer(name.encode(), np.uint8)
        yield world.memory[name]
    yield np.array(dice_of(world.random), np.uint64)


def _contacts(world: Any) -> Iterator[Any]:
    """Where shapes touch, and the impulses that the next step starts from."""
    collisions = world.collisions
    contacts, pairs = collisions.contacts, collisions.pairs
    yield from (pairs[name][contacts["pair"]] for name in "ab")
    yield from (contacts[name] for name in ("id", "part1", "part2", "distance", "normal", "x1", "x2"))
    room = int(world.solver.header["impulse_room"][0]) // 2
    now = room * (int(collisions.header["step"][0]) & 1)
    yield world.solver["impulses"].reshape(-1, 3)[now : now + len(contacts)]
    if world.solver.header["moments_valid"][0]:
        yield world.solver["moments"].reshape(-1, 3)[now : now + len(contacts)]


def _pairs(world: Any) -> Iterator[Any]:
    """Pairs that are near, and what is known of them, by their shapes."""
    broad, lasting = world.collisions.broad_phase, world.collisions._lasting()
    count = int(broad.hash.header["pair_count"][0])
    rows = broad.rows[:count]
    alive = np.flatnonzero(rows["shared"] >= 0)
    order = alive[np.lexsort((rows["b"][alive], rows["a"][alive]))]
    yield from (rows[name][order] for name in ("a", "b", "linger"))
    known = lasting.get("known_pairs", np.zeros(0, np.int64))
    order = np.lexsort((rows["b"][known], rows["a"][known]))
    yield from (rows[name][known[order]] for name in "ab")
    if not len(known):
        return
    start = lasting["memory"]["start"][order]
    yield start["relation"]
    walked = start[start["relation"] != Relation.NEW]
    yield from (walked[name] for name in ("kind1", "index1", "kind2", "index2"))
    yield from (lasting["made"][name][order] for name in ("R", "p") if "made" in lasting)

"""Model: the constants of trees and of the loops that close them."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from kinemorph._extras import in_notebooks
from kinemorph.geometry.convex_parts import decompose
from kinemorph.geometry.polyhedron import hollow_of
from kinemorph.geometry.shapes import Role, Shape
from kinemorph.multibody.layout import BODY, DOF, GEAR, LINK, MODEL_KIND, TREE, TREE_RANGE, JointKind, copy_rows
from kinemorph.multibody.loop_layout import SIZES, measure_model
from kinemorph.multibody.model.catalog import Catalog, Mimic, PlacedElement
from kinemorph.multibody.model.elements import ForceElement, element_rows
from kinemorph.multibody.model.equipment import Actuator, Equipment, Floor, Keyframe, PairMaterial
from kinemorph.multibody.model.joint import check_numbers
from kinemorph.multibody.model.loops import DEPENDENT_ROW_SINE, LOOP, NO_LOOPS, Loop, loop_row
from kinemorph.multibody.tables import aligned_at
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import check_finite, repr_of
from kinemorph.spatial.pose import Pose, Vector, vector

ORIGIN = Pose()
NO_SIZES = np.zeros(1, SIZES)
_UPRIGHT = np.eye(3).ravel()


@checked_on_failure
class Model:
    """Trees of links, and the loops that close them, as rows of constants (`multibody.layout`, `.model.loops`).

    A model is immutable: edits make a new one. `links[i]` and `names[i]` describe link i, `joint_names[i]` the joint
    that carries it, `dofs[k]` entry k of v, `trees[t]` the links and entries of tree t, which are contiguous.
    `shapes[i]` are the shapes of link i, `base_shapes` those that stand in the world. `frames` are named poses: a link
    (-1 for the base) and a pose on it. `loops` are joints beyond those of the trees; `loop_rows` are their rows, `m`
    counts their constraints. `revision` is different for every model, in every process; `Data` stores it.

    A constraint row whose angle to the others has a sine below `dependence` counts as dependent on them.
    """

    links: np.ndarray[Any, Any]
    dofs: np.ndarray[Any, Any]
    rest: Vector
    bodies: np.ndarray[Any, Any]
    loop_rows: np.ndarray[Any, Any]
    catalog: Catalog
    mounts: Any = None  # shapes prepared for worlds (`collision.shapes.shape_table.Mounts`), of simple models

    def __init__(
        self,
        name: str,
        links: np.ndarray[Any, Any],
        dofs: np.ndarray[Any, Any],
        names: Sequence[str],
        joint_names: Sequence[str],
        rest: Vector,
        gravity: Iterable[float] = (0.0, 0.0, -9.81),
        shapes: Sequence[Sequence[Shape]] | None = None,
        frames: Mapping[str, tuple[int, Pose]] | None = None,
        mimics: Sequence[Mimic] = (),
        base_shapes: Sequence[Shape] = (),
        loops: Sequence[Loop] = (),
        dependence: float = DEPENDENT_ROW_SINE,
    ) -> None:
        n = len(names)
        links = np.array(links, dtype=LINK)
        links["body"] = links["joint"] = np.arange(n)
        bodies = np.zeros(n, BODY)
        bodies["link"], bodies["R"] = np.arange(n), _UPRIGHT
        known = tuple(map(tuple, shapes)) if shapes is not None else ((),) * n
        catalog = Catalog(
            tuple(names), tuple(joint_names), known, dict(frames or {}), tuple(mimics), tuple(base_shapes), {}
        )  # fmt: skip
        self._set(
            str(name), links, np.array(dofs, dtype=DOF), np.array(rest, dtype=np.float64),
            vector(gravity, 3, f"model {name!r}: gravity"), bodies, NO_LOOPS, catalog, dependence,
        )  # fmt: skip
        if loops:
            self._set(
                self.name, self.links, self.dofs, self.rest, self.gravity, self.bodies,
                *self._with(loops), dependence,
            )  # fmt: skip

    @staticmethod
    def known(
        name: str, links: np.ndarray[Any, Any], dofs: np.ndarray[Any, Any], rest: Vector, gravity: Vector,
        bodies: np.ndarray[Any, Any], loop_rows: np.ndarray[Any, Any], catalog: Catalog,
        dependence: float = DEPENDENT_ROW_SINE, revision: int = 0, header: np.ndarray[Any, Any] | None = None,
    ) -> Model:  # fmt: skip
        """A model from valid arrays, which it keeps without checks; `header` is that of a model with the same rows."""
        model = object.__new__(Model)
        model._set(name, links, dofs, rest, gravity, bodies, loop_rows, catalog, dependence, revision, header)
        return model

    def _set(
        self, name: str, links: np.ndarray[Any, Any], dofs: np.ndarray[Any, Any], rest: Vector, gravity: Vector,
        bodies: np.ndarray[Any, Any], loop_rows: np.ndarray[Any, Any], catalog: Catalog, dependence: float,
        revision: int = 0, header: np.ndarray[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        if not 0.0 < dependence < 1.0:
            raise ValueError(f"model {name!r}: dependence {dependence} is not between 0 and 1")
        vars(self).clear()  # cached properties of other rows
        if not loop_rows.flags.writeable:  # those of another model, which are measured for that
            loop_rows = copy_rows(loop_rows) if len(loop_rows) else NO_LOOPS
        if header is not None:
            self.header = header
        self.name, self.links, self.dofs, self.rest, self.gravity = name, links, dofs, rest, gravity
        self.bodies, self.loop_rows, self.catalog, self.dependence = bodies, loop_rows, catalog, float(dependence)
        self.n, self.nq, self.nv = len(links), len(rest), len(dofs)
        self.revision = revision or _next_revision()
        self.spare_lanes: list[Any] = []  # unused workspaces of `batch`
        self.told: set[str] = set()  # warnings that users have had
        self.sizes = NO_SIZES
        self.m = self.loop_nq = self.loop_nv = 0
        if len(loop_rows):
            self.sizes = np.zeros(1, SIZES)
            measure_model(np.array([self.address]), loop_rows, self.sizes)
            self.m, self.loop_nq, self.loop_nv = (int(self.sizes[0][field]) for field in ("m", "nq", "nv"))
        for array in (links, dofs, rest, gravity, bodies, loop_rows):
            array.setflags(write=False)

    @cached_property
    def header(self) -> np.ndarray[Any, Any]:
        """The header for kernels: sizes and addresses of the rows."""
        header, self.address = aligned_at(1, TREE)
        fill_tree(header[0], self, MODEL_KIND)
        return header

    @cached_property
    def address(self) -> int:
        """Address of the header."""
        return int(self.header.ctypes.data)

    # ------------------------------------------------------------------------------------------ what things are called

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the links."""
        names = self.catalog.names
        return tuple([names[i] for i in self.links["body"].tolist()])

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints that carry the links."""
        names = self.catalog.joints
        return tuple([names[i] for i in self.links["joint"].tolist()])

    @cached_property
    def loop_names(self) -> tuple[str, ...]:
        """Names of the joints of the loops."""
        names = self.catalog.joints
        return tuple([names[i] for i in self.loop_rows["joint"].tolist()])

    @cached_property
    def kinds(self) -> tuple[int, ...]:
        """`JointKind` of the joint that carries each link."""
        return tuple(self.links["kind"].tolist())

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of the parent of each link, -1 for the base."""
        return tuple(self.links["parent"].tolist())

    @cached_property
    def _link_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def _joint_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.joint_names)}

    @cached_property
    def _loop_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.loop_names)}

    def link(self, name: str) -> int:
        """Index of a link."""
        return _find_index(self._link_index, name, self.name, "link")

    def joint(self, name: str) -> int:
        """Index of the link that a joint carries."""
        return _find_index(self._joint_index, name, self.name, "joint")

    def loop(self, name: str) -> int:
        """Index of a loop."""
        return _find_index(self._loop_index, name, self.name, "loop")

    def q_slice(self, joint: str | int) -> slice:
        """The slice of a joint's entries in q."""
        l = self.links[self._joint_at(joint)]
        return slice(int(l["iq"]), int(l["iq"] + l["nq"]))

    def v_slice(self, joint: str | int) -> slice:
        """The slice of a joint's entries in v, a and tau."""
        l = self.links[self._joint_at(joint)]
        return slice(int(l["iv"]), int(l["iv"] + l["nv"]))

    def _joint_at(self, joint: str | int) -> int:
        if isinstance(joint, str):
            return self.joint(joint)
        index = self._index(joint, "joint")
        if not 0 <= index < self.n:
            raise IndexError(f"model {self.name!r} has joints 0 to {self.n - 1}, not {index}")
        return index

    def _index(self, given: Any, what: str) -> int:
        if isinstance(given, Integral) and not isinstance(given, bool):
            return int(given)
        raise TypeError(f"model {self.name!r}: {what} is {repr_of(given)}, and must be a name or an index")

    # --------------------------------------------------------------------------------------------------- what it has

    @cached_property
    def trees(self) -> np.ndarray[Any, Any]:
        """First link and entries, and sizes, of each tree (`multibody.layout.TREE_RANGE`)."""
        tops = np.flatnonzero(self.links["parent"] < 0)
        blocks = np.zeros(len(tops), TREE_RANGE)
        for first, count, starts, total in (
            ("first", "n", tops, self.n),
            ("iq", "nq", self.links["iq"][tops], self.nq),
            ("iv", "nv", self.links["iv"][tops], self.nv),
        ):
            blocks[first], blocks[count] = starts, np.diff(np.append(starts, total))
        blocks.flags.writeable = False
        return blocks

    @property
    def base_shapes(self) -> tuple[Shape, ...]:
        return self.catalog.base_shapes

    @cached_property
    def shapes(self) -> tuple[tuple[Shape, ...], ...]:
        """The shapes of each link, in its frame."""
        own, moved = self._own_shapes, self.bodies["moved"].tolist()
        if not any(moved):
            return own
        links = zip(self.links["body"].tolist(), own, strict=True)
        return tuple([tuple([s.moved(self._home(i)) for s in own]) if moved[i] else own for i, own in links])

    @cached_property
    def _own_shapes(self) -> tuple[tuple[Shape, ...], ...]:
        """The shapes of each link, in the own frame of its body, which edits do not change."""
        own = self.catalog.shapes
        return tuple([own[i] for i in self.links["body"].tolist()])

    @cached_property
    def frames(self) -> dict[str, tuple[int, Pose]]:
        """Named poses: a link (-1 for the base) and a pose on it; also the own frames of links that have moved."""
        bodies, frames = self.bodies, {}
        for name, (body, pose) in self.catalog.frames.items():
            if body < 0:
                frames[name] = (-1, pose)
            elif bodies[body]["link"] >= 0:
                frames[name] = (int(bodies[body]["link"]), self._home(body) @ pose if bodies[body]["moved"] else pose)
        for body in np.flatnonzero((bodies["moved"] != 0) & (bodies["link"] >= 0)).tolist():
            frames.setdefault(self.catalog.names[body], (int(bodies[body]["link"]), self._home(body)))
        return frames

    def _home(self, body: int) -> Pose:
        """Pose of a body's own frame on its link."""
        row = self.bodies[body]
        return Pose.known(row["p"], row["R"].reshape(3, 3))

    @cached_property
    def mimics(self) -> tuple[Mimic, ...]:
        """Joints that follow others; multiplier and offset of an inverted joint have the other sign."""
        turned = dict(zip(self.joint_names, self.links["turned"].tolist(), strict=True))
        found = []
        for m in self.catalog.mimics:
            if m.joint in turned and m.source in turned:
                own, source = (-1.0 if turned[name] else 1.0 for name in (m.joint, m.source))
                found.append(Mimic(m.joint, m.source, own * source * m.multiplier, own * m.offset))
        return tuple(found)

    @cached_property
    def gear_rows(self) -> np.ndarray[Any, Any]:
        """The same as rows for kernels."""
        rows = np.zeros(len(self.mimics), GEAR)
        for row, m in zip(rows, self.mimics, strict=True):
            row["own"], row["source"] = self.v_slice(m.joint).start, self.v_slice(m.source).start
            row["own_q"], row["source_q"] = self.q_slice(m.joint).start, self.q_slice(m.source).start
            row["ratio"], row["offset"] = m.multiplier, m.offset
        return rows

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The loops as they would be declared now, by the names of their links; the base is None."""
        found = []
        for row, name in zip(self.loop_rows, self.loop_names, strict=True):
            sides = []
            for link, R, p in (("a", "Ra", "pa"), ("b", "Rb", "pb")):
                i = int(row[link])
                at = Pose.known(row[p], row[R].reshape(3, 3))
                called = self.names[i] if i >= 0 else None
                sides.append((called, self.frames[called][1].inverse() @ at if called in self.frames else at))
            joint = self.catalog.loops[int(row["joint"])]
            found.append(Loop(sides[0][0], sides[1][0], joint, sides[0][1], sides[1][1], name))
        return tuple(found)

    @cached_property
    def element_rows(self) -> np.ndarray[Any, Any]:
        """Rows of the force elements, with their present end frames on the links."""
        held, bodies = [], self.bodies
        for e, a, at_a, b, at_b in self._held:
            sides = [
                (-1, at) if body < 0 else (int(bodies[body]["link"]), self._home(body) @ at)
                for body, at in ((a, at_a), (b, at_b))
            ]
            held.append((e, *sides[0], *sides[1]))
        return element_rows(held)

    @cached_property
    def elements(self) -> tuple[ForceElement, ...]:
        """The force elements as they would be declared now; the base is None."""
        names, found = self.catalog.names, []
        for e, a, at_a, b, at_b in self._held:
            first, second = (names[body] if body >= 0 else None for body in (a, b))
            found.append(replace(e, a=first, b=second, at_a=at_a, at_b=at_b))
        return tuple(found)

    @cached_property
    def _held(self) -> tuple[PlacedElement, ...]:
        """The elements of the catalog whose bodies both exist."""
        if not self.catalog.elements:
            return ()
        there = self.bodies["link"] >= 0
        return tuple(h for h in self.catalog.elements if all(body < 0 or there[body] for body in (h[1], h[3])))

    @property
    def floors(self) -> tuple[Floor, ...]:
        """Ground in the world."""
        return self.catalog.equipment.floors

    @property
    def pair_materials(self) -> tuple[PairMaterial, ...]:
        """Materials of pairs of shapes, by the shapes' names."""
        return self.catalog.equipment.pair_materials

    @cached_property
    def exclusions(self) -> tuple[tuple[int, int], ...]:
        """Pairs of links (-1 for the base) that do not collide."""
        where = [*self.bodies["link"].tolist(), -1]  # -1, the base, is where -1 is
        pairs = self.catalog.equipment.exclusions
        return tuple((where[a], where[b]) for a, b in pairs if all(i < 0 or where[i] >= 0 for i in (a, b)))

    @cached_property
    def actuators(self) -> tuple[Actuator, ...]:
        """Drives of the existing joints; that of an inverted joint has the other sign.

        Those of an inverted spherical joint are left out: they push along the axes of a link that no longer hangs on
        it.
        """
        turned = dict(zip(self.joint_names, self.links["turned"].tolist(), strict=True))
        there = [a for a in self.catalog.equipment.actuators if a.joint in turned]
        return tuple(a.turned() if turned[a.joint] else a for a in there if len(a.gear) == 1 or not turned[a.joint])

    @cached_property
    def keyframes(self) -> dict[str, Keyframe]:
        """Named states. They belong to the model as it was made: after a change of structure there are none."""
        made = (self.links["joint"] == np.arange(self.n)).all() and not self.links["turned"].any()
        found = self.catalog.equipment.keyframes.items()
        return {name: key for name, key in found if made and (len(key.state.q), len(key.state.v)) == (self.nq, self.nv)}

    @cached_property
    def passive(self) -> bool:
        """Whether force elements, or springs and dampers in loop joints, act on links."""
        return bool(self._held) or bool(self.loop_rows["passive"].any())

    @property
    def mass(self) -> float:
        return float(self.links["mass"].sum())

    def place(self, place: str | int | None) -> tuple[int, Pose]:
        """Link and pose of a place: a link or frame by name, or a link by index; -1 or None is the base.

        A name means a pose on a body, an index a link's frame.
        """
        if place is None:
            return -1, ORIGIN
        if isinstance(place, str):
            return self.frames[place] if place in self.frames else (self.link(place), ORIGIN)
        index = self._index(place, "place")
        if not -1 <= index < self.n:
            raise IndexError(f"model {self.name!r} has links 0 to {self.n - 1} (and -1, the base), not {place}")
        return index, ORIGIN

    @property
    def lower(self) -> Vector:
        """Lower limit of each degree of freedom (nv), -inf for none."""
        return self.dofs["lower"].copy()

    @property
    def upper(self) -> Vector:
        """Upper limit of each degree of freedom (nv), inf for none."""
        return self.dofs["upper"].copy()

    def limits(self, joint: str | int) -> tuple[Vector, Vector]:
        """Lower and upper limits of a joint's position, by its name or the link that it carries."""
        dofs = self.dofs[self.v_slice(joint)]
        return dofs["lower"].copy(), dofs["upper"].copy()

    # ------------------------------------------------------------------------------------------------ others like it

    def with_gravity(self, gravity: Iterable[float]) -> Model:
        """The same model under another gravity (m/s²)."""
        return self._like(gravity=vector(gravity, 3, f"model {self.name!r}: gravity"))

    def with_parts(self, concavity: float = 0.05, max_parts: int | None = None) -> Model:
        """The same model, whose meshes that collide are cut into convex parts if they are hollow: see `decompose`."""

        if not 0.01 <= check_finite("with_parts: concavity", concavity) <= 1.0:
            raise ValueError(f"with_parts: concavity is {concavity:g}, and must be from 0.01 to 1")

        def cut(shape: Shape) -> Shape:
            is_cut = shape.path is None or shape.parts is not None or shape.role is Role.VISUAL
            return shape if is_cut or hollow_of(shape) <= concavity else decompose(shape, concavity, max_parts)

        shapes = tuple(tuple(map(cut, each)) for each in self.catalog.shapes)
        return self._like(catalog=replace(self.catalog, shapes=shapes))

    def with_dofs(self, **fields: npt.ArrayLike) -> Model:
        """The same model with other numbers in fields of `dofs`, such as damping=0.0 or upper=(nv numbers)."""
        dofs = copy_rows(self.dofs)
        for name, values in fields.items():
            if name in ("link", "parent", "implicit") or name not in (DOF.names or ()):
                raise ValueError(f"model {self.name!r}: dofs have no field {name!r} to set")
            numbers = np.asarray(values, dtype=np.float64)
            if numbers.shape not in ((), (self.nv,)):
                raise ValueError(f"model {self.name!r}: {name} must be one number or {self.nv}, not {numbers.shape}")
            dofs[name] = numbers
        try:
            check_numbers(dofs)
        except ValueError as error:
            raise ValueError(f"model {self.name!r}: {error}") from None
        return self._like(dofs=dofs)

    def with_loops(self, loops: Iterable[Loop], dependence: float | None = None) -> Model:
        """The same trees with these loops, and no others: [*model.loops, another] adds one."""
        rows, catalog = self._with(tuple(loops))
        return self._like(
            loop_rows=rows, catalog=catalog, dependence=self.dependence if dependence is None else dependence
        )

    def with_elements(self, elements: Iterable[ForceElement]) -> Model:
        """The same model with these force elements, and no others: [*model.elements, another] adds one."""
        held = []
        for i, e in enumerate(elements):
            if not isinstance(e, ForceElement):
                raise TypeError(
                    f"model {self.name!r}: elements must be kinemorph.ForceElement objects, not {repr_of(e)}"
                )
            try:
                (a, at_a), (b, at_b) = self.place(e.a), self.place(e.b)
            except (IndexError, KeyError) as error:
                raise ValueError(f"force element {e.name or i!r}: {error.args[0]}") from None
            if a == b:
                both = "the base" if a < 0 else f"link {self.names[a]!r}"
                raise ValueError(f"force element {e.name or i!r}: both ends are on {both}")
            held.append((e, *self._on_body(a, at_a @ e.at_a), *self._on_body(b, at_b @ e.at_b)))
        return self._like(catalog=replace(self.catalog, elements=tuple(held)))

    def with_equipment(self, **other: Any) -> Model:
        """The same model with other `floors`, `pair_materials`, `actuators`, `keyframes`, or `exclusions` by names."""
        known = [one.name for one in fields(Equipment)]
        for name in other:
            if name not in known:
                raise TypeError(f"model {self.name!r}: there is no equipment {name!r}; there are {', '.join(known)}")
        for name in {"floors", "exclusions", "pair_materials", "actuators"}.intersection(other):
            if isinstance(other[name], Iterator | list | set):
                other[name] = tuple(other[name])  # an iterator would be empty at its second use
        if "exclusions" in other:
            given = other["exclusions"]
            if not isinstance(given, tuple) or not all(isinstance(p, list | tuple) and len(p) == 2 for p in given):
                raise TypeError(
                    f"model {self.name!r}: exclusions is {repr_of(given)}, and must be a list of pairs of links"
                )
            pairs = [(self.place(a)[0], self.place(b)[0]) for a, b in given]
            other["exclusions"] = tuple(tuple(int(self.links[i]["body"]) if i >= 0 else -1 for i in p) for p in pairs)
        equipment: Equipment = replace(self.catalog.equipment, **other)
        freedoms = dict(zip(self.joint_names, self.links["nv"].tolist(), strict=True))
        equipment.check(self.name, freedoms, self.nq, self.nv)
        return self._like(catalog=replace(self.catalog, equipment=equipment))

    def _on_body(self, link: int, at: Pose) -> tuple[int, Pose]:
        """A pose on a link as one on its body, in the body's own frame."""
        if link < 0:
            return -1, at
        body = int(self.links[link]["body"])
        return body, self._home(body).inverse() @ at if self.bodies[body]["moved"] else at

    def _with(self, loops: Sequence[Loop]) -> tuple[np.ndarray[Any, Any], Catalog]:
        """Rows of loops, and a catalog with their joints."""
        rows, catalog, taken = np.zeros(len(loops), LOOP), self.catalog, set(self.joint_names)
        names: list[str] = []
        for i, loop in enumerate(loops):
            if not isinstance(loop, Loop):
                raise TypeError(f"model {self.name!r}: loops must be kinemorph.Loop objects, not {repr_of(loop)}")
            name = loop.name or loop.joint.name or f"loop{i}"
            if name in taken:
                raise ValueError(f"model {self.name!r}: there is already a joint {name!r}")
            taken.add(name)
            try:
                self._fill_loop(rows[i : i + 1], loop)
            except (ValueError, IndexError, KeyError) as error:
                raise ValueError(f"loop {name!r}: {error.args[0]}") from None
            rows[i]["joint"] = len(catalog.joints) + i
            names.append(name)
        held = {**catalog.loops, **{len(catalog.joints) + i: loop.joint for i, loop in enumerate(loops)}}
        return rows, replace(catalog, joints=(*catalog.joints, *names), loops=held)

    def _fill_loop(self, rows: Any, loop: Loop) -> None:
        rows.view(np.uint8)[:] = loop_row(loop.joint).view(np.uint8)
        row = rows[0]
        (row["a"], at_a), (row["b"], at_b) = self.place(loop.a), self.place(loop.b)
        if row["a"] == row["b"]:
            both = "the base" if row["a"] < 0 else f"link {self.names[row['a']]!r}"
            raise ValueError(f"both sides are on {both}")
        for at, R, p in ((at_a @ loop.at_a, "Ra", "pa"), (at_b @ loop.at_b, "Rb", "pb")):
            row[R], row[p] = at.rotation.ravel(), at.position

    def _like(self, **other: Any) -> Model:
        fields = ("name", "links", "dofs", "rest", "gravity", "bodies", "loop_rows", "catalog", "dependence")
        same = {name: getattr(self, name) for name in fields}
        elements = self.catalog.elements or other.get("catalog", self.catalog).elements
        if not ("links" in other or "dofs" in other or elements):
            same["header"] = self.header  # which has addresses of nothing else
        return Model.known(**{**same, **other})

    # A model never changes, so it is its own copy. Sent to another process it keeps its revision: it is the same model.

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: Any) -> Model:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Model.known, (
            self.name, self.links, self.dofs, self.rest, self.gravity, self.bodies, self.loop_rows, self.catalog,
            self.dependence, self.revision,
        )  # fmt: skip

    _repr_html_ = in_notebooks("model")

    def __repr__(self) -> str:
        kinds = np.bincount(self.links["kind"], minlength=len(JointKind))
        joints = ", ".join(f"{kinds[k]} {k.name.lower()}" for k in JointKind if kinds[k])
        text = f"Model {self.name!r}: {self.n} links ({joints}), nq {self.nq}, nv {self.nv}, {self.mass:.4g} kg"
        if len(self.loop_rows):
            closed = [JointKind(kind).name.lower() for kind in self.loop_rows["kind"]]
            each = ", ".join(f"{closed.count(kind)} {kind}" for kind in dict.fromkeys(closed))
            text += f", {len(closed)} loops ({each})"
        return text


def fill_tree(header: Any, model: Model, kind: int) -> None:
    """Fill a header with the sizes of a model's trees and the addresses of their constants."""
    header["kind"] = kind
    header["n"], header["nq"], header["nv"] = model.n, model.nq, model.nv
    header["springs"] = np.count_nonzero(model.dofs["stiffness"]) > 0
    header["links"], header["dofs"] = model.links.ctypes.data, model.dofs.ctypes.data
    if model._held:
        header["elements"], header["element_count"] = model.element_rows.ctypes.data, len(model.element_rows)
    if model.catalog.mimics and len(model.gear_rows):  # joints that follow others may close loops by now
        header["gears"], header["gear_count"] = model.gear_rows.ctypes.data, len(model.gear_rows)


_revisions: Iterator[int] = iter(())


def _count_revisions() -> None:
    """Start revisions at a random number, so that no two processes share one."""
    global _revisions
    _revisions = itertools.count(secrets.randbits(62) + 1)


def _next_revision() -> int:
    return next(_revisions)


_count_revisions()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_revisions)


def _find_index(table: Mapping[str, int], name: str, model: str, what: str) -> int:
    try:
        return table[name]
    except KeyError:
        known = ", ".join(list(table)[:12]) + (", ..." if len(table) > 12 else "")
        raise KeyError(f"model {model!r} has no {what} {name!r}; it has {known or 'none'}") from None

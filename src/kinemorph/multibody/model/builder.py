"""Builder: describe a tree link by link, in any order; `build` checks it and makes the Model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kinemorph.geometry.shapes import Shape
from kinemorph.multibody.layout import DOF, LINK
from kinemorph.multibody.model.catalog import Mimic
from kinemorph.multibody.model.elements import ForceElement
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.loops import Loop
from kinemorph.multibody.model.massless import massless_joints
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.arguments.annotated import checked_on_failure
from kinemorph.spatial.arguments.checks import repr_of
from kinemorph.spatial.pose import Pose, vector
from kinemorph.spatial.products import times

_NO_INERTIA = Inertia(0.0)
UPPER_TRIANGLE = [0, 1, 2, 4, 5, 8]  # entries of a flat symmetric 3x3 matrix that are stored in rows


@dataclass(frozen=True)
class _Link:
    name: str
    parent: str | None
    joint: Joint
    joint_name: str
    at: Pose
    inertia: Inertia
    shapes: tuple[Shape, ...]


@checked_on_failure
class Builder:
    """Collects links, then builds a `Model`.

    >>> import kinemorph as km
    >>> b = km.Builder("pendulum")
    >>> b.link("arm", joint=km.Joint.revolute("y"), inertia=km.Inertia.rod(1.0, (0, 0, 0), (0, 0, -1)))
    'arm'
    >>> b.build()
    Model 'pendulum': 1 links (1 revolute), nq 1, nv 1, 1 kg
    """

    def __init__(self, name: str = "model", gravity: Iterable[float] = (0.0, 0.0, -9.81)) -> None:
        self.name = name
        self.gravity = vector(gravity, 3, f"model {name!r}: gravity")
        self._links: dict[str, _Link] = {}
        self._joints: set[str] = set()
        self._frames: dict[str, tuple[str | None, Pose]] = {}
        self._base_shapes: list[Shape] = []
        self._mimics: list[Mimic] = []
        self._loops: list[Loop] = []
        self._elements: list[ForceElement] = []

    def __copy__(self) -> Builder:
        """A copy; links that are added to it are not added to this one."""
        copy = object.__new__(Builder)
        for name, value in vars(self).items():
            setattr(copy, name, value.copy() if hasattr(value, "copy") else value)
        return copy

    def link(
        self,
        name: str,
        parent: str | None = None,
        joint: Joint | None = None,
        at: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        inertia: Inertia | None = None,
        shapes: Sequence[Shape] | Shape = (),
    ) -> str:
        """Add a link and return its name.

        `parent` is a link's name, or None for the base; `joint` carries the link (fixed if not given); `at` is where
        the joint frame stands in the parent's frame: a Pose or a position. The link's frame is the joint frame after
        the joint's motion.
        """
        where = f"link {name!r}"
        joint = joint or Joint.fixed()
        if not isinstance(joint, Joint):
            raise TypeError(f"{where}: joint must be a kinemorph.Joint, not {repr_of(joint)}")
        if inertia is not None and not isinstance(inertia, Inertia):
            raise TypeError(f"{where}: inertia must be a kinemorph.Inertia, not {repr_of(inertia)}")
        joint_name = joint.name or name
        if not (isinstance(name, str) and name):
            raise ValueError(f"model {self.name!r}: a link needs a name, a text, not {repr_of(name)}")
        if name in self._links:
            raise ValueError(f"{where}: there is already a link of this name")
        if joint_name in self._joints:
            raise ValueError(f"{where}: there is already a joint {joint_name!r}")
        try:
            joint.check()
            pose = at if isinstance(at, Pose) else Pose(at)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        parts = _as_shapes(where, shapes)
        self._joints.add(joint_name)
        self._links[name] = _Link(name, parent, joint, joint_name, pose, inertia or _NO_INERTIA, parts)
        return name

    def base(self, shapes: Sequence[Shape] | Shape) -> None:
        """Add shapes that stand in the world and never move: a floor, the foot of an arm."""
        self._base_shapes.extend(_as_shapes("the base", shapes))

    def frame(self, name: str, link: str | None, at: Pose | Iterable[float] = (0.0, 0.0, 0.0)) -> str:
        """Name a place on a link, or on the base (None). The name of a link can only mean a place on that link."""
        if not (isinstance(name, str) and name):
            raise ValueError(f"model {self.name!r}: a frame needs a name, a text, not {repr_of(name)}")
        if name in self._frames:
            raise ValueError(f"frame {name!r}: there is already a frame of this name")
        self._frames[name] = (link, at if isinstance(at, Pose) else Pose(at))
        return name

    def loop(
        self,
        a: str | None,
        b: str | None,
        joint: Joint,
        at_a: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        at_b: Pose | Iterable[float] = (0.0, 0.0, 0.0),
        name: str = "",
    ) -> None:
        """Close a loop: a joint whose frame stands at `at_a` on link `a` and holds link `b` at `at_b`; see `Loop`."""
        self._loops.append(Loop(a, b, joint, at_a, at_b, name))

    def element(self, element: ForceElement) -> None:
        """Add a force element between two links, or a link and the base."""
        if not isinstance(element, ForceElement):
            raise TypeError(f"model {self.name!r}: an element must be a kinemorph.ForceElement, not {repr_of(element)}")
        self._elements.append(element)

    def mimic(self, joint: str, source: str, multiplier: float = 1.0, offset: float = 0.0) -> None:
        """Say that a joint follows another one."""
        self._mimics.append(Mimic(joint, source, float(multiplier), float(offset)))

    def massless(self) -> list[str]:
        """Links whose joint moves no mass in at least one of its directions, so that it has no acceleration."""
        order = self._order()
        whole = {link.name: link.inertia for link in order}
        found = []
        for link in reversed(order):
            moved, joint = whole[link.name], link.joint
            if joint.nv and not joint.per_dof("armature").all() and joint.still(moved):
                found.append(link.name)
            if link.parent is not None:
                whole[link.parent] = whole[link.parent] + moved.moved(link.at)
        # not by lack of mass; perhaps by accident, where joints are at zero
        if any(whole[name].mass for name in found):
            still = massless_joints(self.build(lenient=True))
            found = [name for name in found if not whole[name].mass or self._links[name].joint_name in still]
        return found[::-1]

    def build(self, lenient: bool = False) -> Model:
        """Check the whole tree and make its model. Links are ordered parents first, else as they were added.

        `lenient` takes what files of real robots have: no links at all, and joints that move no mass.
        """
        order = self._order()
        if not lenient:
            if not order:
                raise ValueError(f"model {self.name!r} has no links")
            for name in self.massless():
                raise ValueError(
                    f"link {name!r}: its joint moves no mass at all, in one of its directions at least; "
                    "give the link (or one it carries) an inertia, or the joint an armature"
                )
        index = {link.name: i for i, link in enumerate(order)}
        # as bytes: NumPy takes its time to concatenate rows
        rows = np.frombuffer(bytearray(b"".join([link.joint.rows[0].tobytes() for link in order])), LINK)
        dofs = np.frombuffer(bytearray(b"".join([link.joint.rows[1].tobytes() for link in order])), DOF)
        parents = [-1 if link.parent is None else index[link.parent] for link in order]
        links_of: list[int] = []  # of each degree of freedom
        before: list[int] = []  # of each degree of freedom, the one above it; -1 if there is none
        last: list[int] = []  # of each link, the degree of freedom nearest above what hangs on it
        for i, (link, parent) in enumerate(zip(order, parents, strict=True)):
            above = last[parent] if parent >= 0 else -1
            for _ in range(link.joint.nv):
                before.append(above)
                above = len(links_of)
                links_of.append(i)
            last.append(above)
        dofs["link"], dofs["parent"] = links_of, before
        if order:
            rows["parent"] = parents
            rows["iq"], rows["iv"] = (np.cumsum(rows[n]) - rows[n] for n in ("nq", "nv"))
            rows["R"] = np.array([link.at.rotation for link in order]).reshape(-1, 9)
            rows["p"] = [link.at.position for link in order]
            rows["mass"] = [link.inertia.mass for link in order]
            rows["h"] = [link.inertia.mass * link.inertia.com for link in order]
            rows["I"] = np.array([link.inertia.about_origin() for link in order]).reshape(-1, 9)[:, UPPER_TRIANGLE]
        fill_constants(rows)
        self._check_frames(index)
        model = Model(
            self.name,
            rows,
            dofs,
            [link.name for link in order],
            [link.joint_name for link in order],
            np.array([x for link in order for x in link.joint.rows[2]]),
            self.gravity,
            [link.shapes for link in order],
            {name: (-1 if link is None else index[link], pose) for name, (link, pose) in self._frames.items()},
            self._leaders_first(),
            self._base_shapes,
            self._loops,
        )
        return model.with_elements(self._elements) if self._elements else model

    def _check_frames(self, index: dict[str, int]) -> None:
        for name, (link, _) in self._frames.items():
            if link is not None and link not in index:
                raise ValueError(f"frame {name!r}: there is no link {link!r}")
            if name in index and name != link:
                raise ValueError(f"frame {name!r}: a link has this name, and is somewhere else")

    def _leaders_first(self) -> list[Mimic]:
        """The mimics in an order in which each source is set before its followers."""
        joints = {link.joint_name: link.joint for link in self._links.values()}
        waiting: dict[str, Mimic] = {}
        for m in self._mimics:
            where = f"mimic of joint {m.joint!r}"
            for name in (m.joint, m.source):
                if name not in joints:
                    raise ValueError(f"{where}: there is no joint {name!r}")
                if joints[name].nq != 1:
                    raise ValueError(f"{where}: joint {name!r} is {joints[name].kind.name.lower()}, not of one number")
            if not np.isfinite([m.multiplier, m.offset]).all():
                raise ValueError(f"{where}: multiplier {m.multiplier} and offset {m.offset} must be finite")
            if m.joint in waiting:
                raise ValueError(f"{where}: it follows {waiting[m.joint].source!r} already")
            waiting[m.joint] = m
        order: list[Mimic] = []
        while waiting:
            ready = [m for m in waiting.values() if m.source not in waiting]
            if not ready:
                name = next(iter(waiting))
                raise ValueError(f"mimic of joint {name!r}: it follows itself, directly or through others")
            order += ready
            for m in ready:
                del waiting[m.joint]
        return order

    def _order(self) -> list[_Link]:
        """Links with parents before children, each subtree contiguous."""
        children: dict[str | None, list[_Link]] = {None: []}
        for link in self._links.values():
            children.setdefault(link.name, [])
        for link in self._links.values():
            if link.parent not in children:
                raise ValueError(f"link {link.name!r}: there is no parent {link.parent!r}")
            children[link.parent].append(link)
        order: list[_Link] = []
        waiting = children[None][::-1]
        while waiting:
            link = waiting.pop()
            order.append(link)
            waiting.extend(reversed(children[link.name]))
        if len(order) < len(self._links):
            placed = {link.name for link in order}
            lost = next(name for name in self._links if name not in placed)
            raise ValueError(f"link {lost!r}: it is its own ancestor (a cycle); close loops with a loop joint")
        return order


def fill_constants(rows: np.ndarray[tuple[int], np.dtype[np.void]]) -> None:
    """Fill the derived constants Rc and Rs: the two matrices of a rotation about the joint's axis."""
    R, a = rows["R"].reshape(-1, 3, 3), rows["axis"]
    K = np.zeros((len(rows), 3, 3))
    K[:, 0, 1], K[:, 0, 2], K[:, 1, 2] = -a[:, 2], a[:, 1], -a[:, 0]
    K[:, 1, 0], K[:, 2, 0], K[:, 2, 1] = a[:, 2], -a[:, 1], a[:, 0]
    rows["Rc"] = times(R, np.eye(3) - a[:, :, np.newaxis] * a[:, np.newaxis]).reshape(-1, 9)
    rows["Rs"] = times(R, K).reshape(-1, 9)


def _as_shapes(where: str, shapes: Sequence[Shape] | Shape) -> tuple[Shape, ...]:
    parts = (shapes,) if isinstance(shapes, Shape) else tuple(shapes)
    for part in parts:
        if not isinstance(part, Shape):
            raise TypeError(f"{where}: shapes must be kinemorph.Shape objects, not {repr_of(part)}")
    return parts

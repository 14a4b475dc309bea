"""Links and joints of a file become a model: links on fixed joints are merged, and names keep their new places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from kinemorph._files import FileError
from kinemorph._xml import Element
from kinemorph.geometry.shapes import Shape
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.multibody.layout import JointKind
from kinemorph.multibody.model.builder import Builder
from kinemorph.multibody.model.inertia import Inertia
from kinemorph.multibody.model.joint import Joint
from kinemorph.multibody.model.model import Model
from kinemorph.spatial.pose import Pose

GRAVITY = (0.0, 0.0, -9.81)  # m/s²
ROOT_JOINT = "root_joint"  # carries the root of a floating robot; Pinocchio gives it the same name
INERTIA_ROUNDING = 1e-12  # kg m²: a moment of inertia that is negative by less than this is a rounded zero


@dataclass(frozen=True)
class FileLink:
    """A link as the file has it."""

    element: Element
    name: str
    inertia: Inertia | None
    shapes: list[Shape]


@dataclass(frozen=True)
class FileJoint:
    """A joint as the file has it: its frame stands at `at` on the parent, and at `on` on the child if it is at zero."""

    element: Element
    name: str
    joint: Joint
    parent: str
    child: str
    at: Pose
    on: Pose = field(default_factory=Pose)


@dataclass
class Body:
    """A future link of the model (or its base, if the name is None): a link and all that is merged into it."""

    name: str | None
    parent: str | None = None
    joint: Joint = field(default_factory=Joint.fixed)
    at: Pose = field(default_factory=Pose)
    inertia: Inertia | None = None
    shapes: list[Shape] = field(default_factory=list)

    def take(self, link: FileLink, pose: Pose) -> None:
        if link.inertia is not None:
            inertia = link.inertia.moved(pose)
            self.inertia = inertia if self.inertia is None else self.inertia + inertia
        self.shapes.extend(shape.moved(pose) for shape in link.shapes)


LinkPlaces = dict[str, tuple[Body, Pose]]  # where a link of the file went, and where its frame is there


def assemble(
    builder: Builder,
    order: Iterable[FileLink],
    carrier: Mapping[str, FileJoint],
    roots: LinkPlaces,
    merge_fixed: bool,
    warned: FileWarnings,
) -> LinkPlaces:
    """Put all links where they belong, parents first: one on a fixed joint into its parent, another on its own body.

    `carrier` is the joint that carries a link, `roots` where links without one are.
    """
    home = dict(roots)
    bodies = list({id(body): body for body, _ in roots.values()}.values())
    links = {link.name: link for link in order}
    for link in links.values():
        joint = carrier.get(link.name)
        if joint is not None:
            body, pose = home[joint.parent]
            pose = pose @ joint.at
            if joint.joint.kind is not JointKind.FIXED or not merge_fixed:
                body, pose = Body(link.name, body.name, joint.joint, pose), Pose()
                bodies.append(body)
            elif joint.name not in links:  # where a link has this name too, the name means the link
                builder.frame(joint.name, body.name, pose)
            home[link.name] = (body, pose @ joint.on.inverse())
        body, pose = home[link.name]
        builder.frame(link.name, body.name, pose)
        body.take(link, pose)
    for body in bodies:
        if body.name is None:
            builder.base(body.shapes)
        else:
            try:
                builder.link(body.name, body.parent, body.joint, body.at, body.inertia, body.shapes)
            except ValueError as error:
                raise (carrier.get(body.name) or links[body.name]).element.error(str(error)) from None
    for name in builder.massless():
        moved = carrier[name].element if name in carrier else links[name].element
        why = "it moves no mass, in one of its directions at least, so forward dynamics has no answer"
        warned.add("massless", moved, f"{why}; give its link an <inertial>")
    return home


def build_merged_model(builder: Builder, root: Element) -> Model:
    """The model, and what is wrong with it said of the file."""
    try:
        return builder.build(lenient=True)
    except ValueError as error:
        raise FileError(f"{root.source}: {error}") from None


def inertia_of(mass: float, moments: Iterable[float], pose: Pose, element: Element, warned: FileWarnings) -> Inertia:
    """The inertia that a file gives by its moments ixx, ixy, ixz, iyy, iyz, izz at a pose on the link."""
    xx, xy, xz, yy, yz, zz = moments
    inertia = Inertia.unchecked(mass, np.zeros(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    fault = inertia.fault()
    if fault:
        warned.add("inertia", element, f"{fault}; it is used as it is")
    return inertia.moved(pose)

"""Common parts of the readers of URDF and SDF: options, unique names, shapes of links."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import InitVar, dataclass, field
from pathlib import Path

from kinemorph._files import FileError, PathLike
from kinemorph._xml import Element
from kinemorph.geometry.shapes import Colour, Role, Shape
from kinemorph.io.file_warnings import FileWarnings
from kinemorph.io.link_merging import FileJoint, FileLink
from kinemorph.io.mesh_paths import MeshPaths


@dataclass
class Reading:
    """The options of a reader, where meshes are, and the warnings so far."""

    folder: InitVar[Path]
    floating: bool
    package_dirs: InitVar[Iterable[PathLike]]
    mesh_root: InitVar[PathLike | None]
    merge_fixed: bool
    gravity: Iterable[float]
    strict: InitVar[bool]
    paths: MeshPaths = field(init=False)
    warned: FileWarnings = field(init=False)

    def __post_init__(
        self, folder: Path, package_dirs: Iterable[PathLike], mesh_root: PathLike | None, strict: bool
    ) -> None:
        self.paths = MeshPaths(folder, package_dirs, None if mesh_root is None else Path(mesh_root))
        self.warned = FileWarnings(strict)


def new_name(element: Element, known: dict[str, FileLink] | dict[str, FileJoint]) -> str:
    """The name of a link or joint, which no other one has."""
    name = element.attribute("name")
    if name in known:
        raise element.error(f"there is already a {element.tag} of this name in line {known[name].element.line}")
    return name


def shapes_of(link: Element, make: Callable[[Element, Element], Shape | None]) -> list[Shape]:
    """The visual and collision shapes of a link; `make` gets each element and the shape in its geometry."""
    shapes = []
    for element in link.children:
        if element.tag not in (Role.VISUAL, Role.COLLISION):
            continue
        geometry = element.need("geometry")
        if len(geometry.children) != 1:
            raise geometry.error(f"it holds {len(geometry.children)} shapes; expected one")
        body = geometry.children[0]
        try:
            shape = make(element, body)
        except FileError:
            raise
        except ValueError as error:  # a size that is not positive
            raise body.error(str(error)) from None
        if shape is not None:
            shapes.append(shape)
    return shapes


def clipped_colour(rgba: Iterable[float]) -> Colour:
    """Red, green, blue and opacity, each from 0 to 1."""
    red, green, blue, opacity = (min(max(c, 0.0), 1.0) for c in rgba)
    return (red, green, blue, opacity)

"""Where the meshes of a model file are, and that no file can point outside the folders that are meant for it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path

from kinemorph._files import PathLike, quoted
from kinemorph._xml import Element
from kinemorph.io.file_warnings import FileWarnings

LONGEST_PATH = 1000  # characters of a path

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)
_DRIVE = re.compile(r"/[A-Za-z]:")


class MeshPaths:
    """Finds the mesh that a file in `folder` names.

    Every mesh must lie, with symbolic links followed, inside one of a few roots: `mesh_root` if there is one, else the
    package it names, the package directories, and the package (or the folder above) that the model file is in.
    """

    what, option = "meshes", "mesh_root"  # as errors call them

    def __init__(self, folder: Path, package_dirs: Iterable[PathLike], mesh_root: Path | None) -> None:
        self.folder = Path(os.path.abspath(folder))
        self.package_dirs = [Path(os.path.abspath(d)) for d in package_dirs]
        self.mesh_root = Path(os.path.abspath(mesh_root)) if mesh_root is not None else None

    @cached_property
    def roots(self) -> list[Path]:
        return [self.mesh_root] if self.mesh_root else [*self.package_dirs, self._own_root()]

    def find(self, element: Element, attribute: str, warned: FileWarnings) -> Path | None:
        """The path that an attribute names, or the element's text if attribute is "", whether there is a file or not.

        None if it is of another machine.
        """
        value = element.attribute(attribute).strip() if attribute else element.content()
        where = f"{attribute}={quoted(value)}" if attribute else quoted(value)
        if len(value) > LONGEST_PATH:
            raise element.error(f"{where}: a path of {len(value)} characters, the limit is {LONGEST_PATH}")
        match = _URI.fullmatch(value)
        scheme, rest = match.groups() if match else ("", value)
        rest = rest.replace("\\", "/")
        if scheme in ("package", "model"):
            candidates = list(self._in_packages(rest))
        elif scheme in ("", "file"):
            plain = Path(rest[1:] if _DRIVE.match(rest) else rest)
            places = [self.folder, *self.package_dirs, *([self.mesh_root] if self.mesh_root else [])]
            candidates = [(root, place / plain) for place in places for root in self.roots]
            if plain.is_absolute() and not os.path.exists(plain) and not _first_inside(candidates):
                warned.add("mesh", element, f"{where}: there is no such file on this machine; the shape is left out")
                return None
        else:
            raise element.error(f"{where}: {scheme}:// is not read; use package://, file:// or a path")
        return self._chosen(element, where, candidates)

    def inside(self, element: Element, where: str, path: str, *others: Path) -> Path:
        """A path that is relative to the model file, if it lies in one of the roots; `where` names it in the error.

        It may be relative to `others` as well, if there is nothing beside the model file.
        """
        plain = Path(path[1:] if _DRIVE.match(path) else path)
        places = [self.folder, *(Path(os.path.abspath(other)) for other in others)]
        return self._chosen(element, where, [(root, place / plain) for place in places for root in self.roots])

    def _chosen(self, element: Element, where: str, candidates: list[tuple[Path, Path]]) -> Path:
        # A file that exists wins; else the first place where it could be, so that loading it can say what is missing.
        found = [c for c in candidates if os.path.exists(c[1])] or candidates
        path = _first_inside(found)
        if path is None:
            raise element.error(
                f"{where}: this is outside the folders that {self.what} may come from "
                f"({', '.join(dict.fromkeys(str(root) for root, _ in found)) or self.folder}); "
                f"if it is meant, name a folder that holds it as {self.option}"
            )
        return path

    def _in_packages(self, rest: str) -> Iterator[tuple[Path, Path]]:
        """Pairs of a root and a path inside it, the likeliest first."""
        package, _, inside = rest.lstrip("/").partition("/")
        if package in ("", ".", ".."):
            return
        if self.mesh_root:
            yield self.mesh_root, self.mesh_root / package / inside
            yield self.mesh_root, self.mesh_root / inside
        for folder in self.package_dirs:
            yield self.mesh_root or folder, folder / package / inside
            if folder.name == package:
                yield self.mesh_root or folder, folder / inside
        for above in (self.folder, *self.folder.parents):
            if above.name == package:
                yield self.mesh_root or above, above / inside
            # Not beside the top of the file system: package://etc is no package.
            if above != above.parent and os.path.isdir(above / package):
                yield self.mesh_root or above / package, above / package / inside
        yield self.mesh_root or self.folder / package, self.folder / package / inside

    def _own_root(self) -> Path:
        """The package of the model file; without a package.xml, the folder that holds urdf/ and meshes/."""
        for above in (self.folder, *self.folder.parents):
            if above != above.parent and os.path.isfile(above / "package.xml"):
                return above
        above = self.folder.parent
        return above if above != above.parent else self.folder


def _first_inside(candidates: Iterable[tuple[Path, Path]]) -> Path | None:
    for root, path in candidates:
        real = Path(os.path.realpath(path))
        if real.is_relative_to(os.path.realpath(root)):
            return real
    return None

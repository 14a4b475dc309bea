"""What `kinemorph view` shows: a scene, a model file, a kept world or a recording, by name or by what is in a file."""

from __future__ import annotations

import warnings
import webbrowser
from pathlib import Path
from typing import Any

from kinemorph._files import FileError, ModelWarning
from kinemorph.io import kinds
from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.scene import load_scene, shipped
from kinemorph.view.film import MAGIC as FILM
from kinemorph.view.recording import Recording
from kinemorph.view.replay import replay
from kinemorph.view.viewer import has_screen, view
from kinemorph.world.journal import MAGIC as JOURNAL
from kinemorph.world.snapshot import MAGIC as SNAPSHOT
from kinemorph.world.world import World

MODELS = (".urdf", ".sdf", ".xml", ".mjcf")
ZIP = b"PK\x03\x04"  # what a recording (.npz) begins with


def show(what: str, seconds: float, port: int, browser: bool, paused: bool, floating: bool | None) -> None:
    """Show it until it is closed; a recording becomes a page beside it."""
    if not seconds > 0.0:
        raise ValueError(f"seconds {seconds} must be positive")
    path = Path(what)
    if path.is_file() and _head(path).startswith((ZIP, FILM)):
        page = replay(Recording.load(path), path.with_suffix(".html"))
        print(f"look at {page}")
        if browser and has_screen():
            webbrowser.open(page.resolve().as_uri())
        return
    world, _ = scene_of(what, floating)
    view(world, seconds=seconds, port=port, open_browser=browser, paused=paused)


def scene_of(what: str, floating: bool | None = None) -> tuple[World, Any]:
    """A world by the name of a demo or of a file, and what keeps its controllers alive."""
    if what in DEMOS:
        if not DEMOS[what].in_world:
            worlds = ", ".join(name for name, demo in DEMOS.items() if demo.in_world)
            raise ValueError(f"demo {what!r} has no world to look into, but these have: {worlds}")
        scene = DEMOS[what].make()
        return scene.world, scene
    path = Path(what)
    if what in shipped() or path.suffix.lower() == ".toml":
        scene = load_scene(what)
        return scene.world, scene
    if not path.is_file():
        raise FileNotFoundError(f"there is no demo and no file {what!r}; demos are {', '.join(DEMOS)}")
    head = _head(path)
    if head.startswith(SNAPSHOT):
        return World.load(path.read_bytes()), None
    if head.startswith(JOURNAL):
        return World.rerun(path), None
    if path.suffix.lower() not in MODELS:
        raise FileError(f"{path}: this is no scene (TOML), no model (URDF, SDF, MJCF), no kept world, and no recording")
    return world_of(path, floating), None


def world_of(path: Path, floating: bool | None = None) -> World:
    """A model on the ground."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        model = kinds.load(path, floating)
        world = World()
        if not model.floors:
            world.add_ground()
        world.add(model)
    return world


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)

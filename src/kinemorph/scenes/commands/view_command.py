"""The targets of `kinemorph view`, by name or by the content of a file.

Live: a scene, a model, a creature, a kept world. As a page: a recording, or the champions of a run.
"""

from __future__ import annotations

import math
import warnings
import webbrowser
from pathlib import Path
from typing import Any

from kinemorph._escaping import plain
from kinemorph._files import FileError, ModelWarning
from kinemorph.creatures.gallery import HANDMADE, ROOMY, handmade
from kinemorph.creatures.genotype.genotype import load_genotype
from kinemorph.creatures.growth.develop import develop
from kinemorph.evolve.trust import Trust
from kinemorph.geometry.ground import HalfSpace
from kinemorph.io import model_formats
from kinemorph.io.file_kind import MODELS as ROBOTS
from kinemorph.io.file_kind import FileKind, expect_kind
from kinemorph.multibody.algorithms.configuration import neutral
from kinemorph.scenes.bounce import live
from kinemorph.scenes.bounce.simulation import Bounce
from kinemorph.scenes.creatures.champions import replay_progress
from kinemorph.scenes.creatures.creature_pictures import stage
from kinemorph.scenes.files.scene import load_scene, read_scene, shipped
from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.robots.standing import about, add_standing_robot, load_standing, lowest_point
from kinemorph.view.live.server import check_port
from kinemorph.view.live.viewer import has_screen, view
from kinemorph.view.recordings.formats import is_recording
from kinemorph.view.recordings.recording import Recording
from kinemorph.view.replays.replay import replay
from kinemorph.world.persistence.journal import JOURNAL_MAGIC as JOURNAL
from kinemorph.world.persistence.snapshot import SNAPSHOT_MAGIC as SNAPSHOT
from kinemorph.world.world import World

MODELS = (".urdf", ".sdf", ".xml", ".mjcf")
SHOWN = (
    *ROBOTS, FileKind.SCENE, FileKind.GENOTYPE, FileKind.SNAPSHOT, FileKind.JOURNAL, FileKind.RECORDING, FileKind.RUN,
)  # fmt: skip
BOUNCE_NAME = "bounce"  # objects that are in no world: collision detection alone
RUN_FILE_MAGIC = b"SQLite f"  # what a run of evolution begins with


def show_target(
    what: str, seconds: float, port: int, browser: bool, paused: bool, floating: bool | None, hold: bool = True,
    trust: Trust = (),
) -> None:  # fmt: skip
    """Show it until it is closed; a recording becomes a page beside it, and a run one of its champions."""
    page = page_of(Path(what), trust)
    if page is not None:
        if browser and has_screen():
            webbrowser.open(page.resolve().as_uri())
        return
    if what == BOUNCE_NAME:
        live.show_live(Bounce(), seconds, port, browser, paused)
        return
    world, _ = scene_of(what, floating, hold)
    if Path(what).suffix.lower() in MODELS and world.bodies and model_formats.format_of(Path(what)) == "URDF":
        print(plain(f"{what}: {about(world, hold)}"))
    view(world, seconds=seconds, port=port, open_browser=browser, paused=paused)


def check_view_request(what: str, seconds: float, port: int = 0) -> None:
    """Say what is wrong with what was asked for, before anything is installed for it, or computed."""
    if not seconds > 0.0:
        raise ValueError(f"seconds {seconds} must be positive")
    check_port(port)
    path = Path(what)
    if what in DEMOS:
        if not DEMOS[what].in_world:
            worlds = ", ".join(name for name, demo in DEMOS.items() if demo.in_world)
            raise ValueError(f"demo {what!r} has no world to look into, but these have: {worlds}")
    elif what in shipped() or what in HANDMADE or what == BOUNCE_NAME:
        return
    elif not path.exists():
        if path.suffix.lower() in (*MODELS, ".toml", ".json"):
            raise FileError(f"{path}: there is no such file")
        raise FileError(
            f"there is no demo, no creature and no file {what!r}; demos are {', '.join(DEMOS)}, {BOUNCE_NAME}"
        )
    else:
        expect_kind(path, *SHOWN, wanted="something that can be looked at")
        if path.suffix.lower() == ".toml":
            read_scene(path)


def page_of(path: Path, trust: Trust = ()) -> Path | None:
    """The page that a recording or a run becomes, beside it; nothing for what can be looked at live."""
    if path.is_file() and _head(path).startswith(RUN_FILE_MAGIC):
        return replay_progress(path, trust)
    if is_recording(path):
        page = replay(Recording.load(path), path.with_suffix(".html"))
        print(plain(f"look at {page}"))
        return page
    return None


def scene_of(what: str, floating: bool | None = None, hold: bool = True) -> tuple[World, Any]:
    """A world by the name of a demo, of a creature or of a file, and what keeps its controllers alive."""
    check_view_request(what, math.inf)
    if what in DEMOS:
        scene = DEMOS[what].make()
        return scene.world, scene
    path = Path(what)
    if what in shipped() or path.suffix.lower() == ".toml":
        scene = load_scene(what)
        if not scene.world.bodies and not scene.world.registry.ground_shapes:
            raise FileError(f"{scene.file}: there is nothing in it to look at; give it a [[body]] or a [[figure]]")
        return scene.world, scene
    if what in HANDMADE or path.suffix.lower() == ".json":
        return stage(develop(handmade(what) if what in HANDMADE else load_genotype(path), ROOMY)), None
    head = _head(path)
    if head.startswith(SNAPSHOT):
        return World.load(path.read_bytes()), None
    if head.startswith(JOURNAL):
        return World.rerun(path), None
    if path.suffix.lower() not in MODELS:
        kinds_of = "scene (TOML), model (URDF, SDF, MJCF), creature (JSON), kept world, recording, or run of evolution"
        raise FileError(f"{path}: it is nothing that can be looked at: a {kinds_of}")
    return world_of(path, floating, hold), None


def world_of(path: Path, floating: bool | None = None, hold: bool = True) -> World:
    """A model on the ground; one of URDF as `standing` has it, which others say themselves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        urdf = model_formats.format_of(path) == "URDF"
        model = load_standing(path, floating) if urdf else model_formats.load(path, floating)
        world = World()
        if not model.floors:  # nothing is said of one, so it lies where nothing is buried in it
            low = 0.0 if urdf else min(0.0, lowest_point(model, neutral(model)))
            world.add_ground(HalfSpace((0.0, 0.0, 1.0), low))
        if urdf:
            add_standing_robot(world, model, hold)
        else:
            world.add(model)
    return world


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(8)

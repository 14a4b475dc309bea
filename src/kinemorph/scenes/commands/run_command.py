"""What `kinemorph run` does: a scene file, from its first step to figures, a recording, pictures and a replay."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kinemorph._escaping import in_terminal
from kinemorph._files import FileError
from kinemorph.jit.api import compile_count
from kinemorph.scenes.files.scene import Scene, load_scene, read_scene
from kinemorph.scenes.pictures.film_pictures import draw_film
from kinemorph.world.world import World, WorldError

PICTURES = 4  # of a strip, evenly over the run
LONGEST_RUN = 86400.0  # s


def check_run_request(what: str, seconds: float | None = None) -> None:
    """Say what is wrong with a file, before anything is installed for it, or computed."""
    if seconds is not None and not 0.0 < seconds <= LONGEST_RUN:
        raise ValueError(f"seconds {seconds} must be positive, and at most {LONGEST_RUN:g}")
    read_scene(what)


def run_scene(what: str, out: Path, seconds: float | None = None) -> dict[str, Any]:
    """Run a scene, leave its recording, pictures and replay in a folder, and return figures, as JSON has them."""
    check_run_request(what, seconds)
    scene = load_scene(what)
    if not scene.world.bodies:
        raise FileError(f"{scene.file}: there is nothing in it that moves; give it a [[body]] or a [[figure]]")
    out.mkdir(parents=True, exist_ok=True)  # if it cannot be, before all is computed
    before, began = energies(scene.world), time.perf_counter()
    compiled = compile_count().compiled
    name = scene.file.stem
    kept = out / f"{name}.npz"
    try:
        recording = scene.run(seconds)
    except WorldError as error:
        if scene.recording is None:
            raise
        scene.recording.save(kept)
        text = f"{error}; what was recorded until then is {kept}"
        raise WorldError(text, error.time, error.body) from error
    took, compiled = time.perf_counter() - began, compile_count().compiled - compiled
    recording.save(kept)
    camera = scene.table.camera
    times = np.linspace(0.0, scene.world.time, PICTURES).tolist()
    pictures, film = draw_film(
        recording, out, name, times, direction=camera.direction, size=camera.size, follow=camera.follow
    )
    files = {"recording": str(kept), "pictures": str(pictures), "replay": str(film)}
    return {**figure_lines(scene, before), "computed": took, "compiled": compiled, "files": files}


def energies(world: World) -> dict[str, float]:
    """J, kinetic and potential."""
    return {"kinetic": world.forest.kinetic_energy(), "potential": world.forest.potential_energy()}


def figure_lines(scene: Scene, before: dict[str, float]) -> dict[str, Any]:
    """What a scene has come to."""
    world = scene.world
    touches = world.contacts()
    return {
        "scene": scene.name,
        "about": scene.about,
        "seconds": world.time,
        "steps": round(world.time / world.dt),
        "bodies": len(world.bodies),
        "asleep": sum(body.asleep for body in world.bodies),
        "energy": {"start": before, "end": energies(world)},
        "contacts": len(touches),
        "deepest": max((-touch.distance for touch in touches), default=0.0),
        "events": {watch.event.name: watch.count for watch in world.monitors if watch.count},
        "changes": [
            {
                "time": h.time,
                "name": h.name,
                "what": h.what,
                "energy_lost": h.change.energy_lost if h.change else 0.0,
                "missed": h.missed,
            }
            for h in scene.happened
        ],
        "broken": [{"time": t, "joint": joint, "force": force} for t, joint, force in scene.broken],
        "digest": world.hash(),
    }


def print_figures(told: dict[str, Any], say: Callable[[str], None]) -> None:
    """The figures for people."""
    say(f"[bold]{in_terminal(told['scene'])}[/]{told['about'] and ': '}{in_terminal(told['about'])}")
    speed = told["seconds"] / told["computed"] if told["computed"] > 0.0 else math.inf
    compiling = ", compiling included" if told["compiled"] else ""
    say(f"{told['seconds']:g} s in {told['steps']} steps, {speed:.2g} times as fast as life{compiling}")
    for when in ("start", "end"):
        kinetic, potential = told["energy"][when]["kinetic"], told["energy"][when]["potential"]
        say(f"energy at the {when}: {kinetic:.6g} J kinetic, {potential:.6g} J potential")
    deep = f"{1e6 * told['deepest']:.0f} µm deep"
    say(f"{told['bodies']} bodies, {told['asleep']} asleep; {told['contacts']} contacts, at most {deep}")
    for change in told["changes"]:
        became = f"not made, {change['missed']}" if change["missed"] else f"{change['energy_lost']:.4g} J lost"
        say(in_terminal(f"  {change['time']:.3f} s  {change['name']}: {change['what']}, {became}"))
    for joint in told["broken"]:
        say(f"  {joint['time']:.3f} s  {in_terminal(joint['joint'])} bears {joint['force']:.0f} N, and breaks")
    files = told["files"]
    pictures, page, recording = (in_terminal(files[which]) for which in ("pictures", "replay", "recording"))
    say(f"\nlook at [bold]{pictures}[/] and [bold]{page}[/]; the recording is {recording}")

"""Commands that let something move, and leave pictures and pages of it, or show it live."""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from typing import Literal

from kinemorph.cli.json_output import print_json


def demo(
    name: str = "swing", /, out: Path = Path("out"), robot: str = "arm",
    contact: Literal["timestep", "impulse"] = "timestep", list: bool = False, json: bool = False,
) -> None:  # fmt: skip
    """Show what kinemorph does, and leave pictures.

    Args:
        name: Which demo; --list says which there are.
        out: Folder for the pictures.
        robot: Which robot swings: arm, a file of your own (URDF, SDF, MJCF), or one of the package example-robot-data:
            anymal, g1, human, panda, talos, ur5, or a name such as tiago_description/tiago.
        contact: How contact is made: by steps in time or, as in Fontijne's thesis, by impulses.
        list: Only say which demos there are, and what they show.
        json: The list as JSON.
    """
    from kinemorph._escaping import terminal
    from kinemorph._extras import require_view_extra
    from kinemorph._files import can_hold
    from kinemorph.io.file_kind import MODELS, expect_kind
    from kinemorph.scenes import gallery
    from kinemorph.scenes.robots.catalog import robot_file

    console = terminal()
    if json and not list:
        raise ValueError("demo: --json is for --list: a demo leaves pictures")
    if list and json:
        print_json({each: f"{shown.sentence} {shown.written}" for each, shown in gallery.DEMOS.items()})
        return
    if list:
        width = max(map(len, gallery.DEMOS))
        for each, shown in gallery.DEMOS.items():
            console.print(f"[bold]{each:{width}}[/]  {shown.sentence} [dim]{shown.written}[/]")
        return
    chosen = gallery.named(name)
    if robot != "arm" and name != "swing":
        raise ValueError(f"demo {name}: --robot is for the demo swing")
    settings = chosen.settings(name, contact) | ({"robot": robot} if name == "swing" else {})
    if robot != "arm":
        expect_kind(robot_file(robot), *MODELS, wanted="a robot (URDF, SDF or MJCF)")
    require_view_extra("demos")
    can_hold(out)
    chosen.show(out, console.print, **settings)


def run(
    scene: str, /, out: Path = Path("out"), seconds: float | None = None, json: bool = False
) -> None:  # fmt: skip
    """Run a scene file: figures, a recording, pictures and a replay.

    Args:
        scene: A TOML file, or the name of a scene that comes with kinemorph.
        out: Folder for what is left.
        seconds: How long (s); as the file says if not given.
        json: The figures as JSON.
    """
    from kinemorph._escaping import terminal
    from kinemorph._extras import require_view_extra
    from kinemorph._files import can_hold
    from kinemorph.io.file_kind import FileKind, expect_kind
    from kinemorph.scenes.commands import run_command as running

    if Path(scene).is_file():
        expect_kind(scene, FileKind.SCENE, wanted="a scene file")
    running.check_run_request(scene, seconds)
    require_view_extra("pictures and replays")
    can_hold(out)
    told = running.run_scene(scene, out, seconds)
    if json:
        print_json(told)
    else:
        running.print_figures(told, terminal().print)


def view(
    what: str = "gripper", /, seconds: float = math.inf, port: int = 0, browser: bool = True, paused: bool = False,
    floating: bool | None = None, hold: bool = True, trust: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Show something in a browser while it runs: a scene, a model file, a creature, a world that was kept, a recording.

    Args:
        what: A demo with a world (see demo --list), bounce, a scene file (TOML) or the name of one, a URDF, SDF or MJCF
            file, a creature (JSON, or the name of a handmade one), a snapshot or journal of a world; or a recording or
            film, which becomes a page beside it, or a run of evolution, which becomes its champions, side by side.
        seconds: When to end by itself (s).
        port: At which port of 127.0.0.1; any free one if not given.
        browser: Whether to open a browser, if there is a screen.
        paused: Whether to wait for the key P.
        floating: Whether the root of a URDF or SDF file moves freely. If it is not given, that of SDF does, and that of
            URDF if it has mass and carries more than a single arm.
        hold: Whether servos hold the joints of a URDF file; else they hang.
        trust: Modules, or files of Python, in which a task of your own is looked up that a run names.
    """
    from kinemorph._extras import require_view_extra
    from kinemorph.scenes.commands import view_command as viewing

    viewing.check_view_request(what, seconds, port)
    require_view_extra("viewers")
    viewing.show_target(what, seconds, port, browser, paused, floating, hold, trust)


def bounce(
    objects: int = 200,
    steps: int | None = None,
    updates: int | None = None,
    side: str | None = None,
    step_size: float = 0.01,
    seed: int = 0,
    replay: Path | None = None,
    live: bool = False,
    json: bool = False,
) -> None:
    """Let objects of six shapes and three sizes bounce, and check the collision detection while they do.

    Args:
        objects: How many there are.
        steps: How many steps to make; or
        updates: how many updates of pairs by V-Clip (1000000 if neither is given).
        side: Side of the world, a cube (m), or three of a box, such as 12,8,4; by default 3 m times the cube root of
            their number.
        step_size: How far a step goes (s).
        seed: Of everything that is random.
        replay: Instead of numbers, write this HTML file, with a picture beside it: the objects, their boxes, tiles and
            closest features.
        live: Instead of numbers, show them in a browser while they move, until the page's button close or Ctrl-C.
        json: The numbers as JSON.
    """
    from kinemorph._extras import require_view_extra
    from kinemorph._files import can_hold
    from kinemorph.scenes.bounce import table as bounce_table

    if json and (live or replay is not None):
        raise ValueError("bounce: --json is for numbers, which --replay and --live do not make")
    sides = None if side is None else _lengths(side)
    if live:
        require_view_extra("viewers")
        from kinemorph.scenes.bounce import live as bounce_live
        from kinemorph.scenes.bounce.simulation import Bounce

        bounce_live.show_live(Bounce(objects, sides, step_size, seed))
        return
    if replay is not None:
        require_view_extra("replays")
        can_hold(replay.parent)
        bounce_table.film_bounce(replay, objects, 1000 if steps is None else steps, sides, step_size, seed)
        return
    report = bounce_table.run_with_progress(objects, steps, updates, sides, step_size, seed)
    if json:
        print_json({"good": report.good, "seed": seed, **vars(report)})
    else:
        bounce_table.show_table(report, seed)
    if not report.good:
        sys.exit(1)


def _lengths(told: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(word) for word in told.split(",")]
    except ValueError:
        raise ValueError(f"bounce: --side {told}: expected a length in m, or three of them such as 12,8,4") from None


def mocap(
    file: Path | None = None,
    /,
    mass: float = 70.0,
    height: float | None = None,
    sex: str = "male",
    table: str = "de Leva",
    unit: float | None = None,
    up: str | None = None,
    skeleton: str | None = None,
    cutoff: float | Literal["residuals"] = 6.0,
    contacts: Path | None = None,
    friction: float = 0.8,
    hips: str = "recorded",
    out: Path = Path("out"),
) -> None:
    """Find joint moments, ground forces and centres of pressure of a recorded motion, and leave tables and pictures.

    Args:
        file: A BVH file; a walk that comes with kinemorph if not given.
        mass: Of the recorded person (kg).
        height: To which the skeleton is scaled (m); else its unit is inferred.
        sex: male or female, for the table of masses.
        table: of masses: "de Leva", "Winter" or "Dumas".
        unit: Of lengths in the file (m).
        up: The axis that points up: y or z; inferred if not given.
        skeleton: How joints are called: mixamo, cmu, biovision, asf, smpl, or a TOML file.
        cutoff: Of the filter (Hz); 0 for none, residuals for the best one of the residual analysis.
        contacts: A CSV file with lines "left,0.52,1.13": when which foot stands (s).
        friction: Coefficient of friction of the floor.
        hips: recorded, calibrated by how far knees of healthy walkers are bent, or moved forward and up by lengths (m)
            such as --hips=-0.02,0.01; four of them are those of the left hip and of the right one.
        out: Folder for the results.
    """
    from kinemorph import mocap as capture
    from kinemorph._escaping import in_terminal, lines, terminal
    from kinemorph._extras import require_view_extra
    from kinemorph._files import can_hold
    from kinemorph.io.file_kind import FileKind, expect_kind

    source = file or capture.walk_file()
    expect_kind(source, FileKind.MOTION, wanted="a BVH motion")
    if contacts is not None:
        expect_kind(contacts, FileKind.TABLE, wanted="a table of contacts (CSV)")
    if skeleton is not None and Path(skeleton).is_file():
        expect_kind(skeleton, wanted="a table of joints (TOML)")
    require_view_extra("plots and replays")
    can_hold(out)
    console = terminal()
    start = time.perf_counter()
    analysis = capture.analyse(
        source, mass, height, sex, table, unit=unit, up=up, skeleton=skeleton, cutoff=cutoff or None,
        contacts=contacts, friction=friction, hips=_hips(hips),
    )  # fmt: skip
    console.print(f"[bold]{in_terminal(source)}[/]: {len(analysis.t)} frames in {time.perf_counter() - start:.2f} s")
    console.print(lines(analysis.summary()), markup=False)
    out.mkdir(parents=True, exist_ok=True)
    results, curves, stances, film = (
        out / f"{source.stem}{end}" for end in (".csv", ".png", "_stances.png", "_replay.html")
    )
    capture.save(analysis, results)
    capture.plot(analysis, curves)
    capture.plot_stances(analysis, stances)
    capture.replay(analysis, film)
    first = ", ".join(f"[bold]{in_terminal(path)}[/]" for path in (results, curves, stances))
    console.print(f"\nlook at {first} and [bold]{in_terminal(film)}[/]")


def _hips(told: str) -> str | tuple[float, float] | dict[str, tuple[float, float]]:
    """The value of --hips: a word, or two or four lengths."""
    try:
        numbers = [float(word) for word in told.split(",")]
    except ValueError:
        return told
    if len(numbers) == 4:
        return {"left": (numbers[0], numbers[1]), "right": (numbers[2], numbers[3])}
    if len(numbers) != 2:
        raise ValueError(f"--hips {told}: give two lengths, forward and up, or four, of the left hip and the right one")
    return numbers[0], numbers[1]


def thesis(
    figures: tuple[str, ...] = (),
    /,
    out: Path = Path("out"),
    population: int | None = None,
    generations: int | None = None,
    seed: int = 1,
    workers: int | None = None,
) -> None:
    """Do the experiments of Fontijne's thesis: what collision detection costs and, with the contact model "impulse", a
    cube that rests and a wall that stands; or the evolutions of its figures 4.6a, 4.6b and 4.7. Ctrl-C ends one
    cleanly; the same command goes on.

    Args:
        figures: fig4.6a, fig4.6b, fig4.7; without one, the experiments of its chapters 2 and 3.
        out: Folder for the tables and plots, and for the runs of evolutions.
        population: Of an evolution, how many there are in a generation; by default 300, as in the thesis.
        generations: Of an evolution, how many; by default 200 for fig4.6a, else 100.
        seed: Of everything that is random in an evolution.
        workers: How many compute an evolution at a time; by default one for each core.
    """
    from kinemorph._extras import require_view_extra
    from kinemorph._files import can_hold
    from kinemorph.scenes.thesis import evolution_experiment
    from kinemorph.scenes.thesis import experiments as experiments

    evolution_experiment.look_for(figures)
    if not figures and (population, generations, seed, workers) != (None, None, 1, None):
        raise ValueError("thesis: --population, --generations, --seed and --workers are for figures of evolutions")
    settings = [evolution_experiment.settings_of(one, population, generations, seed, workers) for one in figures]
    require_view_extra("plots")
    can_hold(out)
    if not figures:
        experiments.thesis(out, print)
    for one, of in zip(figures, settings):
        evolution_experiment.evolve(one, of, out)

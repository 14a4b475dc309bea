"""The command `kinemorph`: see, convert, analyse and check, in one line each. --version says which one it is.

Exit codes: 0 all is well, 1 a check has failed, 2 an argument or a file is wrong, 3 an extra is not installed, 130
interrupted.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal


def demo(
    name: str = "swing", /, out: Path = Path("out"), robot: str = "arm", list: bool = False, json: bool = False
) -> None:
    """Show what kinemorph does, and leave pictures.

    Args:
        name: Which demo; --list says which there are.
        out: Folder for the pictures.
        robot: Which robot swings: arm, a file of your own (URDF, SDF, MJCF), or one of the package example-robot-data:
            anymal, g1, human, panda, talos, ur5, or a name such as tiago_description/tiago.
        list: Only say which demos there are, and what they show.
        json: The list as JSON.
    """
    from rich.console import Console

    from kinemorph._extras import need_view
    from kinemorph._files import can_hold
    from kinemorph.scenes import gallery

    console = Console(highlight=False, soft_wrap=True)
    if json and not list:
        raise ValueError("demo: --json is for --list: a demo leaves pictures")
    if list and json:
        _print_json({each: f"{shown.sentence} {shown.written}" for each, shown in gallery.DEMOS.items()})
        return
    if list:
        width = max(map(len, gallery.DEMOS))
        for each, shown in gallery.DEMOS.items():
            console.print(f"[bold]{each:{width}}[/]  {shown.sentence} [dim]{shown.written}[/]")
        return
    chosen = gallery.named(name)
    if robot != "arm" and name != "swing":
        raise ValueError(f"demo {name}: --robot is for the demo swing")
    need_view("demos")
    can_hold(out)
    chosen.show(out, console.print, **({"robot": robot} if name == "swing" else {}))


def bounce(
    objects: int = 200,
    steps: int | None = None,
    updates: int | None = None,
    side: float | None = None,
    step_size: float = 0.01,
    seed: int = 0,
    replay: Path | None = None,
) -> None:
    """Let objects of six shapes and three sizes bounce, and check the collision detection while they do.

    Args:
        objects: How many there are.
        steps: How many steps to make; or
        updates: how many updates of pairs by V-Clip (1000000 if neither is given).
        side: Side of the world, a cube (m); by default 3 m times the cube root of their number.
        step_size: How far a step goes (s).
        seed: Of everything that is random.
        replay: Instead of numbers, write this HTML file: the objects, their boxes, tiles and closest features.
    """
    from kinemorph._files import can_hold
    from kinemorph.scenes import bounce_table

    if replay is not None:
        can_hold(replay.parent)
        bounce_table.film(replay, objects, steps or 1000, side, step_size, seed)
    elif not bounce_table.numbers(objects, steps, updates, side, step_size, seed):
        sys.exit(1)


def convert(
    source: Path, target: Path, /, ignore: tuple[str, ...] = (), floating: bool | None = None, json: bool = False
) -> None:
    """Read a model file, MJCF, URDF, SDF or a creature, and write it as another kind: .xml (MJCF), .urdf or .sdf.

    Args:
        source: The file to read. What it says of itself decides how; a genotype, a JSON file, becomes a creature with a
            drive for each joint.
        target: The file to write. The end of its name decides how; meshes go into a folder beside it.
        ignore: What is left out of an MJCF file that has more than a model can have, such as tendon.
        floating: Whether the root of a URDF or SDF file moves freely.
        json: Say what was written, and what was left out, as JSON.
    """
    import warnings

    from kinemorph.io import kinds

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = kinds.load(source, floating, ignore)
        written = kinds.save(model, target)
    if json:
        counts = {"links": model.n, "nq": model.nq, "nv": model.nv, "loops": len(model.loops)}
        notes = [str(warning.message) for warning in said]
        _print_json({"written": str(written), "name": model.name, **counts, "mass": model.mass, "warnings": notes})
        return
    for warning in said:
        print(f"kinemorph: {warning.message}", file=sys.stderr)
    print(f"{written}: {model}")


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
        mass: Of the one who was recorded (kg).
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
    from rich.console import Console

    from kinemorph import mocap as capture
    from kinemorph._extras import need_view
    from kinemorph._files import can_hold

    need_view("plots and replays")
    can_hold(out)
    console = Console(highlight=False, soft_wrap=True)
    source = file or capture.walk_file()
    start = time.perf_counter()
    analysis = capture.analyse(
        source, mass, height, sex, table, unit=unit, up=up, skeleton=skeleton, cutoff=cutoff or None,
        contacts=contacts, friction=friction, hips=_hips(hips),
    )  # fmt: skip
    console.print(f"[bold]{source}[/]: {len(analysis.t)} frames in {time.perf_counter() - start:.2f} s", markup=True)
    console.print(analysis.summary(), markup=False)
    out.mkdir(parents=True, exist_ok=True)
    results, curves, stances, film = (
        out / f"{source.stem}{end}" for end in (".csv", ".png", "_stances.png", "_replay.html")
    )
    capture.save(analysis, results)
    capture.plot(analysis, curves)
    capture.plot_stances(analysis, stances)
    capture.replay(analysis, film)
    console.print(f"\nlook at [bold]{results}[/], [bold]{curves}[/], [bold]{stances}[/] and [bold]{film}[/]")


def _hips(told: str) -> str | tuple[float, float] | dict[str, tuple[float, float]]:
    """What is said of hips: a word, or two or four lengths."""
    try:
        numbers = [float(word) for word in told.split(",")]
    except ValueError:
        return told
    if len(numbers) == 4:
        return {"left": (numbers[0], numbers[1]), "right": (numbers[2], numbers[3])}
    if len(numbers) != 2:
        raise ValueError(f"--hips {told}: give two lengths, forward and up, or four, of the left hip and the right one")
    return numbers[0], numbers[1]


def thesis(out: Path = Path("out")) -> None:
    """Do the experiments of Fontijne's thesis with the contact model "impulse": a cube that rests, a wall that stands.

    Args:
        out: Folder for the tables and plots.
    """
    from kinemorph._extras import need_view
    from kinemorph._files import can_hold
    from kinemorph.scenes import thesis as experiments

    need_view("plots")
    can_hold(out)
    experiments.thesis(out, print)


def evolve(
    task: str | None = None,
    /,
    search: str | None = None,
    population: int | None = None,
    generations: int | None = None,
    episodes: int | None = None,
    seed: int | None = None,
    workers: int | None = None,
    evaluator: Literal["serial", "processes", "ray"] | None = None,
    address: str | None = None,
    out: Path | None = None,
    resume: Path | None = None,
) -> None:
    """Evolve creatures for a task. Ctrl-C ends it cleanly; --resume goes on with it, to the same end.

    Args:
        task: Its name, module:name of a problem of your own, or a TOML file with settings.
        search: default, steady, thesis, sims, random, map-elites, or module:name of your own.
        population: How many there are in a generation. Before the first one, default, steady and map-elites try 300
            founders, or as many as a fifth of --episodes pays for; founders in a TOML file says how many.
        generations: After how many it ends; or
        episodes: after how many evaluations, whichever comes first.
        seed: Of everything that is random.
        workers: How many compute at a time; by default one for each core.
        evaluator: Who computes: this process, others on this machine, or a Ray cluster.
        address: Of a Ray cluster that is there already, such as auto or 10.0.0.1:6379.
        out: The file that keeps the run; by default out/TASK-SEARCH-SEED.db.
        resume: Such a file, to go on with.
    """
    from kinemorph.evolve import command

    budget = {"generations": generations, "episodes": episodes}
    given = {"search": search, "seed": seed, "workers": workers, "evaluator": evaluator, "address": address}
    command.evolve(task, given | {"budget": budget, "of_search": {"population": population}}, out, resume)


def rescore(run: Path, /, generation: int | None = None, rank: int = 0, draws: int = 64) -> None:
    """Judge a champion again: on draws that no search saw, at half the step, blind, limp by parts; walkers in MuJoCo.

    Args:
        run: The file that `kinemorph evolve` made.
        generation: Out of which it came; the last one if not given.
        rank: Its place there; 0 is the best.
        draws: How many.
    """
    from kinemorph.evolve import command
    from kinemorph.scenes import in_mujoco

    command.rescore(run, generation, rank, draws, in_mujoco.walks(), in_mujoco.absent())


def results(
    table: Path,
    /,
    runs: Path = Path("out/results"),
    out: Path = Path("docs/results"),
    workers: int | None = None,
    evaluator: Literal["serial", "processes", "ray"] = "processes",
) -> None:
    """Run all experiments that a table asks for, and write their page, again after each. Broken off, it goes on.

    Args:
        table: A TOML file: which tasks, by which searches, with which seeds and budgets.
        runs: Folder of the runs.
        out: Folder of the page, its curves, numbers and champions.
        workers: How many compute at a time; by default one for each core.
        evaluator: Who computes: this process, others on this machine, or a Ray cluster.
    """
    from kinemorph._extras import need_view
    from kinemorph.scenes import results as tables

    need_view("plots")
    tables.results(table, runs, out, {"workers": workers, "evaluator": evaluator})


def report(runs: tuple[Path, ...], /, out: Path = Path("out/evolution.html")) -> None:
    """Make one offline page of runs: all their curves, champions that move, descent, rejects, what scores rest on.

    Args:
        runs: Files that `kinemorph evolve` made.
        out: The HTML file. Beside each run goes a CSV file with its descent.
    """
    from kinemorph.scenes import champions

    champions.report_runs(list(runs), out)


def replay(
    runs: tuple[Path, ...],
    /,
    generation: tuple[int, ...] = (),
    rank: int = 0,
    draw: int = 0,
    behind: bool = False,
    out: Path | None = None,
) -> None:
    """Let champions live again, bit for bit, and leave a replay that plays in any browser.

    Args:
        runs: Files that `kinemorph evolve` made; those of several are shown side by side.
        generation: Out of which they came; the last one if not given. Those of several are shown side by side.
        rank: Their place there; 0 is the best.
        draw: Which of the draws that no search saw.
        behind: Show them front to back, the first one in front.
        out: The HTML file; by default beside the first run.
    """
    from kinemorph.scenes import champions

    champions.replay_champions(runs, generation, rank, draw, behind, out)


def creature() -> None:
    """Make a random creature, show one, or try very many: creature random, creature show, creature trial."""


def creature_show(file: Path, /, out: Path = Path("out"), seconds: float = 5.0) -> None:
    """Show a creature: its picture, how it moves on the ground, and its brain.

    Args:
        file: The genotype, a JSON file, or the name of a handmade one: segments, spider, quadruped, worm, hand.
        out: Folder for the picture, the replay and the graph.
        seconds: How long the replay is (s).
    """
    from kinemorph._extras import need_view
    from kinemorph._files import can_hold
    from kinemorph.scenes import creatures

    need_view("pictures and replays")
    can_hold(out)
    if not 0.0 < seconds < math.inf:
        raise ValueError(f"creature show: seconds {seconds} must be positive")
    creatures.show(file, out, seconds, print)


def creature_random(seed: int = 0, out: Path | None = None, founder: bool = False) -> None:
    """Make a random creature, and write its genotype as JSON. Other seeds follow until one may live.

    Args:
        seed: Of everything that is random; a creature that would be rejected at birth is not taken.
        out: File to write; without one, the genotype is printed.
        founder: Draw it as searches draw theirs: long limbs, and effectors that are wired.
    """
    from kinemorph import creatures
    from kinemorph._files import can_hold

    if seed < 0:
        raise ValueError(f"creature random: seed {seed} must not be negative")
    if out is not None:
        can_hold(out.parent)
    draw = creatures.founder if founder else creatures.random_genotype
    while (grown := creatures.develop(draw(seed))).rejected:
        print(f"kinemorph: seed {seed} is rejected: {grown.rejected}", file=sys.stderr)
        seed += 1
    if out is None:
        print(grown.genotype.to_json())
    else:
        print(f"{creatures.save_genotype(grown.genotype, out)}: {grown}")


def creature_trial(count: int = 100_000, seed: int = 0, first: int = 0, seconds: float = 1.0) -> None:
    """Grow random, mutated, crossed and grafted genotypes, let them live for a task, and count what became of them.

    Args:
        count: How many genotypes.
        seed: Of everything that is random.
        first: Number of the first one: a seed and a number make the same creature again.
        seconds: How long those live that may (s).
    """
    from kinemorph.scenes import creature_trial

    if count < 1 or min(seed, first) < 0 or not 0.0 < seconds < math.inf:
        said = f"count {count} and seconds {seconds} must be positive, seed {seed} and first {first} not negative"
        raise ValueError(f"creature trial: {said}")
    if creature_trial.trial(count, seed, first, seconds)["FAILED"]:
        raise SystemExit(1)


def view(
    what: str = "gripper", /, seconds: float = math.inf, port: int = 0, browser: bool = True, paused: bool = False,
    floating: bool | None = None,
) -> None:  # fmt: skip
    """Show something in a browser while it runs: a scene, a model file, a world that was kept, or a recording.

    Args:
        what: A demo with a world (see demo --list), a scene file (TOML) or the name of one, a URDF, SDF or MJCF file, a
            snapshot or journal of a world, or a recording or film, which becomes a page beside it.
        seconds: When to end by itself (s).
        port: At which port of 127.0.0.1; any free one if not given.
        browser: Whether to open a browser, if there is a screen.
        paused: Whether to wait for the key P.
        floating: Whether the root of a URDF or SDF file moves freely.
    """
    from kinemorph._extras import need_view
    from kinemorph.scenes import viewing

    need_view("viewers")
    viewing.show(what, seconds, port, browser, paused, floating)


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
    from rich.console import Console

    from kinemorph._extras import need_view
    from kinemorph._files import can_hold
    from kinemorph.scenes import running

    need_view("pictures and replays")
    can_hold(out)
    told = running.run(scene, out, seconds)
    if json:
        _print_json(told)
    else:
        running.tell(told, Console(highlight=False, soft_wrap=True).print)


def warm(all: bool = False, jobs: int | None = None) -> None:
    """Compile kernels now, all at once, instead of each when it is first called: what README, manual and demos call.

    Args:
        all: The rest too: batches of states, and the tasks of benchmarks.
        jobs: How many processes to compile in; by default one for each core.
    """
    from kinemorph.scenes import warming_bar

    if not warming_bar.run(all, jobs):
        sys.exit(1)


def doctor(json: bool = False) -> None:
    """Say what is installed, what is not compiled yet, and check that it computes correctly.

    Args:
        json: Say it as JSON.
    """
    from kinemorph.scenes import checkup

    if not checkup.run(_print_json if json else None):
        sys.exit(1)


def _print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2))


COMMANDS: dict[str, Callable[..., Any]] = {
    "bounce": bounce,
    "convert": convert,
    "creature": creature,
    "demo": demo,
    "doctor": doctor,
    "evolve": evolve,
    "mocap": mocap,
    "replay": replay,
    "report": report,
    "rescore": rescore,
    "results": results,
    "run": run,
    "thesis": thesis,
    "view": view,
    "warm": warm,
}
CREATURES: dict[str, Callable[..., Any]] = {  # what follows `kinemorph creature`
    "random": creature_random,
    "show": creature_show,
    "trial": creature_trial,
}


def main() -> None:
    from kinemorph import __version__
    from kinemorph._command_line import understood
    from kinemorph._extras import MissingExtraError

    words = sys.argv[1:]
    if words in (["--version"], ["-V"]):
        print(f"kinemorph {__version__}")
        return
    try:
        if words[:1] == ["creature"]:
            understood(CREATURES, words[1:], "kinemorph creature", creature.__doc__)()
        else:
            understood(COMMANDS, words, "kinemorph", __doc__)()
    except MissingExtraError as error:
        print(f"kinemorph: {error}", file=sys.stderr)
        sys.exit(3)
    except KeyboardInterrupt:
        print("kinemorph: interrupted", file=sys.stderr)
        sys.exit(130)
    except (ValueError, KeyError, OSError, ImportError, RuntimeError, ArithmeticError) as error:
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        if isinstance(error, OSError) and error.filename is not None and error.strerror:
            message = f"{error.filename}: {error.strerror.lower()}"
        print(f"kinemorph: {message}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

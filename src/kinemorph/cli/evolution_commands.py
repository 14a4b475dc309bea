"""Commands on creatures that evolve: runs, and what is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from kinemorph.cli.json_output import print_json


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
    initial: tuple[Path, ...] = (),
    out: Path | None = None,
    resume: Path | None = None,
    trust: tuple[str, ...] = (),
    json: bool = False,
) -> None:
    """Evolve creatures for a task. Ctrl-C ends it cleanly; --resume goes on with it, to the same end.

    Args:
        task: Its name, module:name of a problem of your own, or a TOML file with settings.
        search: default, steady, thesis, sims, random, map-elites, or module:name of your own.
        population: How many there are in a generation; default and steady go by --episodes. Before the first one
            these try founders for a tenth of --episodes, 300 at least if a fifth pays for them, and map-elites 300;
            founders in a TOML file says how many.
        generations: After how many it ends; or
        episodes: after how many evaluations, whichever comes first. The default search ends with a vote, and takes
            some two hundred however few are given.
        seed: Of everything that is random.
        workers: How many compute at a time; by default one for each core.
        evaluator: Where episodes run: this process, others on this machine, or a Ray cluster.
        address: Of a Ray cluster that is there already, such as auto or 10.0.0.1:6379.
        initial: Genotypes (JSON) that the first generation begins with, and runs, whose last generation does; founders
            fill the rest of it. The run keeps them.
        out: The file that keeps the run; by default out/TASK-SEARCH-SEED.db.
        resume: Such a file, to go on with.
        trust: Modules, or files of Python, in which a task or search that a file names as module:name is looked up.
        json: What came of it as JSON; how far it is goes to standard error.
    """
    from kinemorph.evolve import command
    from kinemorph.io.file_kind import FileKind, expect_kind

    if task is not None and Path(task).is_file():
        expect_kind(task, FileKind.SEARCH, wanted="a task, or a file with settings of a search")
    if resume is not None:
        expect_kind(resume, FileKind.RUN, wanted="a run to go on with")
    budget = {"generations": generations, "episodes": episodes}
    given = {"search": search, "seed": seed, "workers": workers, "evaluator": evaluator, "address": address}
    groups = {"budget": budget, "of_search": {"population": population}}
    begins = {"initial": [str(file) for file in initial] or None}
    command.run_evolve(
        task, given | groups | begins, out, resume,
        print_json if json else None, trust,
    )  # fmt: skip


def rescore(
    run: Path, /, generation: int | None = None, rank: int = 0, draws: int = 64, trust: tuple[str, ...] = (),
    json: bool = False,
) -> None:  # fmt: skip
    """Judge a champion again: unseen draws, half the step, blind, without parts or neurons; walkers in MuJoCo, too.

    Args:
        run: The file that `kinemorph evolve` made.
        generation: Out of which it came; the last one if not given.
        rank: Its place there; 0 is the best.
        draws: How many, at most 4096: hours of lives.
        trust: Modules, or files of Python, in which a task of your own is looked up that a run names.
        json: The table as JSON.
    """
    from kinemorph.evolve import command
    from kinemorph.io.file_kind import FileKind, expect_kind
    from kinemorph.scenes.creatures import in_mujoco

    expect_kind(run, FileKind.RUN, wanted="a run of evolution")
    tell = print_json if json else None
    command.run_rescore(run, generation, rank, draws, in_mujoco.walks(), in_mujoco.mujoco_missing_reason(), tell, trust)


def results(
    table: Path,
    /,
    runs: Path = Path("out/results"),
    out: Path = Path("docs/results"),
    workers: int | None = None,
    evaluator: Literal["serial", "processes", "ray"] = "processes",
    trust: tuple[str, ...] = (),
) -> None:
    """Run all experiments that a table asks for, and write their page, again after each. Broken off, it goes on.

    Args:
        table: A TOML file: which tasks, by which searches, with which seeds and budgets.
        runs: Folder of the runs.
        out: Folder of the page, its curves, numbers and champions.
        workers: How many compute at a time; by default one for each core.
        evaluator: Where episodes run: this process, others on this machine, or a Ray cluster.
        trust: Modules, or files of Python, in which a task or search of your own is looked up that the table names.
    """
    from kinemorph._extras import require_view_extra
    from kinemorph.io.file_kind import FileKind, expect_kind
    from kinemorph.scenes.creatures import results as tables

    expect_kind(table, FileKind.TABLE_OF_RUNS, wanted="a table of experiments")
    require_view_extra("plots")
    tables.results(table, runs, out, {"workers": workers, "evaluator": evaluator}, trust)


def report(
    runs: tuple[Path, ...], /, out: Path = Path("out/evolution.html"), trust: tuple[str, ...] = ()
) -> None:  # fmt: skip
    """Make one offline page of runs: all their curves, champions that move, descent, rejects, what scores rest on.

    Args:
        runs: Files that `kinemorph evolve` made.
        out: The HTML file. Beside each run goes a CSV file with its descent.
        trust: Modules, or files of Python, in which a task of your own is looked up that a run names.
    """
    from kinemorph.io.file_kind import FileKind, expect_kind_of_all
    from kinemorph.scenes.creatures import champions

    expect_kind_of_all(runs, FileKind.RUN, wanted="a run of evolution")
    champions.report_runs(list(runs), out, trust)


def replay(
    runs: tuple[Path, ...],
    /,
    generation: tuple[int, ...] = (),
    rank: int = 0,
    draw: int = 0,
    behind: bool = False,
    out: Path | None = None,
    trust: tuple[str, ...] = (),
) -> None:
    """Let champions live again, bit for bit, and leave a replay that plays in any browser.

    Args:
        runs: Files that `kinemorph evolve` made; those of several are shown side by side.
        generation: Out of which they came; the last one if not given. Those of several are shown side by side.
        rank: Their place there; 0 is the best.
        draw: Which of the draws that no search saw.
        behind: Show them front to back, the first one in front.
        out: The HTML file; by default beside the first run.
        trust: Modules, or files of Python, in which a task of your own is looked up that a run names.
    """
    from kinemorph.io.file_kind import FileKind, expect_kind_of_all
    from kinemorph.scenes.creatures import champions

    expect_kind_of_all(runs, FileKind.RUN, wanted="a run of evolution")
    champions.replay_champions(runs, generation, rank, draw, behind, out, trust)

"""The output of `kinemorph bounce`: progress while it runs, and a table of numbers."""

from __future__ import annotations

from pathlib import Path

from kinemorph._escaping import in_terminal, terminal
from kinemorph.scenes.bounce.simulation import MOST_UPDATES, Bounce, Report, Sides, run
from kinemorph.spatial.arguments.checks import check_whole

UPDATES = 1_000_000  # by default


def run_with_progress(
    objects: int, steps: int | None, updates: int | None, side: Sides | None, step_size: float, seed: int
) -> Report:
    """Run it, and show how far it is meanwhile."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    if (steps is not None and steps < 1) or (updates is not None and updates < 1):
        raise ValueError(f"bounce: {steps if updates is None else updates} is no number of steps or updates to make")
    if steps is None and updates is None:
        updates = UPDATES
    world = Bounce(objects, side, step_size, seed)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("left:"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(f"{objects} objects", total=updates or steps)

        def watch(world: Bounce, report: Report) -> None:
            progress.update(bar, completed=world.steps if updates is None else world.updates)

        return run(world, steps or MOST_UPDATES, updates or MOST_UPDATES, watch=watch)


def show_table(report: Report, seed: int) -> None:
    from rich.table import Table

    n = report.numbers
    broad, narrow, rest = report.shares
    table = Table(
        title=f"bounce: {report.count} objects in a box of {' x '.join(f'{side:.4g}' for side in report.sides)} m, "
        f"seed {seed}",
        show_header=False,
    )
    table.add_column("what")
    table.add_column("how much", justify="right")
    for what, value in (
        ("steps", f"{report.steps:,}"),
        ("pairs in a step", f"{report.pairs:,.1f}"),
        ("pairs made", f"{n['made']:,}"),
        ("updates of pairs by V-Clip", f"{n['updates']:,}"),
        ("V-Clip steps in an update", f"{n['walked'] / max(n['updates'], 1):.4f}"),
        ("fallbacks", f"{n['fallbacks']:,}"),
        ("depths that are upper bounds only", f"{n['rough']:,}"),
        ("penetrations answered by a bounce", f"{n['bounces']:,}"),
        ("hulls of tori opened", f"{n['opened']:,}"),
        ("steps checked", f"{report.checks:,}"),
        ("  pairs of boxes missed", f"{report.missed:,}"),
        ("  steps with an invalid hash", f"{report.invalid:,}"),
        ("  distances proved, and not", f"{report.proved:,}, {report.wrong:,}"),
        ("  largest error of a distance", f"{report.worst:.0e} m"),
        ("time", f"{report.seconds:.2f} s"),
        ("updates a second", f"{n['updates'] / max(report.seconds, 1e-9):,.0f}"),
        ("time for boxes and hash, motion and V-Clip, bounces", f"{broad:.0%}, {narrow:.0%}, {rest:.0%}"),
    ):
        table.add_row(what, value)
    terminal(soft_wrap=False).print(table)


def film_bounce(file: Path, objects: int, steps: int, side: Sides | None, step_size: float, seed: int) -> None:
    from kinemorph.scenes.bounce.replay import record

    check_whole("bounce: steps", steps, 1)
    file.parent.mkdir(parents=True, exist_ok=True)
    world = Bounce(objects, side, step_size, seed)
    record(world, steps, file)
    terminal(soft_wrap=False).print(
        f"{objects} objects, {world.steps} steps, {world.numbers['pairs']} pairs at the end\n"
        f"look at [bold]{in_terminal(file)}[/]: boxes, tiles and closest features can be shown and hidden in its scene "
        "tree"
    )

"""The page of a table of experiments: every seed, medians, curves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from math import comb
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kinemorph._escaping import in_plot
from kinemorph._files import write_whole

ORDER = ("default", "steady", "map-elites", "sims", "thesis", "random")
UNITS = {
    "hit-ball": "hit or not", "hit-ball-anywhere": "share of places that are hit",
    "jump-up": "clearance of the lowest point, in body heights",
    "jump-away": "clearance of the lowest point, in body heights",
    "locomotion": "body lengths a second", "follow": "share of the time at the target",
}  # fmt: skip
TICKS = (0, 1000, 2000, 3000, 4000, 5000, 10_000, 20_000, 50_000, 100_000)  # evaluations
COLOURS = ("#c8553d", "#588b8b", "#7d5ba6", "#8a9a5b", "#4a6fa5", "#888888")
SEEDS = 15  # of a row that is claimed, at least: of six more, four were worse than the worst of five
SURE = 0.9  # with which the median of all seeds there are is in an interval
PAGE_HEAD = """# Results of evolution

Made by `kinemorph results docs/results/table.toml`, which says what was run. Every seed is shown. Beside a median is
the interval between two of the seeds' results, as many from the lowest as from the highest, that holds the median of
all seeds there could be with a probability of at least 90 %, whatever their distribution (order statistics; from the
binomial distribution: with 15 seeds the 4th and the 12th, with 5 the lowest and the highest, with 4 or fewer none).
Medians of fewer than 15 seeds are not in bold type: they are no claims.

A champion is what the search itself names at its end; it is judged on 64 draws that no search and no tuning has seen.
What is rejected counts as nothing. *Half the step* and *MuJoCo* are shares of the measure that are kept there;
*blanked* is the measure with senses that read nothing, *limp* with motors off; *rejected* is the share of all lives of
the search, with the most frequent reason. `random` draws the founders of `default`, with their routes from senses to
effectors, again and again; `thesis` and `sims` have the creatures and operators of the thesis.
"""

NAMES = (
    "search", "evaluations", "seeds", "median", "90 % interval", "half the step", "MuJoCo", "blanked", "limp",
    "rejected", "heritability", "lives a CPU-second",
)  # fmt: skip

Record = dict[str, Any]


class PageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A target for the default search: medians over a number of seeds."""

    task: str
    episodes: int
    measure: float  # at least
    seeds: int = SEEDS
    kept: float = 0.0  # at least this share of the measure at half the step, and in MuJoCo
    blanked: float | None = None  # less than this with senses that read nothing


def write_page(known: dict[str, Record], out: Path, asked: Sequence[PageRequest] = ()) -> None:
    """`index.md` and a picture for each task, of all that is known; and what of it was asked for."""
    text = [PAGE_HEAD] + ([_answers(known, asked)] if asked else [])
    for task, some in groupby(sorted(known.values(), key=lambda one: str(one["task"])), lambda one: one["task"]):
        records = list(some)
        picture = _draw(task, records, out)
        text += [f"## {task}\n", f"Measure: {UNITS.get(task, 'as the task says')}.\n", _table(records)]
        text += [f"![Measure on draws that the search never saw, by evaluations: {task}]({picture})\n"]
    write_whole(out / "index.md", "\n".join(text).encode())


def _answers(known: dict[str, Record], asked: Sequence[PageRequest]) -> str:
    """A table of targets and results; missing runs do not count."""
    lines: list[tuple[str, ...]] = [("task", "evaluations", "asked", "found", ""), ("---",) * 5]
    for one in asked:
        some = [each for each in known.values() if (each["task"], each["episodes"]) == (one.task, one.episodes)]
        records = [each for each in some if each["search"] == "default"]
        bounds = [("median", one.measure, True, [_measure(each) for each in records])]
        for condition in ("half the step", "in MuJoCo") if one.kept else ():
            bounds += [(f"kept {condition}", one.kept, True, _shares(records, condition))]
        if one.blanked is not None:
            bounds += [("blanked", one.blanked, False, [_measure(each, "sensors blanked") for each in records])]
        wants = [f"{name} {'at least' if least else 'below'} {bound:g}" for name, bound, least, _ in bounds]
        found = [f"{np.median(values):.2f}" if values else "none" for *_, values in bounds]
        if ends := interval(bounds[0][-1]):
            found[0] += f" ({ends[0]:.2f} to {ends[1]:.2f})"
        good = all(values and (np.median(values) >= bound) == least for _, bound, least, values in bounds)
        said = "reached" if good else "**not reached**"
        if good and ends and ends[0] < one.measure:
            said = "reached by the median, not by its interval"
        if len(records) < one.seeds:
            said = f"{len(records)} of {one.seeds} seeds made"
        lines.append((one.task, f"{one.episodes}", ", ".join(wants), ", ".join(found), said))
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"## What is asked of the default search\n\nMedians over seeds; of the first, 90 % intervals.\n\n{table}\n"


def _table(records: list[Record]) -> str:
    lines: list[tuple[str, ...]] = [NAMES, ("---",) * len(NAMES)]
    for (search, episodes), group in _groups(records):
        one = sorted(group, key=lambda record: record["seed"])
        measures = [_measure(each) for each in one]
        median, ends = f"{np.median(measures):.2f}", interval(measures)
        lines.append((
            f"`{search}`", f"{episodes}", ", ".join(f"{each:.2f}" for each in measures),
            f"**{median}**" if len(one) >= SEEDS else median, f"{ends[0]:.2f} to {ends[1]:.2f}" if ends else "",
            _kept_share_text(one, "half the step"), _kept_share_text(one, "in MuJoCo"), _median(one, "sensors blanked"),
            _median(one, "motors off"), _rejected(one), _middle(each["heritability"] for each in one),
            _middle(each.get("rate") for each in one),
        ))  # fmt: skip
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Two of the values between which the median of what they are drawn from is, with a probability of SURE at least.

    That k of n values at most are below it has the probability of a binomial distribution of a half. None, if there
    are too few of them.
    """
    n, k = len(values), 0
    while 2 * sum(comb(n, i) for i in range(k + 1)) <= (1.0 - SURE) * 2**n:
        k += 1  # as many may be left out at each end
    ordered = sorted(values)
    return (ordered[k - 1], ordered[n - k]) if k else None


def _groups(records: list[Record]) -> list[tuple[tuple[str, int], list[Record]]]:
    def key(one: Record) -> tuple[int, int, str]:
        search = str(one["search"])
        return int(one["episodes"]), ORDER.index(search) if search in ORDER else len(ORDER), search

    return [((search, n), list(group)) for (n, _, search), group in groupby(sorted(records, key=key), key)]


def _measure(one: Record, condition: str = "held out") -> float:
    return float(one["conditions"][condition]["measure"])


def _median(records: list[Record], condition: str) -> str:
    return _middle(_measure(one, condition) for one in records if condition in one["conditions"])


def _kept_share_text(records: list[Record], condition: str) -> str:
    found = _shares(records, condition)
    return f"{100.0 * float(np.median(found)):.0f} %" if found else ""


def _shares(records: list[Record], condition: str) -> list[float]:
    """The shares of the measure that are kept under a condition, of those that measure anything."""
    return [
        _measure(one, condition) / _measure(one)
        for one in records
        if condition in one["conditions"] and _measure(one) > 1e-3
    ]


def _middle(values: Iterable[float | None]) -> str:
    found = [value for value in values if value is not None]
    return f"{round(float(np.median(found)), 4):.4g}" if found else ""


def _rejected(records: list[Record]) -> str:
    shares: Counter[str] = Counter()
    for one in records:
        shares.update({reason: share / len(records) for reason, share in one["rejected"].items()})
    most = shares.most_common(1)
    return f"{100.0 * sum(shares.values()):.0f} % ({most[0][0]})" if most else "0 %"


def _draw(task: str, records: list[Record], out: Path) -> str:
    """Curves of all seeds, and a dot for the champion of each; dotted where numbers were tuned and champions voted."""
    from matplotlib.figure import Figure

    figure = Figure((7.6, 3.6), layout="constrained")
    axes = figure.subplots()
    searches = sorted({one["search"] for one in records}, key=lambda name: (*ORDER, name).index(name))
    for place, search in enumerate(searches):
        some = [one for one in records if one["search"] == search]
        colour = COLOURS[(*ORDER, search).index(search) % len(COLOURS)]
        for k, one in enumerate(some):
            curve = np.array(one["curve"], float).reshape(-1, 2)
            axes.plot(*curve.T, color=colour, alpha=0.35, lw=0.8)
            end = one["episodes"], _measure(one)
            axes.plot(*zip(*curve[-1:], end), ":", color=colour, alpha=0.35, lw=0.8)
            size = max(2.0, 7.0 - 1.5 * place)  # equal results are rings around each other
            axes.plot(*end, "o", color=colour, ms=size, label=in_plot(search) if k == 0 else None)
    axes.set(xlabel="evaluations", ylabel=UNITS.get(task, "measure"), title=in_plot(task))
    axes.set_xscale("symlog", linthresh=5000)
    axes.set_xticks([n for n in TICKS if n <= max(one["episodes"] for one in records)], minor=False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside right center", frameon=False)
    figure.savefig(out / f"{task}.png", dpi=110)
    return f"{task}.png"

"""The tables of README and manual that are made, not written: of the command, and of what benchmarks measured.

    python tools/tables.py [--check] [--here]

A page says `<!-- table: NAME WORDS -->`, and what is between that and `<!-- end -->` is made anew. With --check nothing
is written, and the exit code is 1 if a page is not as it would be made. With --here the machine that runs this is noted
as the one that measured: `make performance` does so after its benchmarks, whose rows are in docs/results/benchmarks.
"""

from __future__ import annotations

import inspect
import json
import math
import platform
import re
import sys
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results" / "benchmarks"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(<!-- table: ([^>]+?) -->\n).*?(<!-- end -->)", re.DOTALL)
PEERS = "kinemorph", "numba", "numpy", "pin", "mujoco-core", "coal"
MISSING = "Not measured yet: `make performance`."


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    heads = list(heads)
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


# ---------------------------------------------------------------------------------------------------------- benchmarks


def measured(name: str) -> list[dict[str, Any]]:
    """The rows of a benchmark, if it was measured."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text("utf-8")) if file.exists() else []


def number(x: float | None) -> str:
    """A number as people read it; nothing, if there is none."""
    if x is None:
        return ""
    return f"{x:.3g}" if 1e-4 <= abs(x) < 1e5 or x == 0.0 else f"{x:.1e}"


def brief(x: float) -> str:
    """A time to two digits."""
    return f"{x:.0f}" if x >= 10.0 else f"{x:#.2g}"


def ratio(x: float | None) -> str:
    return "" if x is None else f"{x:.2f}" if x < 100.0 else f"{x:.0f}" if x < 1e5 else f"{x:.0e}"


def benchmark(name: str, *words: str) -> str:
    """All rows of a benchmark, or those whose metric has one of some words."""
    rows = [row for row in measured(name) if not words or any(word in row["metric"] for word in words)]
    if not rows:
        return MISSING
    peers = any(row["peer"] is not None for row in rows)
    exact = any(row["accuracy"] is not None for row in rows)
    heads = [
        "case",
        "metric",
        "ours",
        *(["peer", "ratio"] if peers else []),
        *(["accuracy"] if exact else []),
        "peer is",
    ]
    return table(heads, (
        [row["case"], row["metric"], number(row["ours"])]
        + ([number(row["peer"]), ratio(row["ratio"])] if peers else [])
        + (["" if row["accuracy"] is None else f"{row['accuracy']:.0e}"] if exact else [])
        + [row["peer_name"]]
        for row in rows
    ))  # fmt: skip


SPEED = {
    "forward dynamics, `km.aba`": ("dynamics", "aba call", "Pinocchio, from Python", "Pinocchio's wheel"),
    "inverse dynamics, `km.rnea`": ("dynamics", "rnea call", "Pinocchio, from Python", "Pinocchio's wheel"),
    "mass matrix, `km.crba`": ("dynamics", "crba call", "Pinocchio, from Python", "Pinocchio's wheel"),
    "a state of a batch, `km.batch.aba`": ("batch", "aba, 1 thread", "Pinocchio InParallel", "its `abaInParallel`"),
}


def speed() -> str:
    """Robot by robot: ours, the peer's, and how many times as long that takes."""
    robots = {row["case"].partition(" ")[0]: row["case"] for row in measured("dynamics") if "(nv" in row["case"]}
    rows = []
    for what, (name, metric, peer, called) in SPEED.items():
        found = {
            row["case"].partition(" ")[0]: row
            for row in measured(name)
            if row["metric"] == metric and row["peer_name"] == peer
        }
        rows.append([what, *(brief(found[r]["ours"]) if r in found else "" for r in robots)])
        cells = (f"{brief(found[r]['peer'])} ({found[r]['ratio']:.1f}x)" if r in found else "" for r in robots)
        rows.append([called, *cells])
    heads = ["", *(f"{robot} ({re.sub(r'[^0-9]', '', case.partition('(nv')[2])})" for robot, case in robots.items())]
    return table(heads, rows) if robots else MISSING


def contact() -> str:
    """Scene by scene, in steps of 2 ms: ours, MuJoCo's, how many times as long that takes; nothing, if not known."""
    found = {
        row["case"].rpartition(", ")[0]: row
        for row in measured("world")
        if row["metric"] == "a step" and row["case"].endswith(", 2 ms") and row["peer_name"].startswith("MuJoCo")
    }
    if not found:
        return ""
    ours = ["a step of 2 ms, `world.step`", *(brief(row["ours"]) for row in found.values())]
    theirs = ["MuJoCo", *(f"{brief(row['peer'])} ({row['ratio']:.1f}x)" for row in found.values())]
    return "Bodies in contact:\n\n" + table(["", *found], [ours, theirs])


def plot(name: str, *words: str) -> str:
    """A picture that a benchmark has drawn."""
    if not (ROOT / "docs" / "_static" / f"{name}.png").exists():
        return MISSING
    return f"![{' '.join(words)}](_static/{name}.png)"


def crash() -> str:
    """Fig. 3.13 of Fontijne's thesis: seconds of computing for one of motion, by contact model."""
    found: dict[str, dict[str, Any]] = {}
    for row in measured("crash"):
        found.setdefault(row["case"], {})[row["metric"]] = row
    if not found:
        return MISSING
    lines = []
    for model, rows in found.items():
        *_, last = rows.values()
        lines.append([model, *(f"{row['ours']:.3f}" for row in rows.values()), number(last["peer"])])
    made = table(["contact model", *rows, "the thesis, all of it"], lines)
    return f"{made}\n\nThe best of five runs, one core of {last['machine']}."


ENGINES = re.compile("Pinocchio|MuJoCo|coal|constraintDynamics")
EDITS = {"re-root call": "poses through a re-root", "connect": "both sides of a new joint", "cut": ""}


def worst(rows: Iterable[tuple[str, str, float, str]]) -> str:
    """The largest of the errors of each thing and case."""
    found: dict[tuple[str, str], tuple[float, str]] = {}
    for what, case, error, peer in rows:
        found[what, case] = max(found.get((what, case), (-1.0, "")), (error, peer))
    peers = any(peer for _, peer in found.values())
    heads = ["", "case", "largest difference", *["beside"] * peers]
    lines = ([what, case, f"{error:.0e}", *[peer] * peers] for (what, case), (error, peer) in found.items())
    return table(heads, lines) if found else MISSING


def agreement() -> str:
    """How far results are from other engines', at most."""
    return worst(
        (name, row["case"], row["accuracy"], row["peer_name"].partition(";")[0])
        for name in ("dynamics", "batch", "structure", "collision", "ground", "files")
        for row in measured(name)
        if row["accuracy"] is not None and ENGINES.search(row["peer_name"])
        if "rollout" not in row["metric"] and row["metric"] not in EDITS
    )


def consistency() -> str:
    """How far results are from what they must be by themselves, at most."""
    trees = (
        ("inverse dynamics of forward dynamics", row["case"], row["accuracy"], "")
        for row in measured("dynamics")
        if "links" in row["case"]
    )
    edits = (
        (EDITS[row["metric"]], row["case"], row["accuracy"], "")
        for row in measured("structure")
        if row["metric"] in EDITS and row["metric"] != "cut"
    )
    return worst((*trees, *edits))


def machine() -> str:
    """What the figures were measured on."""
    file = RESULTS / "machine.json"
    told = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return (
        f"Measured on {told['processor']}, {told['python']}, {told['packages']}; {told['date']}." if told else MISSING
    )


def note_machine() -> None:
    from importlib.metadata import version

    from kinemorph.scenes.commands.doctor_command import cpu_name

    told = {
        "processor": cpu_name(),
        "python": f"Python {platform.python_version()}",
        "packages": ", ".join(f"{name} {version(name)}" for name in PEERS),
        "date": date.today().isoformat(),
    }
    (RESULTS / "machine.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")


# ---------------------------------------------------------------------------------------------------------------- gait

GAIT = {  # quantities by columns, and digits behind the point
    "knee bent at strike, in loading, least later": (0, "knee at strike", "knee in loading", "knee least later"),
    "vertical force / weight": (2, "force first", "force valley", "force second"),
    "hip: extension, flexion": (1, "hip extension", "hip flexion"),
    "knee: extension": (1, "knee extension"),
    "ankle: plantar flexion": (1, "ankle plantar flexion"),
}


def gait_norms() -> str:
    """What is normal, pace by pace: mean and standard deviation."""
    from kinemorph.mocap.normal_gait import PACES, norms, sources

    every = {(source, pace): norms(pace, source) for source in sources() for pace in PACES}
    heads = ["", *(f"{source}, {pace}" for source, pace in every)]
    return table(heads, (
        [name, *(f"{n[name].mean:g} ± {n[name].deviation:g}" if name in n else "" for n in every.values())]
        for name in norms("natural")
    ))  # fmt: skip


COUNTED = {  # what is counted together
    "knee at strike and least later (what is fitted)": ("knee at strike", "knee least later"),
    "knee in loading": ("knee in loading",),
    "vertical force, three peaks": ("force first", "force valley", "force second"),
    "hip, extension and flexion": ("hip extension", "hip flexion"),
    "knee, first extension": ("knee extension",),
    "ankle, plantar flexion": ("ankle plantar flexion",),
}


def walkers() -> list[dict[str, Any]]:
    file = RESULTS / "gait.json"
    return json.loads(file.read_text("utf-8"))["subjects"] if file.exists() else []


def normal(told: dict[str, Any], hips: str, name: str) -> bool:
    """Whether a peak of a walker is within two deviations."""
    from kinemorph.mocap.normal_gait import norms

    norm = norms(told["pace"])[name]
    return bool(norm.low <= told[hips][name] <= norm.high)


def gait() -> str:
    """Walks of CMU's library, with hips as recorded and, below, calibrated; what is beyond two deviations is bold."""
    rows = []
    for told in walkers():
        for hips in ("recorded", "calibrated"):
            cells = []
            for digits, *names in GAIT.values():
                shown = [(f"{told[hips][name]:.{digits}f}", normal(told, hips, str(name))) for name in names]
                cells.append(", ".join(x if usual else f"**{x}**" for x, usual in shown))
            shifts = "; ".join(f"{round(1e3 * x):+d}, {round(1e3 * z):+d}" for x, z in told["hips"].values())
            seen = "\\*" * told["stars"]
            who = f"{told['subject']}{seen} ({told['stances']}), {told['speed']:.1f} m/s, {told['pace']}"
            rows.append([who, "recorded", *cells] if hips == "recorded" else ["", shifts, *cells])
    return table(["subject (stances)", "hips: forward, up [mm]", *GAIT], rows) if rows else MISSING


def gait_counts() -> str:
    """How many of these peaks are beyond two deviations."""
    every = walkers()
    starred = {stars: [told for told in every if told["stars"] == stars] for stars in (1, 2)}
    moments = [name for what, names in COUNTED.items() if "tension" in what or "plantar" in what for name in names]
    groups = [(what, [*names], every) for what, names in COUNTED.items()]
    groups.append(("all moments", moments, every))
    groups += [
        (f"all moments of subjects with {'a star' if n == 1 else 'two'}", moments, x) for n, x in starred.items()
    ]
    rows = []
    for what, names, them in groups:
        beyond = [
            sum(not normal(told, hips, name) for told in them for name in names) for hips in ("recorded", "calibrated")
        ]
        rows.append([what, str(len(names) * len(them)), *map(str, beyond)])
    return table(["beyond two deviations", "of", "recorded", "calibrated"], rows) if every else MISSING


# ------------------------------------------------------------------------------------------------------------- command


def commands() -> str:
    """A section for each command: how it is called, what it does, and all that it takes."""
    from kinemorph import cli

    every = cli.COMMANDS | {f"creature {name}": function for name, function in cli.CREATURES.items()}
    return "\n\n".join(section(name, every[name]) for name in sorted(every) if name != "creature")


def section(name: str, function: Callable[..., Any]) -> str:
    told, _, meanings = inspect.cleandoc(function.__doc__ or "").partition("Args:\n")
    means = dict(re.findall(r"^    (\w+): (.*(?:\n        .*)*)", meanings, re.MULTILINE))
    parameters = inspect.signature(function).parameters.values()
    taken = [p for p in parameters if p.kind is p.POSITIONAL_ONLY]
    options = [p for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    usage = " ".join([f"kinemorph {name}", *map(place, taken), *(["[options]"] if options else [])])
    rows = [
        [f"`{place(p) if p in taken else option(p)}`", default(p), " ".join(means[p.name].split())]
        for p in (*taken, *options)
    ]
    lines = [f"### {name}", f"`{usage}`", " ".join(told.split())]
    return "\n\n".join([*lines, table(["", "default", "means"], rows)] if rows else lines)


def place(p: inspect.Parameter) -> str:
    name = p.name.upper()
    many = " ..." if "tuple" in str(p.annotation) else ""
    return f"{name}{many}" if p.default is p.empty else f"[{name}]"


def option(p: inspect.Parameter) -> str:
    name = p.name.replace("_", "-")
    kind = str(p.annotation)
    if p.default is True:
        return f"--no-{name}"
    if kind == "bool":
        return f"--{name}"
    if kind == "bool | None":
        return f"--{name} True|False"
    if choices := re.match(r"Literal\[(.*?)\]", kind):
        return f"--{name} {choices[1].replace(chr(34), '').replace(', ', '|')}"
    words = {"Path": "FILE", "int": "N", "float": "X", "str": "NAME", "tuple": "NAME ..."}
    shown = next((words[word] for word in words if kind.startswith(word)), "VALUE")
    return f"--{name} {'FOLDER' if p.default == Path('out') else shown}"


def default(p: inspect.Parameter) -> str:
    if p.default in (p.empty, None, ()) or isinstance(p.default, bool):
        return ""
    return "`∞`" if p.default == math.inf else f"`{p.default}`"


# ------------------------------------------------------------------------------------------------------------- gallery


def gallery() -> str:
    """A section for each demonstration: its sentence, how to see it, and its picture. Replays are added when built."""
    from kinemorph.scenes.gallery import DEMOS

    sections = []
    for name, demo in DEMOS.items():
        files = [f"{demo.picture}.png", f"world_{demo.picture}.png"]
        (picture,) = [f"_static/{file}" for file in files if (ROOT / "docs" / "_static" / file).exists()]
        live = f", `kinemorph view {name}`" if demo.in_world else ""
        sections.append(f"## {name}\n\n{demo.sentence} `kinemorph demo {name}`{live}.\n\n![{demo.sentence}]({picture})")
    return "\n\n".join(sections)


# --------------------------------------------------------------------------------------------------------------- pages

TABLES: dict[str, Callable[..., str]] = {
    "agreement": agreement,
    "benchmark": benchmark,
    "commands": commands,
    "consistency": consistency,
    "contact": contact,
    "crash": crash,
    "gallery": gallery,
    "gait": gait,
    "gait_counts": gait_counts,
    "gait_norms": gait_norms,
    "machine": machine,
    "plot": plot,
    "speed": speed,
}


def made(text: str) -> str:
    """A page with its tables made anew."""

    def block(found: re.Match[str]) -> str:
        name, *words = found[2].split()
        return f"{found[1]}\n{TABLES[name](*words)}\n\n{found[3]}"

    return BLOCK.sub(block, text)


def stale() -> list[Path]:
    """Pages that are not as they would be made."""
    return [page for page in PAGES if made(page.read_text("utf-8")) != page.read_text("utf-8")]


def main() -> None:
    if "--here" in sys.argv:
        note_machine()
    for page in stale():
        print(page.relative_to(ROOT))
        if "--check" in sys.argv:
            sys.exit(1)
        page.write_text(made(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

"""Walks of CMU's library beside normal gait, with hips as recorded and calibrated: python -m benchmarks.gait FOLDER

FOLDER has BVH files such as 07_01.bvh, in itself or below it: CMU's library in Bruce Hahne's conversion. Only those
that are named here are taken. With --json docs/results/benchmarks/gait.json and --plot docs/_static/mocap_gait.png, and
then `make tables`, the page docs/gait.md is made anew. Without a FOLDER it is the walk that comes with kinemorph, and
its picture is docs/_static/mocap_own.png.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

import kinemorph as km
from benchmarks.measure import arguments
from kinemorph.mocap.gait_comparison import PEAKS, Walking, is_walk
from kinemorph.mocap.normal_gait import norms
from kinemorph.view.pictures.plots import empty_figure

SEEN = {  # the subjects whose walks were looked at when the calibration was made
    "02": ["01", "02"], "07": ["01", "02", "03"], "08": ["01", "02", "03"], "12": ["01", "02", "03"],
    "16": ["15", "16", "31", "32"], "35": ["01", "02", "03"],
}  # fmt: skip
UNSEEN = {  # others whose trials the index calls walk, walking, walk forward or normal walk
    "05": ["01"], "06": ["01"], "10": ["04"], "26": ["01"], "27": ["01"], "29": ["01"], "32": ["01", "02"],
    "38": ["01", "02"], "39": ["01", "02", "03"], "43": ["01"], "45": ["01"], "46": ["01"], "49": ["01"],
    "55": ["04"], "69": ["01", "02", "03"], "81": ["02", "03"], "82": ["11", "13"], "91": ["29", "31", "34"],
    "136": ["20", "21", "22"], "137": ["29"], "141": ["19", "25"], "143": ["32"], "144": ["33"],
}  # fmt: skip
LATER = {  # and those that nobody had looked at before the load of both feet was shared by their centre of pressure
    "20": ["04", "05"], "21": ["04", "05"], "47": ["01"], "90": ["22", "23"], "93": ["07"],
    "104": ["02", "19"], "111": ["34", "35"], "113": ["25"], "114": ["13", "15"],
    "133": ["21", "22", "23"], "139": ["28", "30"],
}  # fmt: skip
FEWEST = 4  # whole stances of a subject
TITLES = {
    "flexion": "knee flexion [degrees]", "force": "vertical force / weight", "thigh": "hip extension [N m/kg]",
    "shank": "knee extension [N m/kg]", "foot": "plantar flexion [N m/kg]",
}  # fmt: skip


def row_of(subject: str, files: list[Path]) -> tuple[dict[str, object], Walking, Walking]:
    """A subject's walks with hips as recorded and calibrated: what is told of them, and their curves."""
    recorded = [km.mocap.analyse(file, methods=("smooth",)) for file in files]
    for analysis in recorded:
        if not is_walk(analysis):
            raise ValueError(f"{analysis.model.name} is no steady walk: somebody stops, turns, strolls or runs")
    before = km.mocap.walking_of(*recorded)
    if before.stances < FEWEST:
        raise ValueError(f"{before.stances} whole stances are too few")
    hips = km.mocap.calibrate_hips(*recorded)
    calibrated = [km.mocap.analyse(file, methods=("smooth",), hips=hips) for file in files]
    after = km.mocap.walking_of(*calibrated)
    drawn = np.concatenate([
        np.linalg.norm(one.ankles[side] - other.ankles[side], axis=1)[one.contacts.feet[side] & one.reliable]
        for one, other in zip(recorded, calibrated, strict=True) for side in one.ankles
    ])  # fmt: skip
    row = {
        "subject": subject, "stars": (subject in UNSEEN) + 2 * (subject in LATER), "trials": len(files),
        "stances": before.stances,
        "feet moved [mm]": [round(1e3 * float(np.sqrt((drawn**2).mean())), 1), round(1e3 * float(drawn.max()), 1)],
        "speed": round(before.speed, 2), "pace": before.pace, "hips": {k: list(v) for k, v in hips.items()},
        "recorded": {name: round(x, 5) for name, x in before.values.items()},
        "calibrated": {name: round(x, 5) for name, x in after.values.items()},
    }  # fmt: skip
    return row, before, after


def told(walking: Walking) -> str:
    return ", ".join(f"{x:.3g}{'!' if name in walking.outside else ''}" for name, x in walking.values.items())


def plot(rows: Mapping[str, Sequence[Walking]], file: Path) -> None:
    """Mean curves of all subjects, in a row for each way to analyse them; boxes are normal peaks, natural pace."""
    figure = empty_figure(13.0, 2.8 * len(rows))
    axes = figure.subplots(len(rows), len(TITLES), sharex=True, sharey="col", squeeze=False)
    for row, (what, walkings) in enumerate(rows.items()):
        for axis, (curve, title) in zip(axes[row], TITLES.items(), strict=True):
            for walking in walkings:
                axis.plot(walking.curves[curve], linewidth=0.9, alpha=0.8)
            for name, (where, first, last, _) in PEAKS.items():
                if where == curve:
                    norm = norms("natural")[name]
                    axis.fill_between([first, max(last, first + 4)], norm.low, norm.high, color="0.5", alpha=0.25, lw=0)
            axis.set_title(title if row == 0 else "", fontsize=10)
            axis.grid(color="0.92")
            axis.spines[["top", "right"]].set_visible(False)
        axes[row][0].set_ylabel(what)
    for axis in axes[-1]:
        axis.set_xlabel("stance [%]")
    figure.savefig(file, dpi=80)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw all curves into a PNG file")
    options = parser.parse_args()
    if options.folder is None:
        own = km.mocap.walking_of(km.mocap.analyse(km.mocap.walk_file()))
        print(f"{own.judgement()}\n{told(own)}")
        if options.plot:
            plot({"the walk of kinemorph": [own]}, options.plot)
        return
    rows, walkings, without = [], [], {}
    for subject, trials in (SEEN | UNSEEN | LATER).items():
        found = [next(options.folder.rglob(f"{subject}_{trial}.bvh"), None) for trial in trials]
        files = [file for file in found if file is not None]
        try:
            if not files:
                raise ValueError("there is no such file")
            row, *both = row_of(subject, files)
        except ValueError as error:
            without[subject] = str(error)
            print(f"{subject}: left out: {error}", flush=True)
            continue
        rows.append(row)
        walkings.append((both[0], both[1]))
        moved = ", ".join(f"{side} {1e3 * x:+.0f} {1e3 * z:+.0f}" for side, (x, z) in row["hips"].items())
        print(f"{subject} {row['speed']} m/s {row['pace']}, {row['stances']} stances; hips [mm]: {moved}")
        print(f"  ankles of feet that stand are moved by {row['feet moved [mm]']} mm (rms, at most)")
        print(f"  recorded:   {told(both[0])}\n  calibrated: {told(both[1])}", flush=True)
    for which in ("recorded", "calibrated"):
        beyond = [len(pair[which == "calibrated"].outside) for pair in walkings]
        print(f"{which}: {int(np.sum(beyond))} of {len(PEAKS) * len(rows)} are beyond two standard deviations")
    if options.json:
        options.json.write_text(json.dumps({"subjects": rows, "left out": without}, indent=1) + "\n", "utf-8")
    if options.plot:
        recorded, calibrated = zip(*walkings, strict=True)
        plot({"hips as recorded": recorded, "hips calibrated": calibrated}, options.plot)


if __name__ == "__main__":
    main()

"""How objects look in a notebook: a picture and a few numbers, in HTML that makes no requests."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from kinemorph._escaping import in_html
from kinemorph._extras import MissingExtraError
from kinemorph.view.pictures.raster import Image

SIZE = 420, 300
COLOURS = "#4878a8", "#d97f3e", "#5a9e5a", "#b05a6e", "#8064a8"


def html_card(title: str, rows: dict[str, Any], image: Image | None = None, below: str = "") -> str:
    """A title, a table and a picture beside it, with what is below that."""
    cells = ((in_html(name), in_html(value)) for name, value in rows.items())
    lines = "".join(f'<tr><td style="white-space:nowrap">{name}</td><td>{value}</td></tr>' for name, value in cells)
    shown = ""
    if image is not None:
        from kinemorph.view.pictures.picture import png_of

        shown = f'<img alt="" src="data:image/png;base64,{base64.b64encode(png_of(image)).decode()}">'
    return (
        '<div style="display:flex;gap:1em;align-items:flex-start">'
        f"<div><b>{in_html(title)}</b><table>{lines}</table></div><div>{shown}{below}</div></div>"
    )


def model_html(model: Any) -> str:
    """A model at rest."""
    from kinemorph.multibody.algorithms.configuration import neutral
    from kinemorph.view.pictures.picture import picture

    rows = {"links": model.n, "nq": model.nq, "nv": model.nv, "loops": len(model.loops), "mass": f"{model.mass:.4g} kg"}
    image = picture(model, neutral(model), size=SIZE) if _can_be_seen(model) else None
    return html_card(f"Model {model.name!r}", rows, image)


def recording_html(recording: Any) -> str:
    """A recording: its end, and what happened."""
    rows = {"bodies": len(recording.bodies), "frames": len(recording.t)}
    rows |= {f"{chapter.t:.3g} s": chapter.what for chapter in recording.chapters[:12]}
    return html_card(f"Recording {recording.name!r}", rows, _last_picture(recording))


def log_html(log: Any) -> str:
    """A simulation: the start, a change, the end; energies over time; and what happened."""
    from kinemorph.view.pictures.picture import picture

    if not log.stretches:
        return html_card("Log", {"time": "nothing was simulated"})
    rows: dict[str, Any] = {"time": f"{log.t[0]:.3g} to {log.t[-1]:.3g} s", "energy changes by": f"{log.drift:.2e} J"}
    rows |= {f"{h.t:.3g} s": h.name for h in log.happenings[:12]}
    changes = [h.t for h in log.happenings if h.changed]
    times, image = [float(log.t[0]), *changes[:1], float(log.t[-1])], None
    if _can_be_seen(log.model):
        size = SIZE[0] // len(times), 200
        image = np.concatenate([picture(log, t, size=size) for t in times], axis=1)  # parts may fall far apart
    energies = {"kinetic": log.kinetic, "potential": log.potential, "elastic": log.elastic, "lost at events": log.lost}
    seen = {name: values for name, values in energies.items() if np.any(values)}
    return html_card("Log", rows, image, curves(log.t, seen | {"total": log.total}, "J", changes))


def report_html(report: Any) -> str:
    """A change of structure: what it made, with the new joint named where it is, what it cost, and the proof."""
    from kinemorph.view.pictures.picture import picture

    old, new = report.before, report.model
    rows = {
        "links, nq, nv": f"{old.n}, {old.nq}, {old.nv} before; {new.n}, {new.nq}, {new.nv} now",
        "new joint": report.joint or "none",
        "energy lost": f"{report.energy_lost:.4g} J",
        "impulse": f"{float(np.linalg.norm(report.impulse[3:])):.4g} N s",
        "residuals": f"pose {report.pose_error:.1g}, twist {report.twist_error:.1g}, "
        f"momentum {report.momentum_error:.1g}, loops {report.loop_error:.1g}",
    }
    image = None
    if _can_be_seen(new):
        try:
            image = picture(new, report.state.q, size=SIZE, names=_place_of_joint(report))
        except MissingExtraError:  # names need Pillow
            image = picture(new, report.state.q, size=SIZE)
    return html_card(f"ModelEdit of {new.name!r}", rows, image)


def _place_of_joint(report: Any) -> dict[str, Any]:
    """Where the new joint is in the world, by its name."""
    from kinemorph.multibody.algorithms.kinematics import kinematics, pose_of
    from kinemorph.multibody.data import Data

    model, data, name = report.model, Data(report.model), report.joint
    if not name:
        return {}
    kinematics(model, data, report.state.q)
    if name in model.joint_names:
        return {name: pose_of(model, data, model.joint_names.index(name)).position}
    row = model.loop_rows[list(model.loop_names).index(name)]
    return {name: pose_of(model, data, int(row["a"])).apply(row["pa"])}


def _can_be_seen(model: Any) -> bool:
    return any(model.shapes) or bool(model.base_shapes)


def world_html(world: Any) -> str:
    """A world as it is now."""
    from kinemorph.view.recordings.film import Film

    with Film(world, None, 60.0, "world") as taken:
        pass
    found = world.queries.statistics
    rows = {"time": f"{world.time:.3f} s", "bodies": found.bodies, "trees": found.trees, "asleep": found.asleep}
    rows["contacts"] = found.contacts
    return html_card("World", rows, _last_picture(taken.recording))


def _last_picture(recording: Any) -> Image | None:
    """How a recording ends, if there is anything to be seen."""
    from kinemorph.view.pictures.picture import picture, recorded_solids

    if not len(recording.t) or not any(recorded_solids(recording, float(recording.t[-1]))):
        return None
    return picture(recording, float(recording.t[-1]), size=SIZE)


def curves(t: Any, values: dict[str, Any], unit: str, marks: Sequence[float] = ()) -> str:
    """Curves over time as a drawing, with their names below; `marks` are times with a line."""
    width, height, left, most = SIZE[0], 150, 52, 400
    t = np.asarray(t, np.float64)
    every = np.concatenate([np.asarray(each, np.float64) for each in values.values()])
    low, high = float(every.min()), float(every.max())
    room, span = (high - low) or 1.0, float(t[-1] - t[0]) or 1.0
    step = max(1, len(t) // most)

    def x(at: Any) -> Any:
        return left + (width - left - 6) * (at - t[0]) / span

    def y(value: Any) -> Any:
        return height - 8 - (height - 16) * (value - low) / room

    parts = [
        f'<line x1="{x(m):.1f}" x2="{x(m):.1f}" y1="4" y2="{height - 4}" stroke="#999" stroke-dasharray="2 3"/>'
        for m in marks
    ]
    names = []
    for colour, (name, each) in zip(COLOURS, values.items(), strict=False):
        line = np.asarray(each, np.float64)
        chosen = np.unique(np.append(np.arange(0, len(t), step), len(t) - 1))
        points = " ".join(f"{x(t[i]):.1f},{y(line[i]):.1f}" for i in chosen)
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{points}"/>')
        names.append(f'<span style="color:{colour}">{in_html(name)}</span>')
    for value in (low, high):
        place = f'x="{left - 4}" y="{y(value) + 4:.1f}" font-size="11" text-anchor="end" fill="#777"'
        parts.append(f"<text {place}>{value:.3g}</text>")
    return (
        f'<div><svg width="{width}" height="{height}" style="display:block">{"".join(parts)}</svg>'
        f'<span style="font-size:smaller">{unit}, {t[0]:.3g} to {t[-1]:.3g} s: {", ".join(names)}</span></div>'
    )

"""How objects look in a notebook: a picture and a few numbers, in HTML that asks nobody for anything."""

from __future__ import annotations

import base64
import html
import io
from typing import Any

import numpy as np

from kinemorph._extras import MissingExtraError, need
from kinemorph.view.raster import Image

SIZE = 420, 300


def card(title: str, rows: dict[str, Any], image: Image | None = None) -> str:
    """A title, a table and a picture beside it."""
    lines = "".join(f"<tr><td>{html.escape(k)}</td><td>{html.escape(str(v))}</td></tr>" for k, v in rows.items())
    shown = f'<img alt="" src="data:image/png;base64,{_png(image)}">' if image is not None else ""
    return (
        '<div style="display:flex;gap:1em;align-items:flex-start">'
        f"<div><b>{html.escape(title)}</b><table>{lines}</table></div>{shown}</div>"
    )


def model_html(model: Any) -> str:
    """A model at rest."""
    from kinemorph.multibody.configuration import neutral
    from kinemorph.view.picture import picture

    rows = {"links": model.n, "nq": model.nq, "nv": model.nv, "loops": len(model.loops), "mass": f"{model.mass:.4g} kg"}
    seen = any(model.shapes) or bool(model.base_shapes)
    return card(f"Model {model.name!r}", rows, picture(model, neutral(model), size=SIZE) if seen else None)


def recording_html(recording: Any) -> str:
    """A recording: its end, and what happened."""
    from kinemorph.view.picture import picture

    rows = {"bodies": len(recording.bodies), "frames": len(recording.t)}
    rows |= {f"{chapter.t:.3g} s": chapter.what for chapter in recording.chapters[:12]}
    seen = len(recording.t) and (recording.base_shapes or any(body.shapes for body in recording.bodies))
    image = picture(recording, float(recording.t[-1]), size=SIZE) if seen else None
    return card(f"Recording {recording.name!r}", rows, image)


def log_html(log: Any) -> str:
    """A simulation: energies, and what happened."""
    rows: dict[str, Any] = {"time": f"{log.t[0]:.3g} to {log.t[-1]:.3g} s", "energy drift": f"{log.drift:.2e} J"}
    rows |= {f"{h.t:.3g} s": h.name for h in log.happenings[:12]}
    return card("Log", rows)


def report_html(report: Any) -> str:
    """A change of structure: what it cost."""
    rows = {"model": report.model, "energy lost": f"{report.energy_lost:.4g} J"}
    return card("Report", rows)


def world_html(world: Any) -> str:
    """A world as it is now."""
    from kinemorph.view.film import Film
    from kinemorph.view.picture import picture

    with Film(world, None, 60.0, "world") as taken:
        pass
    found = world.statistics
    rows = {"time": f"{world.time:.3f} s", "bodies": found.bodies, "trees": found.trees, "asleep": found.asleep}
    rows["contacts"] = found.contacts
    recording = taken.recording
    seen = recording.base_shapes or any(body.shapes for body in recording.bodies)
    return card("World", rows, picture(recording, world.time, size=SIZE) if seen else None)


def _png(image: Image) -> str:
    """A picture as text."""
    try:
        paper = need("PIL.Image", "view", "notebooks").fromarray(np.asarray(image))
    except MissingExtraError:
        return ""
    content = io.BytesIO()
    paper.save(content, "PNG")
    return base64.b64encode(content.getvalue()).decode()

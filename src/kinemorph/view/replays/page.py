"""The page around the player of a replay: title, legend with links to events, licences, and security policy."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, distribution

from kinemorph._escaping import in_html, plain
from kinemorph.view.colours import as_bytes
from kinemorph.view.recordings.recording import Chapter, Recording, joints_between
from kinemorph.view.replays.content_policy import embed_policy
from kinemorph.view.replays.overlays import Overlay

LEGEND = ((0.86, 0.40, 0.12), (0.02, 0.33, 0.62), (0.63, 0.75, 0.78))  # how the three look in viser's light
LISTED = 12  # chapters in the legend

STYLE = """
#legend { position: fixed; left: 12px; bottom: 52px; z-index: 9; padding: 10px 14px; border-radius: 6px;
  background: rgba(255, 255, 255, 0.86); color: #223; font: 13px/1.5 system-ui, sans-serif; pointer-events: none; }
#legend b { display: block; font-size: 15px; }
#legend i { display: inline-block; width: 1em; height: 1em; border-radius: 2px; vertical-align: -0.12em; }
#legend td { padding: 0 0.8em 0 0; }
#legend a { color: #1d5fa6; text-decoration: none; pointer-events: auto; }
#legend a:hover, #legend a:focus { text-decoration: underline; }
"""

# `page.html#t=1.25` opens a page at that time of what was, and so do the links of its legend. viser's player has no
# call for it, but takes the time that is typed into its bar, the only one on the page with a number in it.
JUMP_SCRIPT = """
(() => {
  const type = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
  const jump = () => {
    const wanted = /^#t=(\\d+(\\.\\d+)?)$/.exec(location.hash);
    const bar = document.querySelector("#root input[inputmode]");
    if (!wanted) return true;
    if (!bar) return false;
    type.call(bar, (Number(wanted[1]) / SPEED).toFixed(4));
    bar.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  };
  const soon = () => jump() || setTimeout(soon, 100);
  addEventListener("hashchange", soon);
  document.getElementById("legend").addEventListener("click", event => {
    if (event.target.hash && event.target.hash === location.hash) jump();
  });
  soon();
})();
"""


def complete_page(
    page: str, recording: Recording, tinted: bool, overlays: Sequence[Overlay], speed: float = 1.0
) -> str:
    """The page of a player with all that. `tinted` says whether any body has the colours of its tree."""
    title = in_html(recording.name or "recording")
    ends = [f"rgb{as_bytes(c)}" for c in LEGEND]
    tree = (
        f'<i style="background: {ends[0]}"></i> root '
        f'<i style="background: linear-gradient(90deg, {ends[1]}, {ends[2]}); width: 4em; margin-left: 0.8em"></i> '
        "away from it"
    )
    drawn = " ".join(f'<i style="background: rgb{as_bytes(o.colour)}"></i> {in_html(o.name)}' for o in overlays)
    rows = "".join(_rows(recording))
    nonce = hashlib.sha256(f"{title}{drawn}{rows}{page}".encode()).hexdigest()[:32]  # the same page for the same film
    legend = f"""
<style>{STYLE}</style>
<div id="legend"><b>{title}</b>
{tree if tinted else ""}{drawn + "<br>the scene tree shows and hides them" if drawn else ""}
<table>{rows}</table></div>
<script nonce="{nonce}">{JUMP_SCRIPT.replace("SPEED", repr(float(speed)))}</script>
{licences()}
"""
    page = embed_policy(page, nonce).replace("<title>Viser</title>", f"<title>{title}</title>", 1)
    end = page.rindex("</body>")
    return page[:end] + legend + page[end:]


def _rows(recording: Recording) -> list[str]:
    """The table of what happens, each with a link to when it does."""
    listed = recording.chapters[:LISTED] if has_tree_changes(recording) else []
    words = [_with_links(e, before) for before, e in zip([None, *listed], listed, strict=False)]
    times = [e.t - float(recording.t[0]) for e in listed]
    rows = [
        f'<tr><td><a href="#t={max(t, 0.0):.4f}">{t:.2f} s</a></td><td>{in_html(told)}</td></tr>'
        for t, told in zip(times, words, strict=True)
    ]
    if len(recording.chapters) > LISTED:
        rows.append(f"<tr><td></td><td>and {len(recording.chapters) - LISTED} more</td></tr>")
    return rows


def licences() -> str:
    """The licence notice of the player in a page: not shown, but part of the file."""
    try:
        viser = distribution("viser")
        version, terms = viser.version, viser.read_text("licenses/LICENSE") or ""
    except PackageNotFoundError:  # a copy without package metadata
        version, terms = "", ""
    notice = (
        f"This page contains the client of viser {version}, https://github.com/viser-project/viser, under the Apache "
        "License 2.0, below, and in it React, three.js, Mantine, uPlot and others, under the MIT License. kinemorph, "
        "which wrote the page, is under the Apache License 2.0 as well."
    )
    return f'<template id="licences"><pre>{escape(notice)}\n\n{escape(terms)}</pre></template>'


def has_tree_changes(recording: Recording) -> bool:
    """Whether anything happens to the trees but that a film of them starts."""
    return any(chapter.what != "start" for chapter in recording.chapters)


def describe_chapter(chapter: Chapter, before: Chapter | None, roots: Sequence[str]) -> str:
    """A chapter in words, with the roots from then on."""
    some = ", ".join(roots[:3]) + (", …" if len(roots) > 3 else "")
    what = _with_links(chapter, before)
    return plain(f"{what}   root: {some}" if some else what)


def _with_links(chapter: Chapter, before: Chapter | None) -> str:
    """The name of a chapter, with the links that it joined or parted, unless the name has them."""
    if before is None:
        return chapter.what
    made, broken = joints_between(before.parents, chapter.parents)
    pairs = [f"+ {a} – {b}" for a, b in made] + [f"− {a} – {b}" for a, b in broken]
    told = [
        p for p, (a, b) in zip(pairs, (*made, *broken), strict=True) if not (a in chapter.what and b in chapter.what)
    ]
    return "   ".join([chapter.what, *told[:3], *(["…"] if len(told) > 3 else [])])

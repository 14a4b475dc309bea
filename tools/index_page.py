"""One page of all that demonstrations have left in a folder: offline, sealed, with a picture and a sentence each.

python -m tools.index_page FOLDER writes FOLDER/index.html.
"""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from kinemorph._escaping import in_html
from kinemorph._extras import require_module
from kinemorph.scenes.gallery import DEMOS, Demo
from tools.contact_sheet import panel

SIZE = 420, 260  # pixels of a picture, at most
OTHERS = {  # what is made by other commands than `kinemorph demo`: its name, and its sentence
    "bounce": ("bounce", "Sixty objects bounce; boxes, tiles and closest features can be shown."),
    "evolution": ("report", "Runs of evolution: their curves, champions, brains and descent."),
    "walk_replay": ("mocap", "A recorded walk: joint moments, ground forces and centres of pressure."),
}
NEXT = {
    "kinemorph view gripper": "the arm live: pause with P, step back with I, drag, connect with C, cut with X",
    "kinemorph demo --list": "the other demonstrations",
    "kinemorph view robot.urdf": "a robot of your own: URDF, SDF or MJCF",
    "kinemorph creature show spider": "a creature, how it moves, and its brain",
    "kinemorph evolve locomotion --episodes 2000": "evolve some; then kinemorph report out/*.db",
}
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # a page that makes no requests
INDEX_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="{policy}"><title>kinemorph: what was made</title>
<style>
body{{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:1340px;color:#223;padding:0 1em}}
h1{{font-size:1.5em}}h2{{font-size:1.15em;margin-top:1.8em}}a{{color:#1d5fa6}}
code{{background:#f1f3f6;padding:.1em .3em}}
.cards{{display:grid;grid-template-columns:repeat(auto-fill,minmax(300px,1fr));gap:1.2em}}
.card{{border:1px solid #dde2e8;border-radius:8px;overflow:hidden;background:#fff}}
.card div{{padding:.5em .9em .8em}}.card b{{font-size:1.05em}}.card p{{margin:.2em 0 .4em}}
.card img{{width:100%;height:200px;object-fit:contain;background:#fff;border-bottom:1px solid #eef;display:block}}
.none{{display:grid;place-items:center;height:200px;background:#eef1f5;border-bottom:1px solid #eef}}
td{{padding:.15em 1.2em .15em 0}}small{{color:#667}}
</style></head><body>
<h1>What was made</h1>
<p>Each replay is one file that plays in any browser, offline: space pauses, the bar seeks, the mouse turns.</p>
<div class="cards">{cards}</div>
<h2>What to try next</h2><table>{commands}</table>
{rest}
</body></html>
"""


def index_page(folder: Path) -> Path:
    """Write index.html: a card for each replay in a folder, links to all other files, and what to try next."""
    require_module("PIL.Image", "view", "pages of pictures")
    known = {demo.replay: (name, demo) for name, demo in DEMOS.items()}
    order = {replay: k for k, replay in enumerate(known)}
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "index.html")
    replays = sorted((p for p in files if p.suffix == ".html"), key=lambda p: (order.get(p.stem, len(order)), p.stem))
    if not replays:
        raise FileNotFoundError(f"{folder}: there is no replay to make a page of; kinemorph demo makes one")
    owners = {path: _owner(path, replays) for path in files if path.suffix != ".html"}
    cards = []
    for path in replays:
        name, demo = known.get(path.stem, (path.stem, None))
        name, sentence = (name, demo.sentence) if demo else OTHERS.get(path.stem, (name, ""))
        more = (other for other, owner in owners.items() if owner == path)
        cards.append(_card(path, name, sentence, _thumbnail(folder, path, demo), more))
    commands = "".join(f"<tr><td><code>{in_html(c)}</code></td><td>{in_html(why)}</td></tr>" for c, why in NEXT.items())
    others = _links(path for path, owner in owners.items() if owner is None)
    page = folder / "index.html"
    rest = f"<h2>Other files</h2><p>{others}</p>" if others else ""
    page.write_text(INDEX_PAGE.format(policy=POLICY, cards="".join(cards), commands=commands, rest=rest), "utf-8")
    return page


def _owner(path: Path, replays: Iterable[Path]) -> Path | None:
    """The replay that a picture or table came with: the one whose name begins as its own does, for the longest part."""
    fit = [replay for replay in replays if f"{path.stem}_".startswith(f"{_plain(replay)}_")]
    return max(fit, key=lambda replay: len(_plain(replay)), default=None)


def _plain(replay: Path) -> str:
    return replay.stem.removesuffix("_replay")


def _card(path: Path, name: str, sentence: str, image: str, more: Iterable[Path]) -> str:
    link = quote(path.name)
    shown = f'<img alt="{in_html(name)}" src="{image}">' if image else '<i class="none">open</i>'
    return (
        f'<div class="card"><a href="{link}">{shown}</a><div><b><a href="{link}">{in_html(name)}</a></b>'
        f"<p>{in_html(sentence)}</p><small>{_links(more)}</small></div></div>\n"
    )


def _links(paths: Iterable[Path]) -> str:
    return " · ".join(f'<a href="{quote(path.name)}">{in_html(path.name)}</a>' for path in paths)


def _thumbnail(folder: Path, replay: Path, demo: Demo | None) -> str:
    """A small picture of a replay, as part of a page; nothing, if there is no picture beside it."""
    image: Any = require_module("PIL.Image", "view", "pages of pictures")
    if demo is not None and (folder / f"{demo.picture}.png").exists():
        small = image.fromarray((255.0 * np.asarray(panel(folder, demo))).astype(np.uint8))
    else:
        near = [folder / f"{stem}.png" for stem in (replay.stem, _plain(replay))]
        found = next((path for path in near if path.exists()), None)
        if found is None:
            return ""
        small = image.open(found).convert("RGB")
    small.thumbnail(SIZE)
    kept = io.BytesIO()
    small.save(kept, "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(kept.getvalue()).decode()}"


def make_index_page(folder: Path) -> None:
    page = index_page(folder)
    print(f"\nopen {page}: all that was made, in any browser, offline; then try")
    width = max(map(len, NEXT))
    for command, why in NEXT.items():
        print(f"  {command:{width}}  {why}")


if __name__ == "__main__":
    make_index_page(Path(sys.argv[1]))

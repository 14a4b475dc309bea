"""The picture of the live viewer: the gripper, in Debian's chromium, with names shown.

python -m tools.viewer_picture docs/_static/viewer.png
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image
from tests.browser import visit

import kinemorph as km
from kinemorph.scenes.gallery import DEMOS

SECONDS = 3.0  # s, when the arm carries the brick
SIZE = 1240, 620  # pixels
STEP = 3  # between shades, which nobody sees, and which packs better; a palette of 256 colours leaves blotches


def main(file: Path) -> None:
    world = DEMOS["gripper"].make().world
    world.run(SECONDS)
    with (
        tempfile.TemporaryDirectory() as profile,
        km.viewer(world, open_browser=False, direction=(1.2, -0.5, 0.45)) as v,
        visit(v.url, Path(profile), SIZE) as opened,
    ):
        v.mark("names")
        v.paused = True
        page = opened.page
        page.add_style_tag(content=".mantine-Notifications-root { display: none !important }")
        name, end = page.get_by_text("brick", exact=True), time.monotonic() + 300.0
        while time.monotonic() < end:
            if end > time.monotonic() + 10.0 and name.count():
                end = time.monotonic() + 10.0  # all of it is there soon
            v.sync(until=time.monotonic() + 0.05)
            page.wait_for_timeout(50)
        picture = Image.open(io.BytesIO(page.screenshot(timeout=120_000))).convert("RGB")
    picture.point([round(value / STEP) * STEP for value in range(256)] * 3).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

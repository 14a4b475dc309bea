"""The moving picture of the README: the gymnast of the dismount, and the gripper, side by side.

python tools/moving_picture.py docs/_static/kinemorph.webp
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from kinemorph.scenes.filming import film_run
from kinemorph.scenes.gallery import DEMOS
from kinemorph.view.moving import images

SIZE = 400, 300  # pixels of each
RATE, SECONDS = 12.0, 4.0  # frames a second, and how long both take in the picture
SCENES = {"dismount": (4.0, (0.3, -1.0, 0.25)), "gripper": (8.0, (1.0, -1.1, 0.6))}  # s, and whence one looks


def main(file: Path) -> None:
    sides = []
    for name, (seconds, direction) in SCENES.items():
        recording = film_run(DEMOS[name].make().world, seconds, name)
        sides.append(list(images(recording, RATE * SECONDS / seconds, direction, SIZE)))
    frames = [Image.fromarray(np.concatenate(pair, axis=1)) for pair in zip(*sides, strict=False)]
    pause = round(1000.0 / RATE)
    frames[0].save(
        file, save_all=True, append_images=frames[1:], duration=[pause] * (len(frames) - 1) + [1500], loop=0,
        quality=60, method=6,
    )  # fmt: skip
    print(f"{file}: {len(frames)} frames, {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

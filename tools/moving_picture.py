"""The moving picture of the README: a bridge that breaks, and the gripper, side by side.

python tools/moving_picture.py docs/_static/kinemorph.webp
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from kinemorph.scenes.gallery import DEMOS
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.view.pictures.moving_pictures import images

RATE, SECONDS = 15.0, 5.0  # frames a second, and how long both take in the picture
SCENES = {  # s that each takes, whence one looks, and pixels
    "chain_bridge": (4.0, (0.5, -1.5, 0.45), (520, 320)),
    "gripper": (8.0, (1.2, -0.9, 0.5), (320, 320)),
}


def main(file: Path) -> None:
    sides = []
    for name, (seconds, direction, size) in SCENES.items():
        recording = film_run(DEMOS[name].make().world, seconds, name)
        sides.append(list(images(recording, RATE * SECONDS / seconds, direction, size)))
    frames = [Image.fromarray(np.concatenate(pair, axis=1)) for pair in zip(*sides, strict=False)]
    pause = round(1000.0 / RATE)
    frames[0].save(
        file, save_all=True, append_images=frames[1:], duration=[pause] * (len(frames) - 1) + [1500], loop=0,
        quality=70,
    )  # fmt: skip
    print(f"{file}: {len(frames)} frames, {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

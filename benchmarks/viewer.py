"""What the live viewer costs: 200 bodies that move, 30 frames a second, with somebody who listens.

python -m benchmarks.viewer [--quick] [--json FILE]
"""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np

import kinemorph as km
from benchmarks.measure import Row, arguments, report

BODIES, RATE, SECONDS = 200, 30.0, 6.0


def crowd() -> km.World:
    """Bodies of four shapes that fly and tumble, so that the world itself costs little."""
    world = km.World(gravity=(0, 0, 0), sleep=False)
    shapes = [
        km.Shape.box((0.2, 0.1, 0.3)),
        km.Shape.sphere(0.1),
        km.Shape.capsule(0.05, 0.3),
        km.Shape.box((0.1,) * 3),
    ]
    rng = np.random.default_rng(0)
    for i in range(BODIES):
        at = (i % 10, i // 10 % 10, i // 100)
        world.add(shapes[i % 4], at=at, twist=[*rng.normal(size=3), *(0.01 * rng.normal(size=3))])
    return world


async def listen(url: str, done: threading.Event, heard: list[int]) -> None:
    """A client that reads all that it is sent."""
    from viser import __version__
    from websockets.asyncio.client import connect

    place = urlsplit(url)
    async with connect(
        f"ws://{place.netloc}/{parse_qs(place.query)['token'][0]}",
        origin=f"http://{place.netloc}",
        subprotocols=[f"viser-v{__version__}"],
        max_size=None,
        compression=None,
    ) as socket:
        while not done.is_set():
            try:
                heard.append(len(await asyncio.wait_for(socket.recv(), 0.2)))
            except TimeoutError:
                continue


def measure(v: Any, draw: bool, seconds: float) -> tuple[float, float]:
    """Processor seconds of this process in a second, and frames a second."""
    frames = 0
    start, busy = time.monotonic(), time.process_time()
    while (now := time.monotonic()) - start < seconds:
        if now - start < frames / RATE:  # frames are due at times of their own: who sleeps too long is late for one
            time.sleep(frames / RATE - (now - start))
            continue
        v.world.step(16)
        if draw:
            v._draw()
        frames += 1
    took = time.monotonic() - start
    return (time.process_time() - busy) / took, frames / took


def rows(seconds: float) -> list[Row]:
    """What a frame costs, beside the same world that nobody looks at."""
    world = crowd()
    done, heard = threading.Event(), [0]
    with km.viewer(world, open_browser=False) as v:
        listener = threading.Thread(target=lambda: asyncio.run(listen(v.url, done, heard)))
        listener.start()
        time.sleep(1.0)
        without, _ = measure(v, False, seconds)
        before = sum(heard)
        cost, rate = measure(v, True, seconds)
        sent = (sum(heard) - before) / seconds
        done.set()
        listener.join()
    case = f"{BODIES} moving bodies"
    return [
        Row("viewer", case, "frames a second", rate, RATE, "asked", None, rate / RATE),
        Row("viewer", case, "cores, world and viewer", cost, None, "", None),
        Row("viewer", case, "cores, the world alone", without, None, "", None),
        Row("viewer", case, "kB a second, sent", 1e-3 * sent, None, "", None),
    ]


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    report("The live viewer", rows(1.0 if options.quick else SECONDS), options.json, ("kinemorph", "viser"))


if __name__ == "__main__":
    main()

"""A hand catches a ball that falls on it, and throws it: connect and cut in a world, by events.

python examples/catch.py [FOLDER]
"""

import sys
from pathlib import Path

import kinemorph as km


class Catch:
    """A hand on a motor, and a ball above it. Its methods are actions, so that branches of the world have them too."""

    def __init__(self) -> None:
        self.world = km.World()
        self.world.add_ground()
        self.hand = self.world.add(km.Shape.box((0.3, 0.3, 0.05)), at=(0.6, 0, 1.0), density=2000.0, name="hand")
        joint = km.Joint.revolute("y", name="arm")
        self.arm = self.world.motor(
            self.world.connect(None, self.hand, joint, at=(0, 0, 1.0)), speed=0.0, effort_limit=400.0
        )
        self.ball = self.world.add(km.Shape.sphere(0.08), at=(0.6, 0, 2.0), density=500.0, name="ball")
        self.top = 0.0  # m, the highest that it was after the throw
        self.world.when(km.Event.contact(self.hand, self.ball, times=1), self.take)
        self.world.when(km.Event.at(1.2), self.swing)
        self.world.when(km.Event.at(1.32), self.throw)
        self.world.every(0.01, self.watch)

    def take(self, world: km.World, moment: km.EventRecord) -> None:
        world.connect(self.hand, self.ball, km.Joint.fixed(name="grip"))
        print(f"{moment.time:.2f} s: it takes the ball, and weighs {9.81 * self.ball.mass:.1f} N more")

    def swing(self, world: km.World, moment: km.EventRecord) -> None:
        self.arm.speed = -6.0

    def throw(self, world: km.World, moment: km.EventRecord) -> None:
        world.cut("grip")
        self.arm.speed = 0.0
        print(f"{moment.time:.2f} s: it lets go at {self.ball.velocity.round(2)} m/s")

    def watch(self, world: km.World) -> None:
        if world.time > 1.32:
            self.top = max(self.top, float(self.ball.position[2]))


def main(folder: Path) -> Catch:
    scene = Catch()
    with km.film(scene.world, rate=50) as taken:
        scene.world.run(3.0)
    print(f"it flew {scene.top:.2f} m high; look at {km.replay(taken.recording, folder / 'catch.html')}")
    return scene


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))

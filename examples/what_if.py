"""What if? One world, sixteen branches of it, each pushed another way, on all cores: which push topples the tower?

python examples/what_if.py
"""

import numpy as np

import kinemorph as km


def tower() -> km.World:
    world = km.World()
    world.add_ground()
    for i in range(6):
        world.add(km.Shape.box((0.2, 0.2, 0.1)), at=(0, 0, 0.05 + 0.1 * i), name=f"brick {i}")
    world.run(0.5)
    return world


def main() -> list[float]:
    start = tower()
    pushes = np.linspace(0.0, 60.0, 16)  # N, on the top brick for a fifth of a second
    branches = [start.branch() for _ in pushes]
    held = [world.apply_force(world["brick 5"], (force, 0, 0)) for world, force in zip(branches, pushes, strict=True)]
    km.batch.run(branches, 0.2)
    for push in held:
        push.withdraw()
    km.batch.run(branches, 1.5)
    heights = [float(world["brick 5"].position[2]) for world in branches]
    for force, height in zip(pushes, heights, strict=True):
        print(f"{force:5.1f} N: the top brick is {height:.2f} m high")
    return heights


if __name__ == "__main__":
    main()

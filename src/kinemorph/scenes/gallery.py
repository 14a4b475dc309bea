"""All demonstrations: what `kinemorph demo` can show, in one list."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

Say = Callable[[Any], None]


class Demo(NamedTuple):
    """A demonstration: what it shows in a sentence, and in which module of this folder it is.

    `maker` is the function that makes its scene; one that has a world takes the world's settings by name. `shows`
    runs it, prints figures, and leaves pictures and a replay in a folder.
    """

    sentence: str
    module: str
    maker: str
    picture: str  # the file that it leaves, without its end
    panel: tuple[int, int, int] = (0, 1, 1)  # the part of it on a sheet of all, in columns and rows
    shows: str = ""  # the function that runs it, if it is not `show_` and the name of the module
    in_world: bool = True
    epsilon: float = 0.0  # m, an envelope of its size, with which it goes by the impulse model, too; 0: not tried
    stride: float = 0.0  # s, of a step there
    python: str = ""  # why it is no scene file; empty: it is one, of its name

    @property
    def written(self) -> str:
        """Whether it is a scene file, or why not, in a sentence."""
        return f"In Python: {self.python}." if self.python else "Its scene is a file: see kinemorph run."

    @property
    def replay(self) -> str:
        """The replay that it leaves, without its end."""
        return self.picture.removesuffix("_strip")

    @property
    def is_of_impulses(self) -> bool:
        """Whether it shows nothing but contact made of impulses."""
        return self.shows in ("show_handlings", "show_boost")

    @property
    def by_impulses(self) -> dict[str, Any]:
        """The settings of its world with which all contact is made of impulses."""
        return {"contact": "impulse", "epsilon": self.epsilon, "dt": self.stride}

    def settings(self, name: str, contact: str) -> dict[str, Any]:
        """The settings of its world with a contact model; none with that in which it was made."""
        if contact == "timestep" or self.is_of_impulses:
            return {}
        if self.epsilon == 0.0:
            those = ", ".join(name for name, demo in DEMOS.items() if demo.epsilon > 0.0)
            raise ValueError(f"demo {name}: it does not go by impulses; those do: {those}")
        return self.by_impulses

    def make(self, *arguments: Any, **settings: Any) -> Any:
        """The scene, in a world with such settings."""
        return getattr(self._module(), self.maker)(*arguments, **settings)

    def show(self, out: Path, say: Say, **settings: Any) -> None:
        """Run it, tell its figures, and leave its pictures in a folder."""
        getattr(self._module(), self.shows or f"show_{self.module.rpartition('.')[2]}")(out, say, **settings)

    def _module(self) -> Any:
        return import_module(f"kinemorph.scenes.{self.module}")


def _alike(rows: dict[str, tuple[Any, ...]], **common: Any) -> dict[str, Demo]:
    """Demonstrations that differ in their sentence, module, maker, picture and panel alone."""
    return {name: Demo(*row, **common) for name, row in rows.items()}


DEMOS = _alike({
    "swing": ("A robot with its motors off swings from its base.", "robots.swing", "swing", "swing"),
    "mechanisms": ("Closed chains, from four bars to a robot's legs.", "robots.parade", "parade", "mechanisms"),
    "walk": ("A walker changes its root at every step.", "structure.walker", "walk", "walker_strip", (4, 8, 1)),
    "high_bar": (
        "A gymnast lets go of a bar, hand by hand.", "structure.high_bar", "swing", "high_bar_strip", (4, 8, 1)
    ),
    "swing_breaks": (
        "A swing breaks under a person.", "structure.swing_breaks", "ride", "swing_breaks_strip", (3, 6, 1)
    ),
}, in_world=False, python="it follows one mechanism, without a world") | {
    "human": Demo(
        "Ten random changes of a figure's structure.",
        "structure.human", "journey", "human_strip", (2, 6, 1), in_world=False,
        python="its changes are drawn at random, of one mechanism without a world",
    ),
    "walk_on_ground": Demo(
        "The walker, on feet that rub on the ground.",
        "structure.walker_on_ground", "walker", "walker_on_ground", (1, 8, 1),
        python="its feet pass through the slope for a part of each step, as a function decides",
    ),
    "dismount": Demo(
        "The gymnast flies off the bar and lands on a mat.",
        "structure.dismount", "dismount", "dismount", (4, 8, 1),
        python="its gymnast and how it swings are computed",
    ),
    "gripper": Demo(
        "An arm takes a brick, carries it and drops it.",
        "structure.gripper", "gripper", "gripper", (3, 8, 1),
        python="its controller solves for the angles of the arm",
    ),
    "train": Demo(
        "Wagons couple when they touch, and uncouple in motion.",
        "structure.train", "train", "train", (2, 1, 6),
    ),
    "chain_bridge": Demo(
        "A bridge of planks breaks, link by link.",
        "structure.chain_bridge", "bridge", "chain_bridge", (4, 1, 7),
    ),
    "glued_tower": Demo(
        "A ball hits a tower of bricks that are glued.",
        "structure.glued_tower", "tower", "glued_tower", (3, 6, 1),
    ),
} | _alike({
    "features": (
        "V-Clip follows the closest features of two objects, as wires and as solids.",
        "bounce.collision_features", "pursuit", "collision_features", (3, 4, 1),
    ),
    "tiles": (
        "Pairs come and go with the boxes and tiles of the hierarchical hash.",
        "bounce.collision_tiles", "world", "collision_tiles", (2, 4, 1),
    ),
    "hashing": (
        "Eight objects without and with hashing, side by side.",
        "bounce.collision_hashing", "Twins", "collision_hashing_8", (0, 1, 2),
    ),
    "hashing_of_many": (
        "Twenty-five objects without and with hashing, side by side.",
        "bounce.collision_hashing", "Twins", "collision_hashing_25", (0, 1, 2), "show_many",
    ),
}, in_world=False, python="it shows collision detection alone, without a world") | {
    "friction": Demo(
        "Seven cubes on a slope; the last has just enough friction to stay.",
        "thesis.friction_cubes", "cubes", "friction_cubes", (2, 2, 2), epsilon=1e-3, stride=2e-3,
        python="its lanes follow from the slope, which is an argument",
    ),
    "bouncing": Demo(
        "Balls with restitution from 0 to 1, true spheres and polyhedra.",
        "thesis.bouncing_balls", "balls", "bouncing_balls", (0, 1, 2), epsilon=1e-3, stride=2e-3,
    ),
    "coins": Demo(
        "Eighteen coins are tossed.",
        "thesis.coin_toss", "coins", "coin_toss", (1, 2, 2), epsilon=2e-4, stride=5e-3,
    ),
    "car": Demo(
        "A car on sprung wheels drives over two obstacles and through a looping.",
        "thesis.car_track", "track", "car_track", (2, 2, 2), epsilon=0.01, stride=0.01,
        python="its driver is a controller, and its track is computed",
    ),
    "wall": Demo(
        "A wall of 34 bricks stands for three minutes.",
        "thesis.brick_wall", "brick_wall", "brick_wall", (0, 2, 1), epsilon=2e-3, stride=2e-3,
    ),
    "wall_handlings": Demo(
        "The wall by impulses: at closest points on the left, at all contact points on the right.",
        "thesis.brick_wall", "brick_wall", "wall_handlings", (1, 1, 2), "show_handlings",
        python="it compares worlds of two settings; the wall is that of `wall`",
    ),
    "wall_boost": Demo(
        "The wall by impulses at closest points: boosted micro-collisions on the left, carried on the right.",
        "thesis.brick_wall", "brick_wall", "wall_boost", (1, 1, 2), "show_boost",
        python="it compares worlds of two settings; the wall is that of `wall`",
    ),
    "wall_and_car": Demo(
        "The car drives down a slope into the wall.",
        "thesis.wall_and_car", "crash", "wall_and_car", (4, 3, 2), epsilon=2e-3, stride=2e-3,
        python="its driver is a controller; the wall is that of `wall`",
    ),
    "demolition": Demo(
        "A demolition ball on a chain hits the wall.",
        "thesis.demolition", "demolition", "demolition", (4, 3, 2), epsilon=1e-3, stride=1e-3,
        python="its chain is computed; the wall is that of `wall`",
    ),
    "double_demolition": Demo(
        "The demolition ball hits two walls behind each other.",
        "thesis.demolition", "double", "double_demolition", (4, 3, 2), "show_two", epsilon=1e-3, stride=1e-3,
        python="its chain is computed; the walls are those of `wall`",
    ),
    "dominos": Demo(
        "150 dominos fall through a tunnel, over stairs, up a tower and off a diving board.",
        "thesis.domino_track", "dominos", "domino_track", (2, 2, 3), epsilon=1e-3, stride=5e-3,
        python="its row is laid along a path, domino by domino",
    ),
    "marble": Demo(
        "A marble runs over ridges, through sprung trapdoors and over driven gearwheels.",
        "thesis.marble_run", "run", "marble_run", (1, 3, 1), epsilon=1e-3, stride=5e-3,
        python="its floors are computed, from how many wheels each has",
    ),
}  # fmt: skip
EVOLVED = {  # creatures of evolutions: what they do, and how their pictures are laid out
    "hitting_ball": ("Creatures that hit a ball, from the first to the last generation.", (1, 2, 2)),
    "jumping_1": ("Three evolutions of jumping straight up, side by side.", (3, 2, 2)),
    "jumping_2": ("Creatures of spheres that jump up: generations, the earliest in front.", (1, 3, 1)),
    "jumping_3": ("A creature that jumps away.", (0, 1, 1)),
    "locomotion_1": ("A creature that has learned to walk.", (0, 1, 1)),
    "locomotion_2": ("Another one that walks.", (0, 1, 1)),
    "locomotion_3": ("A third one that walks.", (0, 1, 1)),
    "brachiation": ("A creature that has learned to go along bars: it grasps, swings and lets go.", (0, 1, 1)),
}
DEMOS |= _alike(
    {
        name: (sentence, "creatures.evolved", "together", name, panel, name)
        for name, (sentence, panel) in EVOLVED.items()
    },
    in_world=False,
    python="it lives by a brain, in the world of its task",
)


def named(name: str) -> Demo:
    """The demonstration of a name."""
    if name not in DEMOS:
        raise ValueError(f"there is no demo {name!r}; there are {', '.join(DEMOS)}")
    return DEMOS[name]

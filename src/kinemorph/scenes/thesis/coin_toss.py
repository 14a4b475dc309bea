"""Eighteen coins that are tossed: contacts that change quickly, and hardly a stack (Fontijne 3.11.2).

They leave the hand in two layers of nine with velocities and spins that were drawn at random, fly, meet each other and
the table, roll and wobble, and come to rest with heads or tails up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kinemorph.scenes.files.scene import load_scene, read_scene
from kinemorph.scenes.pictures.film_pictures import film_run
from kinemorph.scenes.pictures.picture_sheets import View, draw_views
from kinemorph.world.body import Body
from kinemorph.world.world import World

_TABLE = read_scene("coins")[1]
COUNT = len(_TABLE.body)
RADIUS, THICK = _TABLE.body[0].cylinder or (0.0, 0.0)  # m


@dataclass
class Coins:
    """Coins in a world."""

    world: World
    coins: list[Body] = field(default_factory=list)

    def energy(self) -> float:
        """J, of all coins."""
        return self.world.forest.kinetic_energy() + self.world.forest.potential_energy()

    def heads(self) -> list[float]:
        """Of each coin how far its face is turned up: 1 heads, -1 tails, 0 on its edge."""
        return [float(coin.pose.rotation[2, 2]) for coin in self.coins]


def coins(**settings: Any) -> Coins:
    """Coins that have just left the hand."""
    world = load_scene("coins", {"world": settings}).world
    return Coins(world, world.bodies)


def draw_coin_toss(folder: Path, **settings: Any) -> tuple[Path, Path]:
    """The coins at four times, and a replay at half their speed."""
    recording = film_run(coins(**settings).world, 2.5, "coin toss", rate=120.0)
    high = [View(t, (-0.7, -1.2, 0.5), (-0.07, -0.07, 0.02), (0.07, 0.07, 0.2)) for t in (0.0, 0.14)]
    low = [View(t, (-0.7, -1.2, 0.8), (-0.1, -0.1, 0.0), (0.1, 0.1, 0.06)) for t in (0.36, 2.4)]
    return draw_views(recording, folder, "coin_toss", [*high, *low], size=(420, 300), columns=2, speed=0.5)


def show_coin_toss(out: Path, say: Callable[[str], None], **settings: Any) -> None:
    scene = coins(**settings)
    before = scene.energy()
    scene.world.run(3.0)
    heads = sum(face > 0.0 for face in scene.heads())
    say(f"[bold]{COUNT} coins[/] with {before:.3f} J, of which {scene.energy():.3f} J are left after 3 s")
    say(f"{heads} show heads and {COUNT - heads} tails; {sum(coin.asleep for coin in scene.coins)} are asleep")
    pictures, film = draw_coin_toss(out, **settings)
    say(f"\nlook at [bold]{pictures}[/] and [bold]{film}[/]")

"""Figures in the text of pages are those that scenes measure: a page that has drifted says what it should say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kinemorph.scenes.structure import walker
from kinemorph.scenes.thesis import bouncing_balls, demolition, friction_cubes, wall_and_car

DOCS = Path(__file__).parents[2] / "docs"


@cache
def crash() -> Any:
    scene = wall_and_car.crash()
    scene.world.run(3.0)
    return scene


@cache
def swing() -> Any:
    scene = demolition.demolition()
    scene.world.run(1.2)
    return scene


@cache
def steps() -> Any:
    return walker.walk(40)


@cache
def slides() -> Any:
    scene = friction_cubes.cubes()
    scene.world.run(1.0)
    return scene


def polyhedron() -> float:
    scene = bouncing_balls.balls()
    scene.watch(1.2)
    return float(scene.rises()[1][-1])


FIGURES: dict[str, tuple[str, str, Callable[[], float]]] = {
    "car": ("demonstrations", r"into the wall at ([\d.]+) m/s", lambda: crash().hit[1]),
    "demolition, speed": ("demonstrations", r"Until it hits, at ([\d.]+) m/s", lambda: swing().hit[1]),
    "demolition, mass": ("demonstrations", r"A ball of ([\d.]+) kg on a chain", lambda: swing().ball.mass),
    "friction, slid": ("demonstrations", r"slide as Coulomb's law says, ([\d.]+) m", lambda: slides().slid()[0]),
    "friction, expected": ("demonstrations", r"instead of ([\d.]+) m in the first", lambda: slides().expected(1.0)[0]),
    "polyhedron": ("demonstrations", r"comes up to ([\d.]+) of its height, then", polyhedron),
    "walker, period": ("structure", r"steady gait: ([\d.]+) s and", lambda: steps().periods[-1]),
    "walker, length": ("structure", r"steady gait: [\d.]+ s and ([\d.]+) m a step", lambda: steps().steps[-1].length),
    "walker, loss": ("structure", r"impact\s+takes ([\d.]+) J", lambda: steps().steps[-1].strike.energy_lost),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_a_page_is_what_is_measured(name: str) -> None:
    page, pattern, measure = FIGURES[name]
    said = re.findall(pattern, " ".join((DOCS / f"{page}.md").read_text("utf-8").split()))
    assert len(said) == 1, f"{page}.md says {said} where it should say it once"
    last = 10.0 ** -len(said[0].partition(".")[2])  # one unit of the last digit
    found = measure()
    assert math.isfinite(found)
    assert abs(float(said[0]) - found) < last, f"docs/{page}.md says {said[0]}, and it is {found:.6g}"

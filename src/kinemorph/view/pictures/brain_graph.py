"""A brain as a picture: senses on the left, neurons in between, effects on the right, and what leads where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinemorph._escaping import in_plot
from kinemorph.brain import Brain
from kinemorph.view.pictures.plots import empty_figure

Place = tuple[float, float]
FIRST = 2  # source of the first neuron
WIDEST_LINE = 3.0  # of lines, at most
WIDE_NAME = 24  # characters of a name, at most
COLOURS = {True: "#3a6ea5", False: "#c0504d"}  # of weights that are positive or not


def plot_brain(file: Path | str, brain: Brain, title: str = "") -> None:
    """Draw a brain into a PNG file. A line is as wide as its weight is large, and red where that is negative."""
    senses, neurons, effects = brain.senses, brain.neurons, brain.effects
    rows = max(len(senses), -(-len(neurons) // 2), len(effects), 4)
    figure = empty_figure(10.0, 1.0 + 0.24 * rows)
    axis = figure.subplots()
    axis.set_axis_off()
    axis.set_xlim(-0.7, 3.9)
    places: dict[int, Place] = {}
    for k, sense in enumerate(senses):
        places[FIRST + len(neurons) + k] = at = (0.0, -(k + 0.5) / len(senses))
        label = f"{in_plot(sense.link, WIDE_NAME)} {sense.what.name.lower()} {sense.axis}"
        axis.text(*at, label, ha="right", va="center", fontsize=6)
    for k, neuron in enumerate(neurons):  # in two columns, or lines between neighbours would lie on each other
        places[FIRST + k] = at = (1.0 + k % 2, -(k + 0.5) / len(neurons))
        axis.text(*at, neuron.function.name.lower(), ha="center", va="bottom", fontsize=6)
    for k, neuron in enumerate(neurons):
        for source, weight in zip(neuron.sources, neuron.weights, strict=True):
            _line(axis, places, source, places[FIRST + k], weight)
    for k, effect in enumerate(effects):
        at = (3.2, -(k + 0.5) / len(effects))
        axis.text(
            *at, f" {in_plot(effect.link, WIDE_NAME)} {effect.what.name.lower()}", ha="left", va="center", fontsize=6
        )
        _line(axis, places, effect.source, at, effect.weight)
    if places:
        axis.scatter([x for x, _ in places.values()], [y for _, y in places.values()], s=10, color="0.3", zorder=3)
    axis.set_title(in_plot(title), fontsize=9)
    figure.savefig(file, dpi=130)


def _line(axis: Any, places: dict[int, Place], source: int, end: Place, w: float) -> None:
    """From a source to where it goes; what is constant has no line."""
    if source in places and w:
        (x, y), width = places[source], min(WIDEST_LINE, 0.4 + abs(w))
        axis.plot((x, end[0]), (y, end[1]), color=COLOURS[w > 0.0], linewidth=width, alpha=0.5)

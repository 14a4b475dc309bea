"""Plots over time: nothing of them is cut off."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from kinemorph.view.pictures.plots import over_time, plot_over_time

T = np.linspace(0.0, 1.0, 50)


@pytest.mark.parametrize("count", [1, 6, 8])
def test_every_artist_is_inside_the_figure(count: int) -> None:
    """Six long names once pushed the panels aside and were cut off."""
    names = [f"left_shoulder_and_upper_arm_pitch_joint_{i}" for i in range(count)]
    panels = {
        "energy [J]": {"kinetic": T**2, "potential": -T},
        "joint position [rad, m]": {name: np.sin(T + i) for i, name in enumerate(names)},
    }
    figure = over_time(T, panels, "a robot with a long name that swings from its base", marks=[0.5])
    figure.canvas.draw()
    paper = figure.bbox
    for axis in figure.axes:
        for artist in (axis.get_legend(), axis.yaxis.label, axis.xaxis.label, axis, *axis.lines):
            box = artist.get_window_extent()
            assert paper.x0 <= box.x0 <= box.x1 <= paper.x1, artist
            assert paper.y0 <= box.y0 <= box.y1 <= paper.y1, artist
        assert axis.get_window_extent().width > 0.5 * paper.width  # the curves have most of the place
        assert len(axis.get_legend().get_texts()) == len(axis.lines) - 1  # all but the mark


@pytest.mark.parametrize("count", [1, 2, 4, 7])
@pytest.mark.parametrize("words", [1, 6, 12])
def test_labels_of_axes_are_beside_their_panels(count: int, words: int) -> None:
    """Long ones once ran into each other, with line ends as they are written in Python."""
    labels = [f"panel {k} [degrees] " + " ".join(["all contact"] * (words // 2)) for k in range(count)]
    figure = over_time(T, {label: {"one": T} for label in labels})
    figure.canvas.draw()
    boxes = [axis.yaxis.label.get_window_extent() for axis in figure.axes]
    assert all(above.y0 > below.y1 for above, below in pairwise(boxes))
    assert all(figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1 for box in boxes)
    assert all(figure.bbox.x0 <= box.x0 <= box.x1 <= axis.bbox.x0 for box, axis in zip(boxes, figure.axes, strict=True))
    assert [axis.get_ylabel().split() for axis in figure.axes] == [label.split() for label in labels]


def test_a_plot_is_a_file(tmp_path: Path) -> None:
    plot_over_time(tmp_path / "plot.png", T, {"count": {"one": T}})
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")

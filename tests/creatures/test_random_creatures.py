"""A few of the creatures that `python -m tests.random_creatures` makes by the hundred thousand."""

from __future__ import annotations

from tests.random_creatures import live


def test_random_creatures_end_well() -> None:
    lived = sum(not live(number).reason for number in range(150))
    assert lived > 15

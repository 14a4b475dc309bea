"""Ranges of numbers in settings: a file with another one is refused with its place, before anything is started."""

from typing import Annotated

from msgspec import Meta

LARGEST_COUNT = 10**9

Count = Annotated[int, Meta(ge=1, le=LARGEST_COUNT)]
Some = Annotated[int, Meta(ge=0, le=LARGEST_COUNT)]  # or none
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Factor = Annotated[float, Meta(ge=0.0, le=1000.0)]
Score = Annotated[float, Meta(ge=-1000.0, le=1000.0)]

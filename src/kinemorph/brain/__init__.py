"""Brains: neurons with functions, senses and effects. They are independent of worlds; `world.brains` runs them."""

from kinemorph.brain.brain import Brain, Effect, Neuron, Sense
from kinemorph.brain.layout import Acted, Function, Sensed

__all__ = ["Acted", "Brain", "Effect", "Function", "Neuron", "Sense", "Sensed"]

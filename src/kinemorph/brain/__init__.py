"""Brains: neurons with functions, what they sense and what they do. They know no world; `world.brains` runs them."""

from kinemorph.brain.brain import Brain, Effect, Neuron, Sense
from kinemorph.brain.layout import Acted, Function, Sensed

__all__ = ["Acted", "Brain", "Effect", "Function", "Neuron", "Sense", "Sensed"]

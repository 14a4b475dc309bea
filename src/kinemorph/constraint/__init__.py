"""Constraint rows between any two links of any trees: loops, gears, passive forces and their dynamics."""

"""The genotype of a creature: a directed graph, and the operators on it."""

"""Projected Gauss-Seidel over the rows of an island, with friction and restitution."""

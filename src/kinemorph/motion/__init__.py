"""Time: integrators, rollouts, and simulations with events that change the structure."""

"""Shapes of bodies and the meshes behind them."""

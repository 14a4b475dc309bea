"""MJCF in and out, and models from MuJoCo."""

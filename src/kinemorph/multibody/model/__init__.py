"""The parts of a model: links, joints, inertias, loops, force elements, actuators."""

"""What a model is made of: links, joints, inertias, loops, force elements, actuators."""

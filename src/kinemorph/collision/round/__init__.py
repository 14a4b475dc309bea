"""Round solids: exact distances and contacts of cylinders, cones and their like."""

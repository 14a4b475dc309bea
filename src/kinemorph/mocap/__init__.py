"""Motion capture: from recorded motion to the moments at the joints and the forces on the ground."""

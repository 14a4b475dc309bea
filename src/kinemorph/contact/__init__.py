"""Contact in time: what touches, limits and motors do to velocities, by one Gauss-Seidel solve of whitened rows."""

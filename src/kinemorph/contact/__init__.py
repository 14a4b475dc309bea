"""The constraint solver: contacts, limits, friction and motors, by Gauss-Seidel or Newton on whitened rows."""

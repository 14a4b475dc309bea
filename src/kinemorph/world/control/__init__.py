"""What acts in a world: motors, servos, forces, events, timers."""

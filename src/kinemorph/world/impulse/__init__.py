"""One step of a world under the impulse model (Fontijne 3.8.2)."""

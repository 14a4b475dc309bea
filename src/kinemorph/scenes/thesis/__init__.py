"""The demonstrations and experiments of Fontijne's thesis."""

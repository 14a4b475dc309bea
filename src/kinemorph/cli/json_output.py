"""Output for scripts: one JSON value on standard output."""

from __future__ import annotations


def print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2))

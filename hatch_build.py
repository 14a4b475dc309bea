"""The README as package indexes show it: its links and pictures, which are files here, lead to the repository there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Readme(MetadataHookInterface):
    """Called by hatchling when it builds: `readme` of the project's metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set it."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, metadata["urls"]["Homepage"])}


def absolute(text: str, home: str) -> str:
    """A text whose relative links lead to the main branch of a repository: pictures to the file, others to its page."""
    link = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)]+)\)")
    return link.sub(lambda m: f"{m[1]}[{m[2]}]({home}/{'raw' if m[1] else 'blob'}/main/{m[3]})", text)

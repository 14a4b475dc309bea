"""Elements to be written as XML, with numbers that are read back as the same bits."""

from __future__ import annotations

from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from kinemorph.spatial.pose import Matrix

INDENT = " "


class Tag:
    """One element: attributes that are None are left out, and numbers are written in full."""

    def __init__(self, name: str, text: Any = None, /, **attributes: Any) -> None:
        self.name = name
        self.text = None if text is None else number_text(text)
        self.attributes = {k: number_text(v) for k, v in attributes.items() if v is not None}
        self.children: list[Tag] = []

    def add(self, name: str, text: Any = None, /, **attributes: Any) -> Tag:
        child = Tag(name, text, **attributes)
        self.children.append(child)
        return child

    def __str__(self) -> str:
        """The text, without recursion: the bodies of a long chain lie deep in each other."""
        lines: list[str] = []
        waiting: list[tuple[Tag | str, str]] = [(self, "")]
        while waiting:
            tag, indent = waiting.pop()
            if isinstance(tag, str):
                lines.append(indent + tag)
                continue
            head = f"{indent}<{tag.name}" + "".join(f" {k}={quoteattr(v)}" for k, v in tag.attributes.items())
            if tag.text is not None:
                lines.append(f"{head}>{escape(tag.text)}</{tag.name}>")
            elif not tag.children:
                lines.append(f"{head}/>")
            else:
                lines.append(f"{head}>")
                waiting.append((f"</{tag.name}>", indent))
                waiting.extend((child, indent + INDENT) for child in reversed(tag.children))
        return "\n".join(lines) + "\n"


def number_text(value: Any) -> str:
    """A value as files have it: the shortest digits that mean the same number."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if np.ndim(value):
        return " ".join(number_text(v) for v in np.ravel(value).tolist())
    number = float(value)
    return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)


def quaternion_of(R: Matrix) -> list[float]:
    """w x y z, w not negative."""
    from kinemorph.multibody.convert.coordinates import rotation_quaternion

    x = rotation_quaternion(R)
    return (x if x[0] >= 0.0 else -x).tolist()


def rpy_of(R: Matrix) -> list[float]:
    """Roll, pitch and yaw about fixed axes."""
    pitch = float(np.arctan2(-R[2, 0], np.hypot(R[2, 1], R[2, 2])))
    if abs(R[2, 0]) > 1.0 - 1e-12:  # roll and yaw turn about one axis: all of it is yaw
        return [0.0, pitch, float(np.arctan2(-R[0, 1], R[1, 1]))]
    return [float(np.arctan2(R[2, 1], R[2, 2])), pitch, float(np.arctan2(R[1, 0], R[0, 0]))]

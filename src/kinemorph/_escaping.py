"""Text that others wrote, where it is shown: on pages, in terminals and in plots it is only ever text.

A name from a file may hold markup, control characters that a terminal obeys, or characters that turn the direction of
what follows. `plain` makes these visible; the others do that too, and escape what their place would interpret. Every
name goes through one of them where it is shown. Inside of the package names stay as they are.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

SHOWN_CHARACTERS = 2000  # characters of a text that are shown
PLOT_CHARACTERS = 100  # characters of one in a plot
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, format characters, halves of pairs, separators of lines
_JOINERS = {"\u200c", "\u200d"}  # format characters that scripts and emoji need


def plain(text: object, longest: int = SHOWN_CHARACTERS) -> str:
    """Text in one line, with control characters, line ends and changes of direction as they are written in Python."""
    words = str(text)
    cut = words if len(words) <= longest else f"{words[: longest - 1]}…"
    if cut.isascii() and cut.isprintable():
        return cut
    return "".join(_visible(c) for c in cut)


def in_html(text: object) -> str:
    """Text for an element or a quoted attribute of HTML or SVG."""
    return html.escape(plain(text), quote=True)


def in_terminal(text: object) -> str:
    """Text for a line that a console of `terminal` prints with its markup.

    Every bracket is escaped, not only those of a tag: two names in one line could make a tag together. Backslashes
    before it, or before what follows, are doubled, or they would escape the escape.
    """
    return re.sub(r"(\\*)(\[|$)", lambda m: f"{2 * m[1]}{m[2] and chr(92) + m[2]}", plain(text))


def terminal(stderr: bool = False, soft_wrap: bool = True) -> Console:
    """A console for lines with markup. Whatever does not come from the program goes through `in_terminal` first."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=soft_wrap, emoji=False, stderr=stderr)


def in_plot(text: object, longest: int = PLOT_CHARACTERS) -> str:
    """Text for Matplotlib, which sets what is between dollars as mathematics, and hides labels that begin with `_`."""
    words = plain(text, longest).replace("$", r"\$")
    return f" {words}" if words.startswith("_") else words


def lines(text: object) -> str:
    """A text of several lines, each of them `plain`."""
    return "\n".join(plain(line) for line in str(text).split("\n"))


def _visible(c: str) -> str:
    if c in _JOINERS or unicodedata.category(c) not in _UNSEEN:
        return c
    return repr(c)[1:-1]

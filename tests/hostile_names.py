"""Names that try to be more than names, wherever they are shown, and a generator of more of them."""

from __future__ import annotations

import random

# What they run sets `hit` in the page.
NAMES = (
    """<iframe srcdoc="<img src=x onerror=top.hit=1><script>top.hit=1</script>">""",
    "<img src=x onerror=window.hit=1>",
    "<svg/onload=window.hit=1>",
    "[x](javascript:window.hit=1)",
    "![x](x){onerror=hit=1}",
    "</script><script>window.hit=1</script>",
    "</title><script>window.hit=1</script>",
    "]]><script>window.hit=1</script>",
    '"onmouseover="window.hit=1" x="',
    "'onmouseover='window.hit=1' x='",
    "`code` **bold** _it_ # head",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    r"$\frac{1}{$",
    r"$x^2$ and $\undefined$",
    "_hidden",
    "www.evil.example https://evil.example a@evil.example",
    "&lt;b&gt; &#60;b&#62;",
    "\u202egnp.exe \u2066hidden\u2069 \u200f",
    "two\nlines\r\nand\ttabs",
    "\x1b[31mred\x1b]0;title\x07\x9b2J",
    "[red]red[/red] [link=http://evil.example]x[/link] [/] :smile:",
    "ends in a backslash \\",
    "and in two \\\\",
    "a\u2028b\u2029c",
    "\ufeff\u00ad\U000e0041",
    "\ud83d half of a pair",
    "x" * 3000,
    "名前 имя 🤖",
)  # fmt: skip

_PARTS = (
    *"<>\"'`&;:/\\=()[]{}$_*#@!%^~|\n\t\x00\x1b\x7f\x9b\u202e\u2028\ud800 ", "<script>", "</script>", "onerror=",
    "javascript:", "<!--", "-->", "]]>", "\\frac", "[bold]", "[/]", "&lt;", "&#x3c;", "\\[", "${", "{{", "http://e.vil",
    "a", "é", "名",
)  # fmt: skip


def hostile(count: int, seed: int) -> list[str]:
    """Names of pieces that mean something somewhere."""
    dice = random.Random(seed)
    return ["".join(dice.choices(_PARTS, k=dice.randint(1, 12))) for _ in range(count)]


def in_xml(names: list[str] | tuple[str, ...]) -> list[str]:
    """Those that XML can hold."""
    return [n for n in names if all(c in "\t\n\r" or (c >= "\x20" and not "\ud800" <= c <= "\udfff") for c in n)]

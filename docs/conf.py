"""How Sphinx builds the manual: make docs."""

import re
from html import escape
from importlib.metadata import version as version_of
from pathlib import Path
from types import ModuleType
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

import kinemorph as km
from kinemorph.scenes.gallery import DEMOS
from kinemorph.world.part import PartOf

project = "kinemorph"
author = "the kinemorph authors"
copyright = "the kinemorph authors, Apache-2.0"
release = version = version_of("kinemorph")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nitpicky = True

autosummary_generate = False  # one page has them all
autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
toc_object_entries = False
suppress_warnings = ["ref.python"]  # a body of a world and one of recorded motion are both a Body
nitpick_ignore_regex = [("py:.*", ".*")]  # types in signatures are words: many are NumPy's, whose pages are elsewhere

html_theme = "furo"
html_title = f"kinemorph {release}"
html_math_renderer = "mathml"


# Formulas become MathML, which browsers draw by themselves: a page loads nothing from another host, and a
# formula that does not parse fails the build.


def mathml(node: nodes.Element, *, block: bool) -> str:
    tex = re.sub(r"{align\*?}", "{aligned}", node.astext())  # docutils knows aligned, but not align
    try:
        return tex2mathml(tex, as_block=block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula: %s in %s", error, tex, location=node)
        return escape(tex)


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math"))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({node["number"]})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append(mathml(node, block=True) + "</div>\n")
    raise nodes.SkipNode


# Docstrings are plain text with `code` in it. For Sphinx, which reads reStructuredText, code gets its second tick, and
# what has a meaning there, and none here, is escaped.

CODE = re.compile(r"(`+[^`]*`+)")


def plain(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Make a docstring what Sphinx reads."""
    parts = enumerate(CODE.split("\n".join(lines)))
    told = (f"``{part.strip('`')}``" if k % 2 else re.sub(r"([*|\\_])", r"\\\1", part) for k, part in parts)
    lines[:] = "".join(told).split("\n")


ARRAY = re.compile(r"~?(?:numpy\.)?ndarray\[(?:[^\[\]]|\[[^\[\]]*\])*\]")
LIKE = re.compile(r"[~.\w]*_Buffer \| [~.\w]*_SupportsArray.*?_NestedSequence\[complex \| bytes \| str\]")


def shorter(
    app: Sphinx, what: str, name: str, thing: object, options: object, given: str, back: str
) -> tuple[Any, Any]:
    """A signature in which arrays are arrays, and not what NumPy makes of them."""
    return tuple(text and LIKE.sub("ArrayLike", ARRAY.sub("Array", text)) for text in (given, back))


class Names(SphinxDirective):
    """Public names, line by line: a table of them, and then all that their docstrings say."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        lines = [".. autosummary::", "   :nosignatures:", "", *(f"   {place(name)}" for name in self.content)]
        for name in self.content:
            lines += ["", *told(name)]
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


def place(name: str) -> str:
    """Where Sphinx finds a name: `view` is a folder as well as a function, and a module has a place of its own."""
    thing = getattr(km, name)
    if name == "view":
        return "kinemorph.view.live.viewer.view"
    return thing.__name__ if isinstance(thing, ModuleType) else f"kinemorph.{name}"


def told(name: str) -> list[str]:
    """The directive that tells of a name."""
    thing, at = getattr(km, name), place(name)
    if isinstance(thing, ModuleType) and name != "view":
        known = [each for each in getattr(thing, "__all__", ()) if each in km.__all__]
        return [f".. automodule:: {at}", "   :members:", f"   :exclude-members: {', '.join(known)}"]
    if not isinstance(thing, type):
        return [f".. autofunction:: {at}"]
    foreign = [base.__name__ for base in thing.__mro__ if not base.__module__.startswith("kinemorph")]
    kind = "autoexception" if issubclass(thing, BaseException) else "autoclass"
    lines = [f".. {kind}:: {at}", "   :members:", f"   :inherited-members: {', '.join(foreign)}"]
    for part in (found.kind for found in vars(thing).values() if isinstance(found, PartOf)):  # those of a world
        lines += ["", f".. autoclass:: {part.__module__}.{part.__qualname__}", "   :members:"]
    return lines


# A demonstration in the gallery plays in its page, if its replay is there: make docs makes some, make gallery all.

REPLAYS = Path(__file__).parents[1] / "build" / "gallery"
html_extra_path = [str(REPLAYS)] if REPLAYS.exists() else []
FRAME = (
    '<details class="replay"><summary>Play it here</summary><iframe loading="lazy" src="{0}" title="{1}" '
    'style="width:100%;height:26em;border:0"></iframe></details><p><a href="{0}">The replay alone</a></p>'
)


def play(app: Sphinx, doctree: nodes.document) -> None:
    """Put replays below the demonstrations of the gallery."""
    if app.env.current_document.docname != "gallery":
        return
    for section in doctree.findall(nodes.section):
        demo = DEMOS.get(section.next_node(nodes.title).astext())
        if demo and (REPLAYS / f"{demo.replay}.html").exists():
            section.append(nodes.raw("", FRAME.format(f"{demo.replay}.html", demo.sentence), format="html"))


def setup(app: Sphinx) -> None:
    app.add_directive("names", Names)
    app.connect("autodoc-process-docstring", plain)
    app.connect("autodoc-process-signature", shorter)
    app.connect("doctree-read", play)
    app.connect("env-get-outdated", lambda *_: ["gallery"])  # replays come and go
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))

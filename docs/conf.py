"""How Sphinx builds the manual: make docs."""

import re
from html import escape
from importlib.metadata import version as version_of

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

project = "kinemorph"
author = "the kinemorph authors"
copyright = "the kinemorph authors, Apache-2.0"
release = version = version_of("kinemorph")

extensions = ["myst_parser"]
myst_enable_extensions = ["amsmath", "deflist", "dollarmath", "fieldlist"]
myst_heading_anchors = 3
nitpicky = True

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


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))

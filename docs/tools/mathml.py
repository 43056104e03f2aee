"""Formulas as MathML, which browsers draw by themselves: no script, no font, no request."""

from __future__ import annotations

import re
from typing import Any

from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml


def setup(app: Any) -> None:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))


def _inline(visitor: Any, node: Any) -> None:
    from docutils import nodes

    visitor.body.append(_made(visitor, node, False))
    raise nodes.SkipNode


def _block(visitor: Any, node: Any) -> None:
    from docutils import nodes

    formula = _made(visitor, node, True)
    visitor.body.append(f'<div class="math" role="region" aria-label="formula" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def _made(visitor: Any, node: Any, block: bool) -> str:
    tex = re.sub(r"frac(\d)(\d)", r"frac{\1}{\2}", node.astext()).replace("\\dots ", "\\ldots ")
    try:
        return str(tex2mathml(tex, as_block=block))
    except (MathError, SyntaxError, ValueError) as error:
        from sphinx.util import logging

        logging.getLogger(__name__).warning("formula %r: %s", tex, error, location=node)
        return f"<code>{tex}</code>"

"""The frame of an SVG picture that stands alone: its size, its style, and its content in words.

Rule: no scripts and no external references; readable in dark mode, without colours and by screen readers.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.codecs.xml_escape import text_value

GROUND_STYLE = """
  svg { color-scheme: light dark; }
  text { font-family: system-ui, sans-serif; fill: #1f2430; }
  .note { font-size: 11px; fill: #5b6475; }
  .ground { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e8ebf2; }
    .note { fill: #a9b3c6; }
    .ground { fill: #191e27; } /* the console's cards */
  }
"""


def write_svg(
    drawn: Iterable[str], *, width: float, height: float, title: str, description: str, style: str = ""
) -> str:
    """Return the picture of these elements; ``style`` is added to that of the ground and of texts."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{text_value(title)}</title>',
            f'<desc id="desc">{text_value(description)}</desc>',
            f"<style>{GROUND_STYLE}{style}</style>",
            f'<rect class="ground" width="{width}" height="{height}"/>',
            *drawn,
            "</svg>",
            "",
        ]
    )

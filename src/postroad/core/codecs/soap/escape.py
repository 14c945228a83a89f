"""Text into XML: escaped only where a character asks for it, so that most values pass with one search."""

from __future__ import annotations

import re

_IN_TEXT = re.compile("[&<>\r]")
_IN_ATTRIBUTE = re.compile('[&<>"\t\n\r]')
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def _reference(found: re.Match[str]) -> str:
    return _REFERENCES[found.group()]


def text_value(text: str) -> str:
    return _IN_TEXT.sub(_reference, text) if _IN_TEXT.search(text) else text


def attribute_value(text: str) -> str:
    return _IN_ATTRIBUTE.sub(_reference, text) if _IN_ATTRIBUTE.search(text) else text

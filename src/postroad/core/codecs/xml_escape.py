"""Escapes text for XML, only where a character requires it."""

from __future__ import annotations

import re

_IN_TEXT = re.compile("[&<>\r]")
_IN_ATTRIBUTE = re.compile('[&<>"\t\n\r]')
_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def _reference(found: re.Match[str]) -> str:
    return _REFERENCES[found.group()]


def text_value(text: str) -> str:
    return text if text.isalnum() or not _IN_TEXT.search(text) else _IN_TEXT.sub(_reference, text)


def attribute_value(text: str) -> str:
    return text if text.isalnum() or not _IN_ATTRIBUTE.search(text) else _IN_ATTRIBUTE.sub(_reference, text)

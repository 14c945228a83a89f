"""Parses and compares content types: the media type, its parameters, and Accept."""

from __future__ import annotations

import re
from functools import lru_cache

NDJSON = "application/x-ndjson"
MULTIPART = "multipart/mixed"

_PARAMETER = re.compile(r';\s*([\w.-]+)\s*=\s*(?:"((?:[^"\\]|\\.){0,200})"|([^\s;"]{1,200}))', re.ASCII)


@lru_cache(maxsize=256)
def media_type_of(content_type: str) -> str:
    """``Text/XML; charset=utf-8`` → ``text/xml``."""
    return content_type.partition(";")[0].strip().lower()


def parameter_of(content_type: str, name: str) -> str:
    """The value of a parameter, or "" when there is none."""
    for key, quoted, plain in _PARAMETER.findall(content_type[:1000]):
        if key.lower() == name:
            return re.sub(r"\\(.)", r"\1", quoted) if quoted else str(plain)
    return ""


def parse_accept(accept: str) -> list[str]:
    """The media types and ranges of an Accept header, the most wanted first; those with q=0 are left out."""
    ranges: list[tuple[float, int, str]] = []
    for position, entry in enumerate(accept[:2000].split(",")[:50]):
        weight = _weight(parameter_of(entry, "q"))
        if weight > 0 and media_type_of(entry):
            ranges.append((-weight, position, media_type_of(entry)))
    return [media_type for _, _, media_type in sorted(ranges)]


def _weight(text: str) -> float:
    return float(text) if re.fullmatch(r"[01](?:\.\d{0,3})?", text) else 1.0

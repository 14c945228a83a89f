"""The document type declaration of an XML document: reads its system identifier, and removes it.

External identifiers are never fetched, and a document type with an internal subset is refused, as everywhere in the
network. Line numbers of the rest of the document do not change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from postroad.errors import Refused

_PROLOG = re.compile(rb"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*", re.DOTALL)
_LITERAL = rb"""(?:"([^"<>]*)"|'([^'<>]*)')"""
MAX_SUBSET = 64 << 10
_EXTERNAL = rb"(?:\s+(?:SYSTEM|PUBLIC\s+(?:\"[^\"<>]*\"|'[^'<>]*'))\s+" + _LITERAL + rb")?"
_OPENED = re.compile(rb"<!DOCTYPE\s+([^\s<>\[\"']+)" + _EXTERNAL + rb"\s*\[")
_SUBSET = re.compile(rb"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|\"[^\"]*\"|'[^']*'|\]\s*>", re.DOTALL)
_DOCTYPE = re.compile(
    rb"<!DOCTYPE\s+([^\s<>\[\"']+)(?:\s+(?:SYSTEM|PUBLIC\s+(?:\"[^\"<>]*\"|'[^'<>]*'))\s+" + _LITERAL + rb")?\s*>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctype:
    """The document type declaration of a document; empty if there is none."""

    document: bytes  # in UTF-8, without the declaration
    system_id: str = ""
    internal: str = ""  # the internal subset, between [ and ]


def read_doctype(utf8: bytes) -> Doctype:
    """Return the document without its declaration, and the declaration, including an internal subset."""
    prolog = _PROLOG.match(utf8)
    start = prolog.end() if prolog else 0
    opened = _OPENED.match(utf8, start)
    if opened is None:
        return without_doctype(utf8)
    closed = next(
        (token for token in _SUBSET.finditer(utf8, opened.end(), start + MAX_SUBSET) if token[0][:1] == b"]"), None
    )
    if closed is None:
        raise Refused(
            "wire.forbidden-markup",
            f"its document type declaration is not closed, or has more than {MAX_SUBSET} bytes; leave it out",
        )
    lines = b"\n" * utf8.count(b"\n", start, closed.end())
    return Doctype(
        document=utf8[:start] + lines + utf8[closed.end() :],
        system_id=(opened[2] or opened[3] or b"").decode(errors="replace"),
        internal=utf8[opened.end() : closed.start()].decode(errors="replace"),
    )


def without_doctype(utf8: bytes) -> Doctype:
    prolog = _PROLOG.match(utf8)
    start = prolog.end() if prolog else 0
    if not utf8.startswith(b"<!DOCTYPE", start):
        return Doctype(document=utf8)
    declared = _DOCTYPE.match(utf8, start)
    if declared is None:
        raise Refused(
            "wire.forbidden-markup",
            "a document type declaration may name a DTD and declare nothing itself; remove the part in [ ]",
        )
    lines = b"\n" * declared[0].count(b"\n")
    system_id = (declared[2] or declared[3] or b"").decode(errors="replace")
    return Doctype(document=utf8[:start] + lines + utf8[declared.end() :], system_id=system_id)

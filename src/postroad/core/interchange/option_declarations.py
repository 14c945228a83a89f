"""Writes the options that a splitter declares for each document of an interchange.

Rule: every document declares its delimiters as a property. The content type contains them if they are unusual, and
the charset if the document has letters beyond ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from postroad.core.interchange.document_options import (
    CHARSET_PROPERTY,
    DELIMITERS,
    DELIMITERS_PROPERTY,
    SYNTAX_PROPERTY,
)
from postroad.core.interchange.edifact.charsets import codec_of_syntax
from postroad.core.interchange.model import Member, Split

_USUAL = {
    "x12": ("2a 3a 7e 20", "2a 3a 7e 5e"),
    "edifact": ("3a 2b 2e 3f 20 27", "3a 2b 2e 3f 2a 27"),
}
_MSH_18 = {"UNICODE UTF-8": "utf-8"} | {f"8859/{number}": f"iso-8859-{number}" for number in range(1, 16)}


class OptionDeclarations:
    """The options to declare for the documents of one interchange."""

    def __init__(self, found: Split) -> None:
        self._standard, self._options = found.standard, found.facts
        self._delimiters = _delimiters(found.standard, found.facts)

    def properties(self) -> Iterator[tuple[str, str]]:
        """Return the properties that every document of the interchange declares."""
        if self._delimiters:
            yield DELIMITERS_PROPERTY, self._delimiters
        if self._standard == "edifact" and self._options.get("syntax"):
            yield SYNTAX_PROPERTY, self._options["syntax"]

    def charset(self, member: Member) -> str:
        """Return the charset of a document with letters beyond ASCII; empty if unknown."""
        if bytes(member.data).isascii():
            return ""
        if self._options.get("encoding"):
            return "utf-8"  # the reader has converted UTF-16
        if self._standard == "edifact":
            return _public_name(codec_of_syntax(self._options.get("syntax", "")))
        if self._standard == "x12":
            return "iso-8859-1" if self._options.get("charset") == "latin-1" else ""
        return _MSH_18.get(member.facts.get("charset", ""), "") if self._standard == "hl7" else ""

    def of(self, member: Member, content_type: str) -> tuple[str, tuple[tuple[str, str], ...]]:
        """Return the content type of a document with its parameters, and its own properties."""
        charset = self.charset(member)
        if self._delimiters and self._delimiters not in _USUAL[self._standard]:
            content_type += f"; delimiters={self._delimiters.replace(' ', '.')}"
        if charset:
            return f"{content_type}; charset={charset}", ((CHARSET_PROPERTY, charset),)
        return content_type, ()


def _delimiters(standard: str, options: Mapping[str, str]) -> str:
    if standard not in DELIMITERS:
        return ""
    latin = standard == "edifact" or options.get("charset") == "latin-1"
    marks = [options.get(name, "") or " " for name in DELIMITERS[standard]]
    return " ".join(mark.encode("latin-1" if latin else "utf-8", "replace").hex() for mark in marks)


def _public_name(codec: str) -> str:
    """Return the public name of a codec; None for ASCII, which has no characters that need one."""
    return {"utf-8": "utf-8", "ascii": ""}.get(codec, codec.replace("iso8859-", "iso-8859-"))

"""Writes the markup around the members of an XML wrapper.

Rule: every value of an envelope is escaped; a value with a character that XML does not allow is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.xml_escape import attribute_value, text_value
from postroad.core.interchange.assembly_errors import unfit_member, unfit_value
from postroad.core.interchange.model import Envelope
from postroad.core.interchange.xml_wrapper.outline import root_of
from postroad.errors import Refused

DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9._-]*")


def iter_roots(members: Iterable[Buffer]) -> Iterator[bytes]:
    """Yield the root element of each member."""
    for position, member in enumerate(members):
        try:
            yield bytes(root_of(member))
        except Refused as refused:
            raise unfit_member(position, f"it is not an XML document: {refused.detail}") from None


def write_element(name: str, text: str, *, of: str = "") -> str:
    """Write an element; ``of`` names the envelope value in refusals."""
    return f"<{name}>{text_value(check_value(of or name, text))}</{name}>"


def write_attribute(name: str, text: str) -> str:
    return f' {name}="{attribute_value(check_value(name, text))}"'


def check_value(name: str, text: str, longest: int = 0) -> str:
    if _NOT_XML.search(text):
        raise unfit_value(name, f"{text!r} has a character that XML does not allow")
    if longest and not 0 < len(text) <= longest:
        raise unfit_value(name, f"{text!r} should have 1 to {longest} characters")
    return text


def check_element_name(what: str, name: str) -> str:
    """Return a configured element name; refuses an invalid name, or a name with a prefix."""
    if not _NAME.fullmatch(name) or name.lower().startswith("xml"):
        raise unfit_value(what, f"{name!r} is not an element name: use a letter, then letters, digits, hyphens or dots")
    return name


def write_time(envelope: Envelope) -> str:
    """Format a time for XML Schema, in UTC."""
    moment = _EPOCH + timedelta(microseconds=envelope.at_us)
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z"

"""Reads and writes events in HTTP's binary mode: attributes are headers that begin with ``ce-``, the document is the body.

Header values are percent-coded as CloudEvents' HTTP binding defines it (section 3.1.3.2). Rule:
``header_text(header_value(text)) == text`` for every text, and the output of ``header_value`` is visible ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote, unquote

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cloudevents.documents import is_json_type
from postroad.core.codecs.cloudevents.event import Attribute, CloudEvent, attributes_of, event_of
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.refusals import malformed
from postroad.errors import Refused

_AS_IS = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)


def header_value(text: str) -> str:
    """The text for a header: everything but visible ASCII is percent-coded, and so are quotes and percent signs."""
    return quote(text, safe=_AS_IS)


def header_text(value: str) -> str:
    """Return the text of a header value. Older senders quote it; a percent sign that encodes nothing is kept."""
    value = value.strip(" \t")
    if not value.isascii():
        value = _from_bytes(value)
    quoted = _QUOTED.fullmatch(value) if value[:1] == '"' else None
    if quoted:
        value = re.sub(r"\\(.)", r"\1", quoted.group(1), flags=re.DOTALL)
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise malformed(f"the header value {value[:40]!r} codes bytes that are not UTF-8") from None


def _from_bytes(value: str) -> str:
    """HTTP servers read headers as Latin-1; who sent bare UTF-8 against the rules is understood all the same."""
    try:
        return value.encode("latin-1").decode()
    except (UnicodeEncodeError, UnicodeDecodeError):
        return value


PREFIX = "ce-"
_CONTENT_TYPE = "datacontenttype"


def read_binary(headers: Sequence[tuple[str, str]], body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> CloudEvent:
    """Return the event; attributes are texts, since headers have no other type."""
    if len(body) > limits.body_bytes:
        raise Refused("wire.too-large", f"the body has {len(body)} bytes; at most {limits.body_bytes} are allowed")
    attributes: dict[str, Attribute] = {}
    for name, value in headers:
        attribute = _attribute_of(name.lower())
        if attribute in attributes:
            raise malformed(f"the header {name[:40]} occurs twice")
        if attribute and (value or attribute != _CONTENT_TYPE):
            attributes[attribute] = value if attribute == _CONTENT_TYPE else header_text(value)
    return event_of(attributes, _document(str(attributes.get(_CONTENT_TYPE, "")), body), "", limits)


def _attribute_of(header: str) -> str:
    """The attribute that a header holds, or "" for headers that are none of ours."""
    if header == "content-type":
        return _CONTENT_TYPE
    if header == PREFIX + _CONTENT_TYPE:
        raise malformed("in binary mode the datacontenttype is the Content-Type; remove ce-datacontenttype")
    return header[len(PREFIX) :] if header.startswith(PREFIX) else ""


def _document(content_type: str, body: Buffer) -> bytes | None:
    """Return the document, or None. HTTP has no notation for "no body": an empty one is a document only if its type allows it."""
    if body or (content_type and not is_json_type(content_type)):
        return bytes(body)
    return None


def write_binary(event: CloudEvent) -> tuple[list[tuple[str, str]], bytes]:
    """Headers and body."""
    headers = [
        ("Content-Type", str(value)) if name == _CONTENT_TYPE else (PREFIX + name, header_value(_canonical(value)))
        for name, value in attributes_of(event)
    ]
    return headers, event.data or b""


def _canonical(value: Attribute) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

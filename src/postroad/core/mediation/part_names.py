"""Names of a part in each format: an ID here, a Content-ID or Content-Location in MIME, a URI in DIME.

``a@b`` is ``Content-ID: <a@b>`` and ``cid:a@b`` (RFC 2392). A URI that is not a ``cid:`` is the id itself and is
written as the part's Content-Location, so that references to it still work. A part without an id gets the number of
its position, which every reader derives again; so the number is never written. If the sender uses that number for
another part, it gets a mark.
"""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count
from urllib.parse import quote, unquote

from postroad.core.codecs.lexical import read_text
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.refusals import malformed
from postroad.core.model.message import Part

LOCATION = "Content-Location"
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_CID_SAFE = "!$&'()*+,;=:@/?-._~"


def name_of_place(number: int, said: Container[str]) -> str:
    """Return the name of a part without an ID; ``said`` has the names of the others."""
    name = str(number)
    return name if name not in said else next(marked for m in count(1) if (marked := f"{name}.{m}") not in said)


def has_own_id(part: Part, number: int | None) -> bool:
    """Whether its sender gave the part its id, rather than its place; without a place (None) any id counts."""
    return number is None or part.id != str(number)


def location_of(part: Part) -> str:
    return next((value for name, value in part.headers if name.lower() == LOCATION.lower()), "")


def is_located(part: Part) -> bool:
    """Whether the part is known by its Content-Location."""
    return part.id != "" and part.id == location_of(part)


def is_uri(text: str) -> bool:
    return _URI.match(text) is not None


def uri_of(part: Part) -> str:
    """The URI by which others refer to the part."""
    return part.id if is_located(part) and is_uri(part.id) else f"cid:{quote(encode_id(part.id), safe=_CID_SAFE)}"


def id_and_location(uri: str) -> tuple[str, str]:
    """Return the ID of a part with this URI, and its Content-Location unless the URI is a Content-ID's."""
    if uri[:4].lower() == "cid:":
        return _unquoted(uri[4:]), ""
    return uri, uri if is_uri(uri) else ""


def _unquoted(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return text


def encode_id(id: str) -> str:
    """Return the ID for a header: unprintable characters and surrounding spaces are percent-encoded."""
    if id.isprintable() and id == id.strip():
        return id
    return "".join(char if char.isprintable() and not char.isspace() else quote(char) for char in id)


def to_one_line(text: str) -> str:
    """A type or other attribute of a part in a form that is valid in a header."""
    if text.isprintable() and text == text.strip():
        return text
    return "".join(char if char.isprintable() else " " for char in text).strip()


def read_line(text: str, what: str, limits: WireLimits) -> str:
    """Return an ID or type that fits into any header: one line of printable characters."""
    if not text.isprintable():
        raise malformed(f"the {what} of a part is one line of printable characters")
    return read_text(text, what, limits)

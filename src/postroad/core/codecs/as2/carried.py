"""Headers of a document that has no layer around it: they stand among the headers of the HTTP request.

Kept rule: only these are the document's, in both directions. Everything else there is AS2's, HTTP's or some proxy's.
"""

from __future__ import annotations

from postroad.core.codecs.as2.headers import Headers
from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import Entity, entity_of, write_head
from postroad.errors import Refused

CARRIED = {
    "content-type": "Content-Type",
    "content-transfer-encoding": "Content-Transfer-Encoding",
    "content-disposition": "Content-Disposition",
    "content-description": "Content-Description",
    "content-language": "Content-Language",
    "content-location": "Content-Location",
    "content-id": "Content-ID",
}


def carried(headers: Headers) -> list[tuple[str, str]]:
    """The document's own headers, the first of each name."""
    found: dict[str, str] = {}
    for name, value in headers:
        if name.lower() in CARRIED:
            found.setdefault(CARRIED[name.lower()], value.strip(" \t\r\n"))
    return list(found.items())


def plain_entity(headers: Headers, body: Buffer, limits: WireLimits) -> Entity:
    """What the request carries, as an entity. Its ``raw`` is the body alone: the rest was never sent like that."""
    check_size(body, limits)
    try:
        head = write_head(carried(headers))
    except ValueError:
        raise Refused("as2.malformed", "A header has control characters or is no Latin-1; leave them out") from None
    return entity_of(head, body)

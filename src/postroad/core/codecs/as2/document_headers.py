"""Headers of a document without layers: they are among the headers of the HTTP request.

Rule: only these headers belong to the document, in both directions. All others belong to AS2, HTTP or a proxy. Fields
are as ``fields_of`` returns them: the first value of each name, by its lower-case name.
"""

from __future__ import annotations

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import Entity, entity_of, write_head
from postroad.errors import Refused

DOCUMENT_HEADERS = {
    "content-type": "Content-Type",
    "content-transfer-encoding": "Content-Transfer-Encoding",
    "content-disposition": "Content-Disposition",
    "content-description": "Content-Description",
    "content-language": "Content-Language",
    "content-location": "Content-Location",
    "content-id": "Content-ID",
}


def select_document_headers(fields: dict[str, str]) -> list[tuple[str, str]]:
    """Return the fields that describe the document, always in the same order."""
    return [(DOCUMENT_HEADERS[name], fields[name]) for name in DOCUMENT_HEADERS if name in fields]


def read_plain_entity(fields: dict[str, str], body: Buffer, limits: WireLimits) -> Entity:
    """Return the content of the request as an entity; ``raw`` is only the body, because no MIME header was sent."""
    check_size(body, limits)
    try:
        head = write_head(select_document_headers(fields))
    except ValueError:
        raise Refused("as2.malformed", "A header has control characters or is not Latin-1; remove them") from None
    return entity_of(head, body)

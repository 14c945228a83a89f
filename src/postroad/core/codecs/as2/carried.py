"""Headers of a document that has no layer around it: they stand among the headers of the HTTP request.

Kept rule: only these are the document's, in both directions. Everything else there is AS2's, HTTP's or some proxy's. Fields are
as ``fields_of`` finds them: the first value of each name, by its name in small letters.
"""

from __future__ import annotations

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


def carried(fields: dict[str, str]) -> list[tuple[str, str]]:
    """The document's own among the fields, in one order whatever theirs is."""
    return [(CARRIED[name], fields[name]) for name in CARRIED if name in fields]


def plain_entity(fields: dict[str, str], body: Buffer, limits: WireLimits) -> Entity:
    """What the request carries, as an entity. Its ``raw`` is the body alone: the rest was never sent like that."""
    check_size(body, limits)
    try:
        head = write_head(carried(fields))
    except ValueError:
        raise Refused("as2.malformed", "A header has control characters or is no Latin-1; leave them out") from None
    return entity_of(head, body)

"""Reads SOAP with attachments: finds the root of a multipart/related and the IDs of the other parts.

Rule: no guessing. Other readers could interpret a ``start`` that names no part, or two parts with one id,
differently; such a message is refused. Without a ``start`` the root is the first part, as in RFC 2387.

In XOP (MTOM), the root is XML whose binary values are parts beside it. Its includes stay as they are; they are
references.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime.entity import Entity
from postroad.core.codecs.mime.multipart import Multipart, multipart_of
from postroad.core.codecs.mime.multipart_type import read_multipart_type
from postroad.core.codecs.refusals import malformed
from postroad.errors import Refused

XOP = "application/xop+xml"


def is_xop(content_type: str) -> bool:
    """Whether this is the content type of a root that includes other parts."""
    return media_type_of(content_type) == XOP


class Related(Struct, frozen=True, eq=False):
    root: Entity
    others: tuple[Entity, ...]  # in the order in which they came
    start: str  # the id that Content-Type names as the root's, without <>; "" when it names none
    multipart: Multipart

    @property
    def is_xop(self) -> bool:
        """Whether the root includes other parts (MTOM)."""
        return is_xop(self.root.content_type)


def read_related(content_type: str, body: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> Related:
    kind = read_multipart_type(content_type, limits)
    if kind.subtype != "related":
        raise Refused("wire.unsupported", f"multipart/related is expected here, not {content_type[:80]!r}")
    multipart = multipart_of(kind, body, limits)
    parts = multipart.parts
    ids = [part.content_id for part in parts]
    if len(set(ids)) < len(ids):
        _check_unique(ids)
    place = _place_of(kind.start, ids) if kind.start else 0
    return Related(parts[place], parts[:place] + parts[place + 1 :], kind.start, multipart)


def _check_unique(ids: Sequence[str]) -> None:
    """Only parts without an id may be alike."""
    seen: set[str] = set()
    for place, text in enumerate(ids, 1):
        if text and text in seen:
            raise malformed(f"part {place} has the Content-ID {text[:80]!r} of a part before it; ids are unique")
        seen.add(text)


def _place_of(start: str, ids: Sequence[str]) -> int:
    """Return the index of the part whose ID is ``start``; exactly, or if only one of them is percent-encoded."""
    if start in ids:
        return ids.index(start)
    plain = [unquote(text) for text in ids]
    wanted = unquote(start.removeprefix("cid:"))
    if wanted not in plain:
        raise malformed(f"start names the part {start[:80]!r}, and no part has that Content-ID")
    return plain.index(wanted)

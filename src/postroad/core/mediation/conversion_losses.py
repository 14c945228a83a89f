"""Describes in sentences what is lost when a message is converted to a format.

Rule: everything that a reader of the written bytes cannot recover is named here: ids, types, headers, expirations,
and which parts are documents or attachments. Two spellings of one thing are no loss: ``text/xml`` and
``application/xml`` (RFC 7303).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime.parameters import read_parameters
from postroad.core.codecs.parts import RESERVED_HEADERS, XML
from postroad.core.mediation.mime_entities import reads_as_attachment
from postroad.core.mediation.part_names import LOCATION, encode_id, is_located, is_uri, to_one_line
from postroad.core.mediation.wrapper import Wrapper
from postroad.core.model.message import Part
from postroad.errors import Refused

LOSSY = "mediation.lossy"  # how the reason begins for which a delivery fails that would lose something
XML_TYPES = (XML, "text/xml")
USUAL_MULTIPARTS = ("multipart/mixed", "multipart/related")
_UTF_8 = ("", "utf-8", "us-ascii")


def _named(part: Part) -> str:
    return f"part {encode_id(part.id)[:80]}"


def headers_lost(part: Part, format: str, carried: Container[str] = ()) -> Iterator[str]:
    """Yield a sentence for each header that the format cannot represent; ``carried``: lower-case names that it can."""
    for name, _ in part.headers:
        if name.lower() not in carried:
            yield f"{_named(part)}: {name} cannot be represented in {format}"


def expiry_lost(part: Part, format: str) -> Iterator[str]:
    if part.expires_at_us:
        yield f"{_named(part)}: its expiration cannot be represented in {format}"


def id_lost(part: Part, format: str) -> Iterator[str]:
    if part.id != "1":
        yield f"{_named(part)}: its id cannot be represented in {format}"


def spelling_lost(part: Part) -> Iterator[str]:
    """Yield a sentence for an id or type that a header cannot contain unchanged."""
    if encode_id(part.id) != part.id:
        yield f"{_named(part)}: its ID is encoded, since it has characters that headers do not allow"
    if to_one_line(part.content_type) != part.content_type:
        yield f"{_named(part)}: its type is written in one line"


def type_lost(part: Part, format: str, meant: Container[str] = XML_TYPES) -> Iterator[str]:
    """Yield a sentence for the type of a document in an envelope, if it is more specific than XML."""
    if media_type_of(part.content_type) not in meant or not _is_bare(part.content_type):
        yield f"{_named(part)}: its type {to_one_line(part.content_type)[:80]} cannot be represented in {format}"


def _is_bare(content_type: str) -> bool:
    try:
        parameters = read_parameters(content_type)
    except Refused:
        return False
    return all(name == "charset" and value.lower() in _UTF_8 for name, value in parameters)


def places_lost(parts: Sequence[Part], format: str) -> Iterator[str]:
    """Yield a sentence for each part that changes its role, in formats with one document and attachments."""
    for number, part in enumerate(parts):
        if part.attachment != (number > 0):
            yield f"{_named(part)}: that it is {_kind(part)} cannot be represented in {format}"


def disposition_lost(parts: Iterable[Part], format: str) -> Iterator[str]:
    """Yield a sentence for each part with another disposition, for formats in which the disposition marks attachments."""
    for part in parts:
        if reads_as_attachment(part) != part.attachment:
            yield f"{_named(part)}: that it is {_kind(part)} cannot be represented in {format} beside its Content-Disposition"


def _kind(part: Part) -> str:
    return "an attachment, not a document," if part.attachment else "a document, not an attachment,"


def list_location_header(part: Part) -> tuple[str, ...]:
    """Return the name of the location header if the part's id is a URI, for formats that write this URI."""
    return (LOCATION.lower(),) if is_located(part) and is_uri(part.id) else ()


def action_lost(wrapper: Wrapper, format: str) -> Iterator[str]:
    """Yield a sentence for a SOAP action, in formats without one."""
    if said := wrapper.action.strip('" '):
        yield f"the SOAPAction {said[:80]} cannot be represented in {format}"


def wrapping_lost(wrapper: Wrapper) -> Iterator[str]:
    """Yield a sentence for each header of the multipart as a whole; only the original wrapper preserves these."""
    fields = wrapper.header_block().headers()
    declared = next((value for name, value in fields if name.lower() == "content-type"), wrapper.media_type)
    kind = media_type_of(declared)
    if not kind.startswith("multipart/"):
        return
    if kind not in USUAL_MULTIPARTS:
        yield f"that the parts came as {kind[:80]}"
    yield from whole_lost(fields)


def whole_lost(fields: Iterable[tuple[str, str]], carried: Container[str] = ()) -> Iterator[str]:
    for name, _ in fields:
        if name.lower() not in RESERVED_HEADERS and name.lower() not in carried:
            yield f"{name[:80]} of the message as a whole cannot be represented beside its parts"

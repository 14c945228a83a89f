"""GS1 XML: documents that follow one Standard Business Document Header.

Options of an envelope, with their defaults in parentheses:

    form            message, documents of one type in their GS1 message (orderMessage), or sbd, any in a
                    StandardBusinessDocument (message)
    message         name of the message, as namespace}local (that of the first member that is a message)
    multiple_type   yes, if documents of several types may follow one header (no)
    reference       the instance identifier (a newly drawn number) · authority of the parties' identifiers (GS1)
    document_type   (the name of the first document) · standard (GS1) · type_version (3.4)

A member is a document (order), or a message of documents with its own header: then its documents are used without that
header. Rule: all documents after a header have the same type unless ``multiple_type`` is set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from postroad.core.codecs.buffers import Buffer, whole_bytes
from postroad.core.codecs.xml import first_elements, to_utf8
from postroad.core.interchange.assembly_errors import unfit_member, unfit_value
from postroad.core.interchange.envelope_errors import judge_harmless, no_interchange
from postroad.core.interchange.model import MAX_MEMBERS, Envelope, InterchangeFault, Numbers, OnEnvelopeError, Split
from postroad.core.interchange.xml_wrapper.markup import (
    DECLARATION,
    check_element_name,
    write_attribute,
    write_element,
    write_time,
)
from postroad.core.interchange.xml_wrapper.outline import Outline, Path, local_name, namespace_of, read_outline, root_of
from postroad.core.interchange.xml_wrapper.own_root import members_in
from postroad.errors import Refused

STANDARD = "gs1"
HEADER = "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader"
_SBDH, _SBD = "StandardBusinessDocumentHeader", "StandardBusinessDocument"
_IDENTIFIED = f"{_SBDH}/DocumentIdentification"
_FACTS = {
    "standard": "Standard",
    "type_version": "TypeVersion",
    "document_type": "Type",
    "multiple_type": "MultipleType",
    "created": "CreationDateAndTime",
}


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Return every element after the header as a member; refused without a header."""
    found = read_outline(data, _is_member, most_members)
    texts = found.texts
    if not any(path.startswith(_IDENTIFIED) for path in texts):
        raise no_interchange(f"in the root {local_name(found.root)} there is no {_SBDH} that identifies documents")
    facts = {name: texts.get(f"{_IDENTIFIED}/{path}", "") for name, path in _FACTS.items()}
    form = "sbd" if local_name(found.root) == _SBD else "message"
    return Split(
        standard=STANDARD,
        reference=texts.get(f"{_IDENTIFIED}/InstanceIdentifier", ""),
        sender=texts.get(f"{_SBDH}/Sender/Identifier", ""),
        receiver=texts.get(f"{_SBDH}/Receiver/Identifier", ""),
        members=members_in(found),
        facts=facts | {"form": form, "message": found.root},
        faults=tuple(_faults(found, facts)),
    )


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    return judge_harmless(examine(data, most_members), on_error, ())


def assemble(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    """Yield the pieces of the stream; the type in the header is that of the first document."""
    form, mixed = envelope.options.get("form", "message"), envelope.options.get("multiple_type") in ("yes", "true")
    if form not in ("message", "sbd"):
        raise unfit_value("form", f"{form!r} is neither message nor sbd")
    wrapper, first = "", ""
    for position, document in _documents(members):
        if not wrapper:
            first = document.name
            wrapper, opening = _opening(envelope, form, document, numbers)
            yield opening
        if document.name != first and not mixed:
            detail = f"it is of type {local_name(document.name)}, but the header names {local_name(first)}; set multiple_type"
            raise unfit_member(position, detail)
        yield bytes(document.raw) + b"\n"
    if not wrapper:
        raise Refused("interchange.unfit", "a GS1 message must hold a document; nothing was given")
    yield f"</{wrapper}>\n".encode()


class _Document(NamedTuple):
    raw: Buffer
    name: str
    message: str  # name of the message that contained it; empty if it was posted alone


def _documents(members: Iterable[Buffer]) -> Iterator[tuple[int, _Document]]:
    for position, member in enumerate(members):
        try:
            documents = _documents_in(to_utf8(whole_bytes(member)))
        except Refused as refused:
            raise unfit_member(position, f"it is not an XML document: {refused.detail}") from None
        for document in documents:
            yield position, document


def _documents_in(utf8: bytes) -> list[_Document]:
    """Return the documents after a message's header; of a plain document, only the root name is read."""
    if _SBDH.encode() in utf8:
        found = read_outline(utf8, _is_member)
        if any(path.startswith(_SBDH) for path in found.texts):
            message = "" if local_name(found.root) == _SBD else found.root
            return [_Document(found.document(one), one.name, message) for one in found.members]
    root = root_of(utf8)
    return [_Document(root, first_elements(bytes(root), 1)[0], "")]


def _opening(envelope: Envelope, form: str, first: _Document, numbers: Numbers) -> tuple[str, bytes]:
    """Return the wrapper's qualified name, and everything before the first document."""
    header = _header(envelope, first, numbers)
    if form == "sbd":
        name, spaces = f"sh:{_SBD}", ""
    else:
        wanted = envelope.options.get("message") or first.message
        if not namespace_of(wanted):
            detail = "specify the GS1 message that contains the documents, as urn:gs1:ecom:order:xsd:3}orderMessage, or form sbd"
            raise unfit_value("message", detail)
        name, spaces = (
            f"message:{check_element_name('message', local_name(wanted))}",
            write_attribute("xmlns:message", namespace_of(wanted)),
        )
    return name, DECLARATION + f'<{name}{spaces} xmlns:sh="{HEADER}">\n{header}\n'.encode()


def _header(envelope: Envelope, first: _Document, numbers: Numbers) -> str:
    options = envelope.options
    authority = write_attribute("Authority", options.get("authority", "GS1"))
    reference = options.get("reference") or str(numbers.next("interchange"))
    identified = "".join(
        (
            write_element("sh:Standard", options.get("standard", "GS1"), of="standard"),
            write_element("sh:TypeVersion", options.get("type_version", "3.4"), of="type_version"),
            write_element("sh:InstanceIdentifier", reference, of="reference"),
            write_element("sh:Type", options.get("document_type") or local_name(first.name), of="document_type"),
            write_element("sh:MultipleType", "true" if options.get("multiple_type") in ("yes", "true") else "false"),
            write_element("sh:CreationDateAndTime", write_time(envelope)),
        )
    )
    parties = "".join(
        f"<sh:{side}>{_identifier(side, party, authority)}</sh:{side}>"
        for side, party in (("Sender", envelope.sender), ("Receiver", envelope.receiver))
    )
    whole = f"<sh:HeaderVersion>1.0</sh:HeaderVersion>{parties}"
    whole += f"<sh:DocumentIdentification>{identified}</sh:DocumentIdentification>"
    return f"<sh:{_SBDH}>{whole}</sh:{_SBDH}>"


def _identifier(side: str, party: str, authority: str) -> str:
    return write_element("sh:Identifier", party, of=side.lower()).replace(
        "<sh:Identifier>", f"<sh:Identifier{authority}>", 1
    )


def _is_member(path: Path) -> bool:
    return len(path) == 2 and local_name(path[1]) != _SBDH


def _faults(found: Outline, facts: dict[str, str]) -> Iterator[InterchangeFault]:
    kinds = {one.name for one in found.members}
    if len(kinds) > 1 and facts["multiple_type"] not in ("true", "1"):
        named = ", ".join(sorted(map(local_name, kinds)))
        yield InterchangeFault(code="gs1.type", text=f"the header has one document type, but there are {named}")
    if not found.members:
        yield InterchangeFault(code="gs1.empty", text="there is no document after the header")

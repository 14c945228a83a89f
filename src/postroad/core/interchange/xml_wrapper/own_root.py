"""Documents as child elements of a root element that the user chooses.

Options of an envelope, with their defaults in parentheses:

    root        name of the root element (batch) · namespace of the root (none)
    reference   name of the batch (a newly drawn number)
    attributes  no, for a root without attributes for parties, time and reference (yes)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.envelope_errors import judge_harmless
from postroad.core.interchange.model import (
    MAX_MEMBERS,
    Envelope,
    InterchangeFault,
    Member,
    Numbers,
    OnEnvelopeError,
    Split,
)
from postroad.core.interchange.xml_wrapper.markup import (
    DECLARATION,
    check_element_name,
    iter_roots,
    write_attribute,
    write_time,
)
from postroad.core.interchange.xml_wrapper.outline import Outline, local_name, namespace_of, read_outline

STANDARD = "xml"
_PREFIX = "wrapper"  # the root's prefix; members without a namespace would inherit a default namespace


def examine(data: Buffer, most_members: int = MAX_MEMBERS) -> Split:
    """Return every child of the root as a member; refuses malformed XML."""
    found = read_outline(data, lambda path: len(path) == 2, most_members)
    said = found.attributes
    return Split(
        standard=STANDARD,
        reference=said.get("reference", ""),
        sender=said.get("sender", ""),
        receiver=said.get("receiver", ""),
        members=members_in(found),
        facts={
            "root": local_name(found.root),
            "namespace": namespace_of(found.root),
            "created": said.get("created", ""),
        },
        faults=tuple(_faults(found)),
    )


def split(data: Buffer, on_error: OnEnvelopeError = OnEnvelopeError.REFUSE, most_members: int = MAX_MEMBERS) -> Split:
    return judge_harmless(examine(data, most_members), on_error, ())


def assemble(members: Iterable[Buffer], envelope: Envelope, numbers: Numbers) -> Iterator[bytes]:
    """Yield the pieces of the stream: members in order, each on a new line."""
    name, opening = _opening(envelope, numbers)
    yield DECLARATION + f"<{opening}>\n".encode()
    for root in iter_roots(members):
        yield root + b"\n"
    yield f"</{name}>\n".encode()


def members_in(found: Outline) -> tuple[Member, ...]:
    """Return the members as standalone documents; a member's reference is its position, from 1."""
    return tuple(
        Member(
            data=found.document(one),
            kind=local_name(one.name),
            reference=str(number),
            facts={"namespace": namespace_of(one.name)},
        )
        for number, one in enumerate(found.members, 1)
    )


def _faults(found: Outline) -> Iterator[InterchangeFault]:
    """Return an error if the wrapper declares a different number of members."""
    said = found.attributes.get("count", "")
    if said and said != str(len(found.members)):
        yield InterchangeFault(
            code="xml.count", text=f"the root specifies {said!r} members, but there are {len(found.members)}"
        )


def _opening(envelope: Envelope, numbers: Numbers) -> tuple[str, str]:
    options = envelope.options
    name = check_element_name("root", options.get("root", "batch"))
    uri = options.get("namespace", "")
    name, declared = (f"{_PREFIX}:{name}", write_attribute(f"xmlns:{_PREFIX}", uri)) if uri else (name, "")
    if options.get("attributes", "yes") == "no":
        return name, name + declared
    said = {"sender": envelope.sender, "receiver": envelope.receiver, "created": write_time(envelope)}
    said["reference"] = options.get("reference") or str(numbers.next("interchange"))
    return name, name + declared + "".join(write_attribute(key, value) for key, value in said.items())

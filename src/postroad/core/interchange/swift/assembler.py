"""Assembles FIN messages into one file, as a stream of pieces.

Options of an envelope, with their defaults in parentheses:

    form      rje, with $ between messages, or dos_pcc, each filled up to sectors of 512 bytes (rje)
    charset   x, y or z: the characters that SWIFT allows in texts, or any (x)

A member is a message, or a file of messages from an application. Rules: lines end with CR LF, as SWIFT requires; nothing
else in a message changes. A character that the form or SWIFT does not allow is refused, never replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from postroad.core.codecs.buffers import Buffer
from postroad.core.interchange.assembly_errors import unfit_member, unfit_value
from postroad.core.interchange.model import Envelope, Member, Numbers, OnEnvelopeError, Placed, PlacedCallback
from postroad.core.interchange.swift.splitter import BEGIN, END, SECTOR, split
from postroad.errors import Refused

_X = rb"A-Za-z0-9/\-?:().,'+ \r\n{}"
_FOREIGN = {
    "x": re.compile(rb"[^" + _X + rb"]"),
    "y": re.compile(rb"[^A-Z0-9 .,\-()/='+:?!\"%&*<>;\r\n{}a-z]"),  # block headers and tags may be in lower case
    "z": re.compile(rb"[^" + _X + rb"=!\"%&*<>;@#_]"),
    "any": re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]"),
}
_LINE_END = re.compile(rb"\r\n|\r|\n")


def assemble(
    members: Iterable[Buffer],
    envelope: Envelope,
    numbers: Numbers,
    placed: PlacedCallback | None = None,
) -> Iterator[bytes]:
    """Yield the pieces of the stream; parties and numbers are in the messages, so the envelope's are not used."""
    write, foreign = _form(envelope), _charset(envelope)
    first = True
    for position, member in enumerate(members):
        for message in _messages(member, position):
            if placed is not None:
                placed(_place(message, position))
            yield write(_checked(message, foreign, position), first)
            first = False


def _form(envelope: Envelope) -> Callable[[bytes, bool], bytes]:
    form = envelope.options.get("form", "rje")
    if form not in _FORMS:
        raise unfit_value("form", f"{form!r} is not one of {', '.join(_FORMS)}")
    return _FORMS[form]


def _charset(envelope: Envelope) -> re.Pattern[bytes]:
    charset = envelope.options.get("charset", "x").lower()
    if charset not in _FOREIGN:
        raise unfit_value("charset", f"{charset!r} is not one of {', '.join(_FOREIGN)}")
    return _FOREIGN[charset]


def _messages(member: Buffer, position: int) -> tuple[Member, ...]:
    try:
        return split(member, OnEnvelopeError.REPAIR).members
    except Refused as refused:
        raise unfit_member(position, refused.detail) from None


def _checked(message: Member, foreign: re.Pattern[bytes], position: int) -> bytes:
    raw = bytes(message.data)
    found = foreign.search(raw) or re.search(rb"[$\x01\x03]", raw)
    if found:
        shown = repr(found.group().decode("latin-1"))
        raise unfit_member(
            position, f"message {message.reference} has {shown} at byte {found.start()}, which is not allowed"
        )
    return _LINE_END.sub(b"\r\n", raw)


def _place(message: Member, position: int) -> Placed:
    """Return the position of a message by its references, because a file of FIN messages has no number."""
    user_reference = message.facts.get("user_reference", "")
    facts = {"user_reference": user_reference} if user_reference else {}
    return Placed(position=position, interchange="", kind=message.kind, reference=message.reference, facts=facts)


def _as_rje(message: bytes, first: bool) -> bytes:
    return message if first else b"$" + message


def _as_dos_pcc(message: bytes, _first: bool) -> bytes:
    framed = BEGIN + message + END
    return framed + b" " * (-len(framed) % SECTOR)


_FORMS = {"rje": _as_rje, "dos_pcc": _as_dos_pcc}

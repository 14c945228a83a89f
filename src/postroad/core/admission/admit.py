"""Checks that a message is complete, not expired, and sent under the caller's own name.

Checks of single recipients are part of routing.
"""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Message, MessageType
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

MAX_RECIPIENTS = 10_000
MAX_HANDLE_CHARS = 255
ADDRESSED = frozenset({MessageType.REQUEST, MessageType.NOTIFICATION})


class Admitted(Struct, gc=False, frozen=True):
    """A message that may be routed."""

    message: Message
    sender: Service
    caller: Caller
    at_us: int
    expires_at_us: int


def admit(message: Message, caller: Caller, directory: Directory, now_us: int) -> Admitted:
    """Return the message with its sender verified, or raise Refused."""
    return _admitted(message, _sender(message, caller, directory), caller, now_us)


def admit_next(message: Message, before: Admitted) -> Admitted:
    """Admit another message of the same call that names no sender; it gets the sender of the one before."""
    return _admitted(message, before.sender, before.caller, before.at_us)


def _admitted(message: Message, sender: Service, caller: Caller, now_us: int) -> Admitted:
    if len(message.handle) > MAX_HANDLE_CHARS:
        raise Refused("value.invalid", f"A handle has at most {MAX_HANDLE_CHARS} characters", pointer="/handle")
    if message.type in ADDRESSED:
        _check_addressed(message)
    else:
        _check_referring(message)
    if message.expires_at_us and message.expires_at_us <= now_us:
        raise Refused("message.expired", "The expiration is in the past; use a later one, or none")
    expires_at_us = message.expires_at_us or now_us + sender.default_expiration_s * 1_000_000
    return Admitted(message, sender, caller, now_us, expires_at_us)


def _sender(message: Message, caller: Caller, directory: Directory) -> Service:
    sender = caller.service
    if sender is None:
        raise Refused("permission.denied", "Messages are posted with a service's own credentials, not a person's")
    if (
        message.sender
        and message.sender not in (sender.gcid, sender.address)
        and directory.service(message.sender) is not sender
    ):
        raise Refused(
            "sender.mismatch",
            f"From is {message.sender[:120]!r}, but these credentials belong to {sender.address}; "
            "leave From out or use that service's own credentials",
            pointer="/from",
        )
    if directory.is_suspended(sender):
        raise Refused("sender.suspended", f"{sender.address} is suspended; please contact the network's operator")
    return sender


def _check_addressed(message: Message) -> None:
    if not message.to:
        raise Refused("recipient.missing", f"A {message.type.value} needs at least one recipient in To", pointer="/to")
    if len(message.to) > MAX_RECIPIENTS:
        raise Refused(
            "recipient.too-many",
            f"At most {MAX_RECIPIENTS} recipients are allowed per message; split the list",
            pointer="/to",
        )
    if message.reference:
        raise Refused(
            "message.unexpected-field", f"A {message.type.value} cannot have a reference", pointer="/reference"
        )


def _check_referring(message: Message) -> None:
    if not message.reference:
        what = "the session ID of the message to cancel" if message.type is MessageType.CANCEL else "a delivery's token"
        raise Refused("message.incomplete", f"A {message.type.value} needs a reference: {what}", pointer="/reference")
    for given, place in ((message.to, "/to"), (message.route, "/route"), (message.expires_at_us, "/expiration")):
        if given:
            raise Refused(
                "message.unexpected-field",
                f"A {message.type.value} cannot have {place[1:]!r}; the reference determines them",
                pointer=place,
            )

"""A message as a forward lets it go on: its parts and header, and the keys by which it goes only once."""

from __future__ import annotations

from msgspec import Struct

from postroad.core.admission.admit import Admitted
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Delivered, Message, MessageType, Part
from postroad.core.model.snapshot import Directory
from postroad.core.projection.keys import assembled_keys, forward_key, relay_key
from postroad.core.routing.forwards import Forward, is_relayed, told_apart, with_content

FORM = "hosted"  # of what a binding has made, which never was on a wire


class Sent(Struct, gc=False, frozen=True):
    """What all forwards of one delivery have in common."""

    caller: Caller
    delivered: Delivered
    queued: Queued
    through: tuple[str, ...]
    setting: bytes

    @property
    def origin(self) -> str:
        """The session of what was posted."""
        before = self.queued.message.forwarded
        return self.queued.message.session if before is None else before.origin or before.session


class Going:
    """The message as one of the forwards lets it go on, and as rules of receivers look at it."""

    def __init__(self, sent: Sent, forward: Forward, now_us: int) -> None:
        exchange, delivered, made = sent.caller.service, sent.delivered, forward.part
        if exchange is None:
            raise TypeError("messages are forwarded by a service")
        came = () if forward.alone else delivered.parts
        self.parts: tuple[Part, ...] = delivered.parts if made is None else with_content(came, made)
        self.setting = sent.setting if made is None else b""
        self.form = sent.queued.message.form if made is None else FORM
        self.written_by = "" if forward.assembled is not None else delivered.sender_gcid
        lasts_us = exchange.default_expiration_s * 1_000_000
        message = Message(
            type=MessageType.NOTIFICATION,
            topic=delivered.topic if forward.topic is None else forward.topic,
            handle="" if forward.alone else delivered.handle,
            properties=delivered.properties if forward.properties is None else forward.properties,
            parts=self.parts,
        )
        expires_at_us = delivered.expires_at_us if forward.assembled is None else now_us + lasts_us
        self.admitted = Admitted(message, exchange, sent.caller, now_us, expires_at_us)


def keys_of(sent: Sent, name: str, parts: tuple[Part, ...], forward: Forward, directory: Directory) -> tuple[int, ...]:
    """By which it is forwarded once; the first of them is its own."""
    if forward.alone:
        own = forward_key(sent.queued.origin or sent.queued.number, name)
    elif is_relayed(forward, directory):  # the way by which it came is no part of this
        own = relay_key(sent.origin, sent.queued.recipient, name, told_apart(sent.through, parts))
    else:
        own = forward_key(sent.queued.number, name)
    numbers = () if forward.assembled is None else assembled_keys(forward.assembled)
    return (own, *((forward.once,) if forward.once else ()), *numbers)


def passed_by(message: MessagePosted) -> tuple[str, ...]:
    return message.forwarded.through if message.forwarded is not None else ()

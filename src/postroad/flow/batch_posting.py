"""Interchanges on their way into the journal: messages in the batcher's name, to whom it sends to, by that one's rules."""

from __future__ import annotations

from collections.abc import Callable

from postroad.core.admission.admit import Admitted
from postroad.core.admission.permission import permitted
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Service
from postroad.core.model.interchange import Assembled
from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import Message
from postroad.core.routing.explanation import pack
from postroad.core.routing.forwarding import forwarded_copies
from postroad.errors import Refused
from postroad.flow.network import Network
from postroad.flow.posting import body_of, part_facts
from postroad.ports import Step

FORM = "interchange"

Facts = Callable[[str, int], tuple[Assembled, tuple[int, ...]]]  # of a session and a moment: what it is, and its keys


def caller_for(service: Service) -> Caller:
    """A batcher is as safe as the network itself, so it meets every policy."""
    return Caller(service=service, level=AuthenticationLevel.CERTIFICATE, secure=True)


def interchange_step(network: Network, service: Service, sends_to: str, message: Message, facts: Facts) -> Step:
    """The post of an interchange; Refused where whom it is for cannot be sent to now."""
    directory, now_us = network.directory, network.clock.now_us()
    receiver = permitted(service, sends_to, directory)
    session = ids.session(now_us, network.randomness.bytes(10))
    expires_at_us = now_us + service.default_expiration_s * 1_000_000
    admitted = Admitted(message, service, caller_for(service), now_us, expires_at_us)
    copies, tried = forwarded_copies(admitted, service.gcid, [receiver], directory, FORM)
    if copies[0].code:
        raise Refused(copies[0].code, copies[0].detail)
    explanation = pack(tried) if tried else b""
    assembled, keys = facts(session, now_us)
    entry = MessagePosted(
        at_us=now_us,
        session=session,
        transaction=session,
        sender=service.gcid,
        type=message.type,
        topic=message.topic,
        size=sum(len(part.data) for part in message.parts),
        wire_size=0,
        form=FORM,
        expires_at_us=expires_at_us,
        directory=directory.version,
        parts=part_facts(message.parts),
        copies=copies,
        properties=message.properties,
        keys=keys,
        explained=len(explanation),
        assembled=assembled,
    )
    return Step(entry, body_of(message.parts, explanation), keys)

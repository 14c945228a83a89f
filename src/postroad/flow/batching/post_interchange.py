"""Post interchanges in the batcher's name, routed by the rules of the service they are sent to."""

from __future__ import annotations

from collections.abc import Callable

from postroad.core.admission.admit import Admitted
from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.model import ids
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.message import Message
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.forward import forwarded_copies
from postroad.errors import Refused
from postroad.flow.network import Network
from postroad.flow.stages import entries
from postroad.flow.stages.posting import encode_body
from postroad.ports import JournalStep

InterchangeFacts = Callable[
    [str, int], tuple[AssembledInterchange, tuple[int, ...]]
]  # of a session and a moment: what it is, and its keys


def build_interchange_step(
    network: Network, service: Service, sends_to: str, message: Message, facts: InterchangeFacts
) -> JournalStep:
    """Build the step that posts an interchange; raises Refused if its receiver cannot be sent to now."""
    directory, now_us = network.directory, network.clock.now_us()
    receiver = find_permitted_recipient(service, sends_to, directory)
    session = ids.session(now_us, network.randomness.bytes(10))
    expires_at_us = now_us + service.default_expiration_s * 1_000_000
    admitted = Admitted(message, service, Caller.inside(service), now_us, expires_at_us)
    copies, tried = forwarded_copies(admitted, service.gcid, [receiver], directory, entries.INTERCHANGE)
    if copies[0].code:
        raise Refused(copies[0].code, copies[0].detail)
    explanation = pack_tried(tried) if tried else b""
    assembled, keys = facts(session, now_us)
    entry = entries.build_interchange(
        admitted,
        session=session,
        directory_version=directory.version,
        copies=copies,
        explained=len(explanation),
        keys=keys,
        assembled=assembled,
    )
    return JournalStep(entry, encode_body(message.parts, explanation), keys)

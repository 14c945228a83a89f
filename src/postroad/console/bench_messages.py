"""The message on the bench: one that was posted, one that is pasted whole, or a document with the little that a header needs.

Kept rule: a message that was posted is taken only by those who may see it, and that they have looked is on record.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.console.editing import Faulty
from postroad.console.guarding import FORM_BYTES
from postroad.core.codecs.detect import codec_for
from postroad.core.codecs.limits import WireLimits
from postroad.core.configuration.document import Fault
from postroad.core.model.caller import Caller
from postroad.core.model.ids import SESSION
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.flow.administration_trying import stored_message
from postroad.flow.network import Network

LIMITS = WireLimits(body_bytes=FORM_BYTES)
WHOLE, DOCUMENT = "message", "document"
KINDS = (
    (DOCUMENT, "a document alone; the fields beside it say the rest"),
    (WHOLE, "a whole message, in JSON or SOAP as it is posted"),
)


async def message_in(network: Network, caller: Caller, form: Mapping[str, str], sender: str = "") -> Message:
    """The message that a form means; ``sender`` is who sends a document where the form does not say. Raises Faulty."""
    session, pasted = form.get("session", "").strip(), form.get("document", "").strip()
    if session and pasted:
        raise Faulty([Fault("/session", "take either a message that was posted, or what is pasted; clear one of both")])
    if session:
        return await posted(network, caller, session)
    if not pasted:
        raise Faulty([Fault("/document", "paste a document or a message, or give the session of one that was posted")])
    if form.get("kind") == WHOLE:
        kind = "text/xml" if pasted.startswith("<") else "application/json"
        return codec_for(kind, pasted.encode()).decode_post(pasted.encode(), LIMITS)
    return _around(pasted, form, sender)


async def posted(network: Network, caller: Caller, session: str) -> Message:
    if not SESSION.match(session):
        raise Faulty([Fault("/session", "this is no session; it stands on the page of the message")])
    return await stored_message(network, caller, session)


def _around(document: str, form: Mapping[str, str], sender: str) -> Message:
    to = form.get("to", "").strip()
    return Message(
        sender=form.get("from", "").strip() or sender,
        to=(Recipient(to),) if to else (),
        type=MessageType.NOTIFICATION,
        topic=form.get("topic", "").strip(),
        parts=(Part(id="1", content_type=content_type_of(document), data=document.encode()),),
    )


def content_type_of(document: str) -> str:
    first = document.lstrip()[:1]
    return {"<": "application/xml", "{": "application/json", "[": "application/json"}.get(first, "text/plain")

"""The message for a trial: a posted message, a pasted message, or a document with a few header fields.

Rule: only people who may see a posted message can use it, and its use is recorded as access.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.console.form_values import InvalidForm
from postroad.console.page_guards import FORM_BYTES
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.native_formats import codec_for
from postroad.core.configuration.document import DocumentError
from postroad.core.model.caller import Caller
from postroad.core.model.ids import SESSION
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.flow.administration.try_out.rules import load_stored_message
from postroad.flow.network import Network

LIMITS = WireLimits(body_bytes=FORM_BYTES)
WHOLE, DOCUMENT = "message", "document"
KINDS = (
    (DOCUMENT, "a document only; the fields below set the header"),
    (WHOLE, "a whole message, in JSON or SOAP"),
)


async def read_message(network: Network, caller: Caller, form: Mapping[str, str], sender: str = "") -> Message:
    """Read the message of a form; ``sender`` is the default sender of a document. Raises InvalidForm."""
    session, pasted = form.get("session", "").strip(), form.get("document", "").strip()
    if session and pasted:
        raise InvalidForm(
            [DocumentError("/session", "use either a stored message or a pasted one; clear one of the two fields")]
        )
    if session:
        return await load_posted_message(network, caller, session)
    if not pasted:
        raise InvalidForm(
            [DocumentError("/document", "paste a document or a message, or enter the session ID of a stored message")]
        )
    if form.get("kind") == WHOLE:
        kind = "text/xml" if pasted.startswith("<") else "application/json"
        return codec_for(kind, pasted.encode()).decode_post(pasted.encode(), LIMITS)
    return _wrap_document(pasted, form, sender)


async def load_posted_message(network: Network, caller: Caller, session: str) -> Message:
    if not SESSION.match(session):
        raise InvalidForm([DocumentError("/session", "not a session ID; the page of the message shows it")])
    return await load_stored_message(network, caller, session)


def _wrap_document(document: str, form: Mapping[str, str], sender: str) -> Message:
    to = form.get("to", "").strip()
    return Message(
        sender=form.get("from", "").strip() or sender,
        to=(Recipient(to),) if to else (),
        type=MessageType.NOTIFICATION,
        topic=form.get("topic", "").strip(),
        parts=(Part(id="1", content_type=guess_content_type(document), data=document.encode()),),
    )


def guess_content_type(document: str) -> str:
    first = document.lstrip()[:1]
    return {"<": "application/xml", "{": "application/json", "[": "application/json"}.get(first, "text/plain")

"""The JSON objects of the wire, field by field; names are the ones that clients see.

Unknown fields are refused, so that a misspelled one is noticed by its author and not by a receiver.
"""

from __future__ import annotations

from msgspec import UNSET, Raw, Struct, UnsetType, field

from postroad.core.model.message import MessageType
from postroad.core.model.polling import Outcome
from postroad.errors import Refused

Value = Raw | str | bool | dict[str, str]


class JsonShape(Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel", kw_only=True):
    """Base class of all JSON objects on the wire; unknown fields are refused."""


class JsonService(JsonShape):
    service: str
    arguments: dict[str, str] = {}


class JsonStatus(JsonShape):
    code: str
    text: str = ""


class JsonPart(JsonShape):
    id: str = ""
    content_type: str = ""
    text: str | UnsetType = UNSET
    json: Raw | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    expiration: str = ""
    headers: dict[str, str] = {}


class JsonPost(JsonShape):
    sender: str = field(default="", name="from")
    to: list[str | JsonService] = []
    type: MessageType = MessageType.NOTIFICATION
    topic: str = ""
    handle: str = ""
    possible_duplicate: bool = False
    reference: str = ""
    expiration: str = ""
    routing: str = ""
    route: list[str | JsonService] = []
    properties: dict[str, Raw] = {}
    status: JsonStatus | None = None
    documents: list[JsonPart] = []
    attachments: list[JsonPart] = []
    traceparent: str = ""
    tracestate: str = ""


class JsonReference(JsonShape):
    session: str
    handle: str = ""


class JsonParty(JsonShape):
    """A service as the network knows it: address and GCID."""

    service: str
    gcid: str = ""
    arguments: dict[str, str] = {}


class JsonPassed(JsonShape):
    """A service that the message has passed, and when it answered."""

    service: str
    at: str
    status: JsonStatus | None = None


class JsonCookie(JsonShape):
    """What the receiver has registered for messages from this sender; XML travels as text."""

    content: str
    content_type: str = "text/plain"


class JsonDelivered(JsonShape, kw_only=True):
    session: str
    token: str
    transaction: str
    sender: JsonParty = field(name="from")
    recipient: JsonParty = field(name="to")
    type: MessageType
    topic: str = ""
    handle: str = ""
    possible_duplicate: bool = False
    reference: JsonReference | None = None
    invoker: str = ""
    status: JsonStatus | None = None
    properties: dict[str, Raw] = {}
    posted_at: str
    expiration: str = ""
    attempt: int = 1
    in_transit: bool = False
    documents: list[JsonPart] = []
    attachments: list[JsonPart] = []
    trace: list[JsonPassed] = []
    cookie: JsonCookie | None = None
    traceparent: str = ""
    tracestate: str = ""


class JsonDeliveries(Struct, rename="camel", forbid_unknown_fields=True):
    messages: list[JsonDelivered]


class JsonRecipient(JsonShape):
    service: str
    code: str = ""
    detail: str = ""


class JsonResult(JsonShape):
    session: str
    transaction: str
    recipients: list[JsonRecipient] = []


class JsonSelector(JsonShape):
    sender: str = ""
    type: MessageType | None = None
    topic: str = ""
    session: str = ""
    transaction: str = ""
    properties: dict[str, str] = {}


class JsonPoll(JsonShape):
    max: int = 10
    wait_seconds: float = 0.0
    lease_seconds: float = 0.0
    select: JsonSelector = field(default_factory=JsonSelector)
    trace: bool = False


class JsonSettlement(JsonShape):
    tokens: list[str]
    outcome: Outcome = Outcome.ACK
    delay_seconds: float = 0.0
    reason: str = ""


class JsonSettled(JsonShape):
    token: str
    code: str = ""
    detail: str = ""


class JsonSettlementResult(Struct, rename="camel", forbid_unknown_fields=True):
    settled: list[JsonSettled]


class JsonProblem(Struct, omit_defaults=True):
    """RFC 9457 problem details; members that we do not know are left alone, as the RFC asks."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    pointer: str = ""
    session: str = ""

    def to_refusal(self) -> Refused:
        return Refused(self.code, self.detail, pointer=self.pointer, session=self.session)


def make_problem(code: str, title: str, *, status: int, detail: str, pointer: str, session: str) -> JsonProblem:
    """Return the problem for a code; its type is the address of the code's entry on the page of errors."""
    return JsonProblem(
        type=f"/docs/errors#{code}",
        title=title,
        status=status,
        detail=detail,
        code=code,
        pointer=pointer,
        session=session,
    )

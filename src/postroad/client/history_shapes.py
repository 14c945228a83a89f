"""The wire format of a transaction's history, and its conversion to ``History``."""

from __future__ import annotations

from msgspec import Struct, field

from postroad.core.codecs.lexical import read_time
from postroad.core.model.history import (
    ArrivalNotes,
    BatchMembership,
    CopyHistory,
    History,
    HistoryEvent,
    InterchangeContents,
    MessageHistory,
    NumberRange,
    PartnerAnswer,
    ReleaseHold,
    Stop,
)
from postroad.core.model.push_pause import PushPause


class TolerantStruct(Struct, rename="camel", kw_only=True):
    """A Struct that ignores unknown fields of newer networks."""


class EventShape(TolerantStruct):
    seq: int
    at: str
    what: str
    by: str
    detail: str = ""


class GatheredShape(TolerantStruct):
    batch: str
    state: str
    interchange: str = ""
    reference: str = ""
    document: str = ""
    verdict: str = ""
    reasons: tuple[str, ...] = ()


class DrawnShape(TolerantStruct):
    scope: str
    first: int
    last: int


class AnswerShape(TolerantStruct):
    at: str
    session: str
    verdict: str
    detail: str = ""
    otherwise: int = 0


class ContainedShape(TolerantStruct):
    batch: str
    members: int
    standard: str
    numbers: tuple[DrawnShape, ...] = ()
    answers: tuple[AnswerShape, ...] = ()


class HeldBackShape(TolerantStruct):
    until: str | None = None


class PauseShape(TolerantStruct):
    until: str
    failed: int
    of: int


class StopShape(TolerantStruct):
    service: str
    gcid: str
    in_transit: bool
    state: str
    size: int
    delivery: int = 0
    invoker: str = ""
    rule: str = ""
    events: tuple[EventShape, ...] = ()
    gathered: GatheredShape | None = None
    held: HeldBackShape | None = None
    paused: PauseShape | None = None


class CopyShape(TolerantStruct):
    recipient: str
    code: str = ""
    detail: str = ""
    state: str = ""
    route: tuple[str, ...] = ()
    stops: tuple[StopShape, ...] = ()


class ArrivalShape(TolerantStruct):
    notes: tuple[str, ...] = ()
    message_id: str = ""
    mic: str = ""
    layers: tuple[str, ...] = ()


class MessageShape(TolerantStruct):
    seq: int
    session: str
    at: str
    type: str
    sender: str = field(name="from")
    topic: str = ""
    handle: str = ""
    size: int = 0
    wire_size: int = 0
    form: str = ""
    directory: int = 0
    answers: str = ""
    forwards: str = ""
    copies: tuple[CopyShape, ...] = ()
    code: str = ""
    detail: str = ""
    came: ArrivalShape | None = None
    contained: ContainedShape | None = None


class HistoryShape(TolerantStruct):
    transaction: str
    messages: tuple[MessageShape, ...] = ()


def build_history(shape: HistoryShape) -> History:
    return History(transaction=shape.transaction, messages=[_message(item) for item in shape.messages])


def _message(shape: MessageShape) -> MessageHistory:
    return MessageHistory(
        seq=shape.seq,
        session=shape.session,
        at_us=read_time(shape.at, "/at"),
        type=shape.type,
        sender=shape.sender,
        topic=shape.topic,
        handle=shape.handle,
        size=shape.size,
        wire_size=shape.wire_size,
        form=shape.form,
        directory=shape.directory,
        answers=shape.answers,
        forwards=shape.forwards,
        copies=[_copy(item) for item in shape.copies],
        code=shape.code,
        detail=shape.detail,
        came=_arrival(shape.came) if shape.came is not None else None,
        contained=_contained(shape.contained) if shape.contained is not None else None,
    )


def _arrival(shape: ArrivalShape) -> ArrivalNotes:
    return ArrivalNotes(notes=list(shape.notes), message_id=shape.message_id, mic=shape.mic, layers=list(shape.layers))


def _copy(shape: CopyShape) -> CopyHistory:
    stops = [_stop(item) for item in shape.stops]
    return CopyHistory(
        recipient=shape.recipient,
        code=shape.code,
        detail=shape.detail,
        route=list(shape.route),
        state=shape.state,
        stops=stops,
    )


def _stop(shape: StopShape) -> Stop:
    return Stop(
        delivery=shape.delivery,
        service=shape.service,
        gcid=shape.gcid,
        in_transit=shape.in_transit,
        state=shape.state,
        size=shape.size,
        invoker=shape.invoker,
        rule=shape.rule,
        events=[_event(item) for item in shape.events],
        gathered=_gathered(shape.gathered) if shape.gathered is not None else None,
        held=_held_back(shape.held) if shape.held is not None else None,
        paused=_paused(shape.paused) if shape.paused is not None else None,
    )


def _paused(shape: PauseShape) -> PushPause:
    return PushPause(until_us=read_time(shape.until, "/paused/until"), failed=shape.failed, of=shape.of)


def _held_back(shape: HeldBackShape) -> ReleaseHold:
    return ReleaseHold(until_us=read_time(shape.until, "/held/until") if shape.until else 0)


def _gathered(shape: GatheredShape) -> BatchMembership:
    return BatchMembership(
        batch=shape.batch,
        state=shape.state,
        interchange=shape.interchange,
        reference=shape.reference,
        document=shape.document,
        verdict=shape.verdict,
        reasons=list(shape.reasons),
    )


def _contained(shape: ContainedShape) -> InterchangeContents:
    return InterchangeContents(
        batch=shape.batch,
        members=shape.members,
        standard=shape.standard,
        numbers=[NumberRange(scope=one.scope, first=one.first, last=one.last) for one in shape.numbers],
        answers=[_answer(one) for one in shape.answers],
    )


def _answer(shape: AnswerShape) -> PartnerAnswer:
    return PartnerAnswer(
        at_us=read_time(shape.at, "/at"),
        session=shape.session,
        verdict=shape.verdict,
        detail=shape.detail,
        otherwise=shape.otherwise,
    )


def _event(shape: EventShape) -> HistoryEvent:
    return HistoryEvent(
        seq=shape.seq, at_us=read_time(shape.at, "/at"), what=shape.what, by=shape.by, detail=shape.detail
    )

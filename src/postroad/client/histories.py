"""A transaction's history as the network writes it, and its way back into the model's ``History``."""

from __future__ import annotations

from msgspec import Struct, field

from postroad.core.audit.story import Arrival, CopyHistory, Event, History, MessageHistory, Stop
from postroad.core.codecs.lexical import read_time


class Shape(Struct, rename="camel", kw_only=True):
    """Fields that a newer network adds are ignored."""


class EventShape(Shape):
    seq: int
    at: str
    what: str
    by: str
    detail: str = ""


class StopShape(Shape):
    service: str
    gcid: str
    in_transit: bool
    state: str
    size: int
    delivery: int = 0
    invoker: str = ""
    rule: str = ""
    events: tuple[EventShape, ...] = ()


class CopyShape(Shape):
    recipient: str
    code: str = ""
    detail: str = ""
    state: str = ""
    route: tuple[str, ...] = ()
    stops: tuple[StopShape, ...] = ()


class ArrivalShape(Shape):
    notes: tuple[str, ...] = ()
    message_id: str = ""
    mic: str = ""
    layers: tuple[str, ...] = ()


class MessageShape(Shape):
    seq: int
    session: str
    at: str
    type: str
    sender: str = field(name="from")
    topic: str = ""
    handle: str = ""
    size: int = 0
    form: str = ""
    directory: int = 0
    answers: str = ""
    forwards: str = ""
    copies: tuple[CopyShape, ...] = ()
    came: ArrivalShape | None = None


class HistoryShape(Shape):
    transaction: str
    messages: tuple[MessageShape, ...] = ()


def history(shape: HistoryShape) -> History:
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
        form=shape.form,
        directory=shape.directory,
        answers=shape.answers,
        forwards=shape.forwards,
        copies=[_copy(item) for item in shape.copies],
        came=_arrival(shape.came) if shape.came is not None else None,
    )


def _arrival(shape: ArrivalShape) -> Arrival:
    return Arrival(notes=list(shape.notes), message_id=shape.message_id, mic=shape.mic, layers=list(shape.layers))


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
    )


def _event(shape: EventShape) -> Event:
    return Event(seq=shape.seq, at_us=read_time(shape.at, "/at"), what=shape.what, by=shape.by, detail=shape.detail)

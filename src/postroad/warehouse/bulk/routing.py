"""The route operation: one row per message and recipient, as the server writes it when the message is posted.

Rules: ``admit`` and ``itineraries`` are called as in ``flow/stages/accept.py``, so routes, contexts, refusals and the
digest of what the journal would keep are the same. An archive does not record connections, so the safest one is
assumed: no service's policy for connections refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar

import pyarrow as pa
from msgspec.structs import replace

from postroad.core.admission.admit import ADDRESSED, Admitted, admit
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Argument
from postroad.core.model.route import Context, Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import pack_tried
from postroad.core.routing.forward import forwarded_copies
from postroad.core.routing.itinerary import Routed, itineraries
from postroad.errors import Refused
from postroad.flow.stages.posting import encode_body
from postroad.warehouse.bulk.operation import ResultRow, Work
from postroad.warehouse.bulk.read.archive import ArchivedMessage

ROUTES_CACHED = 10_000

ARGUMENT = pa.struct([pa.field("name", pa.string()), pa.field("value", pa.string())])
CONTEXT = pa.struct(
    [
        pa.field("id", pa.int32()),
        pa.field("parent", pa.int32()),
        pa.field("topic", pa.string()),
        pa.field("payer", pa.string()),
        pa.field("shown_sender", pa.string()),
        pa.field("absorbs", pa.bool_()),
        pa.field("rule", pa.string()),
        pa.field("dynamic", pa.bool_()),
        pa.field("through", pa.list_(pa.string())),
        pa.field("isolated", pa.bool_()),
    ]
)
HOP = pa.struct(
    [
        pa.field("service", pa.string()),
        pa.field("arguments", pa.list_(ARGUMENT)),
        pa.field("invoker", pa.string()),
        pa.field("context", CONTEXT),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteOperation:
    """The operation ``route``."""

    name: ClassVar[str] = "route"
    columns: ClassVar[Sequence[pa.Field]] = (
        pa.field("copy", pa.int32()),  # null in the one row of a message that is refused as a whole
        pa.field("named", pa.string()),  # the recipient as the sender wrote it
        pa.field("route", pa.list_(pa.string())),  # addresses in the order of delivery
        pa.field("hops", pa.list_(HOP)),
        pa.field("logical", pa.list_(HOP)),
        pa.field("digest", pa.binary()),  # SHA-256 of the body that the journal would keep; null where it keeps none
    )

    def prepare(self, directory: Directory) -> Work:
        callers: dict[str, Caller] = {}

        def route(archived: ArchivedMessage) -> list[ResultRow]:
            caller = callers.get(archived.sender)
            if caller is None:
                caller = callers[archived.sender] = find_caller(archived.sender, directory)
            return _route_message(archived, caller, directory)

        return route


def find_caller(sender: str, directory: Directory) -> Caller:
    """Return the sender as if it had posted over the safest connection."""
    service = directory.service(sender)
    if service is None:
        said = f"There is no service {sender[:120]!r} in this configuration" if sender else "The message has no From"
        raise Refused(
            "sender.unknown", f"{said}; name the sending service there, or with --as for all", pointer="/from"
        )
    return safest_caller(service)


def safest_caller(service: Service) -> Caller:
    return Caller.inside(service)


def _route_message(archived: ArchivedMessage, caller: Caller, directory: Directory) -> list[ResultRow]:
    message = archived.message
    if message.type not in ADDRESSED:
        raise Refused(
            "value.invalid", f"A {message.type.value} follows the route of its request; it has no route of its own"
        )
    if archived.forwarded:
        copies, tried = _route_forwarded(archived, caller, directory)
    else:
        admitted = admit(message, caller, directory, archived.at_us)
        copies, tried = itineraries(admitted, directory, archived.form)
    body = encode_body(message.parts, pack_tried(tried) if tried else b"")
    digest = sha256(body).digest() if body is not None else None
    return [
        ResultRow((at, copy.named, _addresses(copy, directory), *_hop_values(copy), digest), copy.code, copy.detail)
        for at, copy in enumerate(copies)
    ]


def _route_forwarded(archived: ArchivedMessage, caller: Caller, directory: Directory) -> Routed:
    """Route a message that an exchange or a model forwarded: no permission check, receivers' rules apply."""
    named = archived.message.to
    known = [directory.service(recipient.service) for recipient in named]
    receivers = [service for service in known if service is not None]
    message = replace(archived.message, sender="", to=(), route=(), expires_at_us=0)
    admitted = Admitted(message, _sender_of(caller), caller, archived.at_us, archived.message.expires_at_us)
    routed = forwarded_copies(admitted, archived.shown_sender, receivers, directory, archived.form)
    found = iter(routed.copies)
    gone = "There is no such service any more"
    copies = [
        next(found) if service is not None else Copy(recipient.service, (), "recipient.unknown", gone)
        for recipient, service in zip(named, known, strict=True)
    ]
    return Routed(tuple(copies), routed.tried)


def _sender_of(caller: Caller) -> Service:
    if caller.service is None:
        raise TypeError("messages are sent by a service")
    return caller.service


def _addresses(copy: Copy, directory: Directory) -> list[str]:
    return [directory.services[hop.service].address for hop in copy.hops]


@lru_cache(maxsize=ROUTES_CACHED)
def _hop_values(copy: Copy) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the hops as Arrow values; cached, since many messages share a route."""
    return [_hop(hop) for hop in copy.hops], [_hop(hop) for hop in copy.logical]


def _hop(hop: Hop) -> dict[str, Any]:
    return {
        "service": hop.service,
        "arguments": [{"name": one.name, "value": one.value} for one in hop.arguments],
        "invoker": hop.invoker,
        "context": {name: getattr(hop.context, name) for name in Context.__struct_fields__} if hop.context else None,
    }


def copy_from_row(row: dict[str, Any]) -> Copy:
    """Return the copy that a row was made of, in journal form."""
    return Copy(row["named"], _hops(row["hops"]), row["code"], row["detail"], _hops(row["logical"]))


def _hops(written: list[dict[str, Any]]) -> tuple[Hop, ...]:
    return tuple([_hop_of(hop) for hop in written])


def _hop_of(hop: dict[str, Any]) -> Hop:
    context = hop["context"]
    return Hop(
        hop["service"],
        tuple([Argument(one["name"], one["value"]) for one in hop["arguments"]]),
        hop["invoker"],
        Context(**{**context, "through": tuple(context["through"])}) if context is not None else None,
    )

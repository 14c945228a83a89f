"""Bindings of queues to exchanges, and the journal record of a forwarded message.

An exchange is a service that the network runs. A queue is the mailbox of a service. An exchange forwards each message
to every queue with a matching binding. A binding is saved completely, as a configuration object of its exchange;
there may be a hundred thousand of them. Fields in the journal are only added at the end, with a default.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import Struct

ANYONE = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One queue at one exchange, and on which messages: by routing key, by what decides, or by both.

    At most one of ``query``, ``script`` and ``routing`` is set. Without them the routing key alone decides.
    """

    exchange: str  # GCID
    name: str  # by which it is known at its exchange
    queue: str  # GCID of the service that gets what matches; it may be an exchange itself
    query: str = ""  # XQuery
    script: str = ""  # in the language of scripts
    routing: str = ""  # the name of a routing that is installed at the exchange, or in the network
    routing_key: str = ""  # the topic; empty: any
    description: str = ""
    enabled: bool = True


def binding_key(exchange: str, name: str) -> str:
    """The key under which a binding is saved."""
    return f"{exchange}/{name.casefold()}"


class Forwarded(Struct, gc=False, frozen=True, array_like=True):
    """The record of a message that an exchange or model forwards in its own name."""

    delivery: int  # that it forwards
    session: str  # by which its sender knows the message
    through: tuple[str, ...]  # GCIDs of the exchanges and models that it has passed, this one last
    bindings: tuple[str, ...] = ()  # what has chosen each copy: a binding's name, or the id of an attachment
    origin: str = ""  # session of what was posted, before any exchange forwarded it

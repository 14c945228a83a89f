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
    """A binding of a queue to an exchange, with the routing key, the decision, or both, that select messages.

    At most one of ``query``, ``script`` and ``routing`` is set. Without them the routing key alone decides.
    """

    exchange: str  # GCID
    name: str  # unique at its exchange
    queue: str  # GCID of the service that receives matching messages; it may be an exchange
    query: str = ""  # XQuery
    script: str = ""  # in the script language
    routing: str = ""  # name of a routing installed at the exchange or in the network
    routing_key: str = ""  # the topic; empty: any
    description: str = ""
    enabled: bool = True


def binding_key(exchange: str, name: str) -> str:
    """Return the key under which a binding is saved."""
    return f"{exchange}/{name.casefold()}"


class Forwarded(Struct, gc=False, frozen=True, array_like=True):
    """The record of a message that an exchange or model forwards in its own name."""

    delivery: int  # the forwarded delivery
    session: str  # of the message, as its sender knows it
    through: tuple[str, ...]  # GCIDs of the exchanges and models it has passed, this one last
    bindings: tuple[str, ...] = ()  # what selected each copy: a binding's name or an attachment's id
    origin: str = ""  # session of the original post

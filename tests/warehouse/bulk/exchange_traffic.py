"""An exchange with bindings of every sort, and messages for it: what it makes of them stands in a journal afterwards."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from postroad.bootstrap.running_network import RunningNetwork, open_network
from postroad.bootstrap.settings import Settings
from postroad.core.exchange.exchange import BindingTally
from postroad.core.model.asset import Asset, AssetKind, Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Service, Visibility
from postroad.core.model.exchange import Binding
from postroad.core.model.journal import ObjectChange
from postroad.core.model.message import Delivered, Message, MessageType, Part, Property, PropertyType, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import build_save
from postroad.services.exchange.callables import Routing

EXCHANGE, NEXT, STRICT, PUBLISHER = "00000000000000e1", "00000000000000e2", "00000000000000e3", "00000000000000a1"
CLOSED = "00000000000000c1"  # to which no exchange is open any more
QUEUES = tuple(f"00000000000000b{number}" for number in range(1, 6))
ROUTING = "broken=operator:truth"  # which takes one argument, so it always fails

# A date in the place of a region does not meet it, nor does more than one line.
SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="order"><xs:complexType><xs:sequence>
<xs:element name="region" type="xs:NCName"/><xs:element name="total" type="xs:int"/><xs:any minOccurs="0" processContents="skip"/>
</xs:sequence></xs:complexType></xs:element></xs:schema>"""

BINDINGS: dict[str, dict[str, Any]] = {
    "everything": {"queue": QUEUES[0]},
    "north": {"queue": QUEUES[1], "query": "$msg/order/region = 'north'"},
    "large": {"queue": QUEUES[1], "query": "$msg/order/total > 1000"},
    "by key": {"queue": QUEUES[2], "routing_key": "orders.large"},
    "heavy": {
        "queue": QUEUES[2],
        "query": "declare variable $weight external; $weight > 5",
        "routing_key": "orders.large",
    },
    "json": {"queue": QUEUES[3], "query": "$msg?total > 1000"},
    "wrapped": {"queue": QUEUES[3], "query": "if ($msg/order) then <wrap>{$msg/order/total}</wrap> else ()"},
    "counted": {"queue": QUEUES[4], "query": "count($msg//line) mod 2 = 1"},
    "fails": {"queue": QUEUES[4], "query": "xs:date(string($msg/order/region)) gt current-date()"},
    "scripted": {
        "queue": QUEUES[4],
        "script": "def route(message):\n    return message.headers.get('rush', False)\n",
    },
    "named": {"queue": QUEUES[0], "routing": "South only"},
    "broken": {"queue": QUEUES[2], "routing": "broken", "routing_key": "orders.broken"},
    "off": {"queue": QUEUES[0], "query": "<off/>", "enabled": False},
    "shut": {"queue": CLOSED, "query": "$msg/order/region = 'south'"},
    "chained": {"queue": NEXT, "query": "$msg/order/region = 'south'"},
}


def bindings() -> list[Binding]:
    named = [Binding(exchange=EXCHANGE, name=name, **how) for name, how in BINDINGS.items()]
    last = Binding(exchange=NEXT, name="last", queue=QUEUES[3], query="$msg/order and $sender = 'MyBiz/Desk'")
    return [*named, last, Binding(exchange=STRICT, name="valid", queue=QUEUES[4])]


def orders(count: int) -> list[Message]:
    """One of each sort in turn: XML of several shapes, JSON, what is neither, and nothing at all."""
    return [order(number) for number in range(count)]


def order(number: int) -> Message:
    region = ("north", "south", "2999-01-01")[number % 3]
    lines = "<line/>" * (number % 4)
    contents = (
        ("application/xml", f"<order><region>{region}</region><total>{number * 100}</total>{lines}</order>".encode()),
        ("application/json", b'{"total": %d}' % (number * 150)),
        ("application/xml", b"<order><region>north"),
        ("text/plain", b"nothing that a query could look into"),
    )
    kind, data = contents[number % 5 if number % 5 < 4 else 0]
    parts = () if number % 11 == 10 else (Part(id="1", content_type=kind, data=data),)
    return Message(
        to=(Recipient("Acme/Orders"),),
        type=MessageType.REQUEST,
        topic=("orders.large", "orders.broken", "", "offers")[number % 4],
        handle=f"h{number}",
        parts=parts,
        properties=(
            Property("weight", str(number % 9), PropertyType.NUMBER),
            Property("rush", "true" if number % 7 == 0 else "false", PropertyType.BOOLEAN),
        ),
    )


def services() -> list[Service]:
    own = {
        "organization": "Acme", "visibility": Visibility.PUBLIC, "hosted": Hosting.EXCHANGE, "open_to": ("Queues",),
    }  # fmt: skip
    found = [
        Service(gcid=EXCHANGE, name="Orders", **own),  # type: ignore[arg-type]
        Service(gcid=NEXT, name="Next", **own),  # type: ignore[arg-type]
        Service(gcid=STRICT, name="Strict", validates="order", **own),  # type: ignore[arg-type]
        Service(gcid=PUBLISHER, organization="MyBiz", name="Desk"),
    ]
    found.append(Service(gcid=CLOSED, organization="Closed", name="Queue"))
    return found + [Service(gcid=gcid, organization="Queues", name=gcid[-2:]) for gcid in QUEUES]


def objects() -> list[Any]:
    return [*unbound(), *bindings()]


def unbound() -> list[Any]:
    """All that there is before anything is bound."""
    asset = Asset(service=EXCHANGE, kind=AssetKind.QUERY, name="south only", content="$msg/order/region = 'south'")
    schema = Asset(service=STRICT, kind=AssetKind.SCHEMA, name="order", content=SCHEMA)
    houses = [Organization(name=name) for name in ("Acme", "Closed", "MyBiz", "Queues")]
    return [*houses, *services(), asset, schema]


class Played(NamedTuple):
    journal: str
    tallies: dict[str, BindingTally]  # what each binding has come to
    refused: dict[str, tuple[str, str]]  # by session, why an exchange could do nothing with a message


async def play(data: Path, messages: list[Message]) -> Played:
    """Have the server's own exchanges forward all messages."""
    settings = Settings(data=data, routings=(ROUTING,), segment_bytes=1 << 20, least_free_bytes=0)
    async with open_network(settings) as running:
        await running.network.configuration.change("test", [build_save(one) for one in objects()])
        refused = await _publish(running, messages)
        for other in ("Acme/Next", "Acme/Strict"):  # behind all that was forwarded there
            sent = [replace(one, to=(Recipient(other),), handle=f"{other} {one.handle}") for one in messages[:20]]
            refused |= await _publish(running, sent)
        exchange = await running.network.exchanges.load(EXCHANGE)
        tallies = {one.name: exchange.tally(one) for one in bindings() if one.exchange == EXCHANGE}
    return Played(str(data / "journal"), tallies, refused)


async def _publish(running: RunningNetwork, messages: list[Message]) -> dict[str, tuple[str, str]]:
    """Post them, and wait until each is answered: then everything that it became is written down."""
    network = running.network
    caller = Caller(service=network.directory.services[PUBLISHER], level=AuthenticationLevel.KEY)
    for message in messages:
        await network.post(caller, message)
    answered = 0
    refused: dict[str, tuple[str, str]] = {}
    while answered < len(messages):
        found = await network.poll(caller, PollRequest(max=100, wait_s=60))
        assert found, "the exchange does not answer"
        await network.settle(caller, Settlement(tokens=tuple([one.token for one in found])))
        answered += len(found)
        refused |= {_asked(one): (one.status.code, one.status.text) for one in found if one.status is not None}
    return refused


def _asked(answer: Delivered) -> str:
    assert answer.reference is not None
    return answer.reference.session


def routings() -> dict[str, Routing]:
    from operator import truth

    return {"broken": truth}  # type: ignore[dict-item]


def directory_of(items: list[Any]) -> Directory:
    """The directory that has these objects, as a journal would bring it about."""
    return Directory().apply_changes(changes_of(items), 1)


def changes_of(items: list[Any]) -> list[ObjectChange]:
    """These objects, saved for the first time."""
    return [
        ObjectChange(change.kind, change.key, 1, msgspec.to_builtins(change.value)) for change in map(build_save, items)
    ]

"""A network with rules of every sort, and traffic for it in every form: what rules bring in, what they refuse, what is broken."""

from __future__ import annotations

from typing import Any

import yaml

from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.model.message import Argument, Message, MessageType, Part, Property, PropertyType, Recipient

BUYER, SELLER, MILL = "MyBiz/Purchasing", "Acme/Supply", "Mill/Split"
CODECS: dict[str, Codec] = {"json": JSON_FORM, "soap11": SOAP11, "soap12": SOAP12, "envelope": ENVELOPE_FORM}

NETWORK = """
postroad: 1
organizations:
  MyBiz:
    services:
      Purchasing:
        gcid: "00000000000000a1"
        visibility: public
        rules:
          - name: large orders are split
            role: sender
            when: {greaterThan: {body: /Order/Total, as: number, value: 1000}}
            then: [{addServiceAfter: Mill/Split, arguments: {by: line}, pays: true}]
          - name: urgent ones are watched
            role: sender
            when: {equals: {header: properties.urgent, value: "true"}}
            then: [{addServiceAfter: MyBiz/Watch, isolate: true, errors: absorb}]
      Watch: {gcid: "00000000000000a2"}
      Archive: {gcid: "00000000000000a3"}
  Acme:
    services:
      Supply:
        gcid: "00000000000000b1"
        visibility: public
        rules:
          - name: offers go to sales
            role: recipient
            when: {equals: {header: topic, value: offer}}
            then: [{redirect: Acme/Sales}]
          - name: everything else passes the gate
            role: recipient
            when: {exists: {header: topic}}
            then: [{addServiceBefore: Acme/Gate, topic: gate}]
      Sales: {gcid: "00000000000000b2", visibility: public}
      Gate: {gcid: "00000000000000b3", visibility: public}
      Round:
        gcid: "00000000000000b4"
        visibility: public
        rules:
          - name: round and
            role: any
            when: {exists: {header: topic}}
            then: [{addServiceBefore: Acme/Trip}]
      Trip:
        gcid: "00000000000000b6"
        visibility: public
        rules:
          - name: round it goes
            role: inTransit
            when: {exists: {header: topic}}
            then: [{addServiceBefore: Acme/Round}]
      Later: {gcid: "00000000000000b5", visibility: public, routing: dynamic}
  Mill:
    services:
      Split:
        gcid: "00000000000000c1"
        visibility: public
        rules:
          - name: json is checked
            role: inTransit
            when: {exists: {body: $.total}}
            then: [{addServiceBefore: Acme/Gate}]
"""


def document() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(NETWORK)
    return content


def order(number: int, total: int, **more: Any) -> Message:
    data = f"<Order><Number>{number}</Number><Total>{total}</Total></Order>".encode()
    given = {
        "sender": BUYER,
        "to": (Recipient(SELLER),),
        "type": MessageType.REQUEST,
        "topic": "order",
        "handle": f"order {number}",
        "parts": (Part(id="1", content_type="application/xml", data=data),),
    }
    return Message(**(given | more))


URGENT = Property("urgent", "true", PropertyType.BOOLEAN)
JSON_ORDER = Part(id="1", content_type="application/json", data=b'{"total":5,"lines":[1,2]}')
PICTURE = Part(id="2", content_type="image/png", data=b"\xff\x00\n", attachment=True)


def messages() -> list[Message]:
    """One of each sort; all can be read, and some are refused in part or altogether."""
    both = (Recipient(SELLER), Recipient("No/Body"), Recipient("Acme/Sales", (Argument("lane", "fast"),)))
    return [
        order(1, 10),
        order(2, 5000),
        order(3, 5000, topic="offer", properties=(URGENT,)),
        order(4, 10, to=both, type=MessageType.NOTIFICATION),
        order(5, 10, to=(Recipient("Acme/Round"),)),
        order(6, 10, to=(Recipient("No/Body"),)),
        order(7, 10, route=(Recipient("MyBiz/Archive", (Argument("keep", "7y"),)), Recipient(MILL))),
        order(8, 10, to=(Recipient(SELLER, (Argument("to", "desk"),)),), topic="offer"),
        order(9, 10, to=(Recipient("Acme/Later"), Recipient("Acme/Sales"))),
        order(10, 10, sender=SELLER, to=(Recipient(BUYER),), topic=""),
        order(11, 10, route=(Recipient(MILL),), parts=(JSON_ORDER,)),
        order(12, 2000, parts=(*order(12, 2000).parts, PICTURE)),
        order(13, 10, routing="dynamic", route=(Recipient("MyBiz/Archive"),)),
        order(14, 10, to=(Recipient("Mill/Split"),), parts=()),
    ]  # fmt: skip


def wires() -> list[tuple[str, bytes]]:
    """The messages in all forms, one after the other: form and bytes."""
    return [(form, codec.encode_post(message)) for form, codec in CODECS.items() for message in messages()]

"""Messages that the codec tests share: one with everything in it, one as most are, one answer."""

from __future__ import annotations

from postroad.core.model.message import (
    AnsweredMessage,
    Argument,
    Cookie,
    Delivered,
    Message,
    MessageType,
    Part,
    PassedService,
    PostResult,
    Property,
    PropertyType,
    Recipient,
    RecipientResult,
    Status,
)
from postroad.core.model.polling import Outcome, PollRequest, Selector, Settled, Settlement, SettlementResult

NOON = 1_794_909_600_000_000  # 2026-11-17T10:00:00Z
ORDER = (
    b'<po:Order xmlns:po="urn:example:order" number="4711"><po:Buyer>MyBiz</po:Buyer>'
    b'<po:Line sku="A-1" quantity="3">Bolts &amp; nuts</po:Line></po:Order>'
)
PROPERTIES = (
    Property("customer", "Müller & Söhne <GmbH>"),
    Property("amount", "12.50", PropertyType.NUMBER),
    Property("urgent", "true", PropertyType.BOOLEAN),
    Property("due", "2026-12-01T00:00:00Z", PropertyType.DATE),
)
HEADERS = (("Content-Disposition", 'inline; filename="note & more.txt"'), ("Content-Language", "de"))
PARTS = (
    Part(id="order", content_type="application/xml", data=ORDER, expires_at_us=NOON),
    Part(id="note", content_type="text/plain", data="Grüße,\nMyBiz".encode(), headers=HEADERS),
    Part(id="data", content_type="application/json", data=b'{"n": 1.50}'),
    Part(id="drawing", content_type="image/png", data=b"\x89PNG\r\n\x1a\n\x00", attachment=True),
)
FULL = Message(
    sender="MyBiz/Purchasing",
    to=(
        Recipient("TheAcmeCompany/Supply", (Argument("operation", "ProcessPurchaseOrder"), Argument("lang", "en"))),
        Recipient("386b4520f489c217"),
    ),
    type=MessageType.REQUEST,
    topic="orders/new",
    handle="order-4711",
    possible_duplicate=True,
    expires_at_us=NOON,
    routing="dynamic",
    route=(Recipient("Transmatics/XSLT", (Argument("sheet", "address.xsl"),)),),
    properties=PROPERTIES,
    parts=PARTS,
)
SIMPLE = Message(
    to=(Recipient("TheAcmeCompany/Supply"),),
    topic="orders.new",
    handle="h-1",
    parts=(Part(id="1", content_type="application/xml", data=ORDER),),
)
CANONICAL = Message(  # everything that the quick SOAP reader reads, and nothing that it leaves to the general one
    sender=FULL.sender,
    to=FULL.to,
    type=FULL.type,
    topic=FULL.topic,
    handle=FULL.handle,
    possible_duplicate=True,
    reference="r-1",
    expires_at_us=NOON,
    routing="static",
    route=FULL.route,
    properties=PROPERTIES[1:],
    parts=(PARTS[0], Part(id="note", content_type="text/plain", data=b"Regards, MyBiz"), PARTS[3]),
)
RESPONSE = Message(
    to=(),
    type=MessageType.RESPONSE,
    reference="1f0000.84e309b38c56a18cb98352030011aabb",
    status=Status("out-of-stock", "No bolts until Monday"),
)
DELIVERED = Delivered(
    session="0191f5a2b3c400112233445566778899",
    token="1f0000.84e309b38c56a18cb98352030011aabb",
    transaction="0191f5a2b3c400112233445566778899",
    sender="MyBiz/Purchasing",
    sender_gcid="386b4520f489c217",
    recipient="TheAcmeCompany/Supply",
    recipient_gcid="3340f32c035d7499",
    type=MessageType.REQUEST,
    topic="orders/new",
    handle="order-4711",
    arguments=(Argument("operation", "ProcessPurchaseOrder"),),
    reference=AnsweredMessage("0191f5a2b3c4aaaabbbbccccddddeeee", "order-4710"),
    invoker="MyBiz/Purchasing",
    status=Status("ok", "fine"),
    properties=PROPERTIES,
    posted_at_us=NOON - 86_400_000_000,
    expires_at_us=NOON,
    attempt=2,
    in_transit=True,
    possible_duplicate=True,
    parts=PARTS,
    trace=(
        PassedService("Transmatics/xslt", NOON - 80_000_000_000),
        PassedService("XpandiCo/zipPlus4", NOON - 70_000_000_000, Status("lookup.missing", "No <zip>")),
    ),
    cookie=Cookie("<account>A & B 4711</account>", "application/xml"),
)
RESULT = PostResult(
    session="0191f5a2b3c400112233445566778899",
    transaction="0191f5a2b3c400112233445566778899",
    recipients=(
        RecipientResult(service="TheAcmeCompany/Supply"),
        RecipientResult(service="Nobody/Here", code="recipient.unknown", detail="No such recipient"),
    ),
)
POLL = PollRequest(
    max=25,
    wait_s=20.0,
    lease_s=120.0,
    select=Selector(
        sender="MyBiz/Purchasing", type=MessageType.REQUEST, topic="orders/new", properties=(("customer", "A & B"),)
    ),
    trace=True,
)
SETTLEMENT = Settlement(tokens=("1f0000.aa", "1f0001.bb"), outcome=Outcome.NACK, delay_s=30.0, reason="busy <now>")
SETTLED = SettlementResult(
    settled=(Settled(token="1f0000.aa"), Settled(token="x", code="token.unknown", detail="No such delivery"))
)

"""What a codec costs: CPU microseconds per message, beside a full lxml parse of the same bytes in the same run.

    python -m benchmarks.codecs

Each figure is the least of several interleaved rounds of CPU time, so that a busy machine does not show up as a slow codec.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lxml import etree

from postroad.core.codecs.bulk import decode_bulk
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11
from postroad.core.model.message import (
    Argument,
    Delivered,
    Message,
    MessageType,
    Part,
    Property,
    PropertyType,
    Recipient,
)

ROUNDS = 9
SECONDS_PER_ROUND = 0.03
BULK = 100


def order(lines: int = 10) -> bytes:
    """A purchase order of four elements a line, some 1.4 KB at ten lines."""
    items = "".join(
        f'<item id="{n}"><sku>AB-{n:04d}</sku><quantity>{n}</quantity><note>described at length, line by line, as buyers '
        f"like it {n}</note></item>"
        for n in range(lines)
    )
    return f'<po xmlns="urn:example:order"><buyer>MyBiz</buyer>{items}</po>'.encode()


def message(number: int = 1) -> Message:
    return Message(
        sender="MyBiz/Purchasing",
        to=(Recipient("TheAcmeCompany/Supply", (Argument("operation", "ProcessPurchaseOrder"),)),),
        type=MessageType.REQUEST,
        topic="orders/new",
        handle=f"order-{number}",
        expires_at_us=1_794_909_600_000_000,
        properties=(Property("amount", "12.50", PropertyType.NUMBER),),
        parts=(Part(id="1", content_type="application/xml", data=order()),),
    )


def delivered() -> Delivered:
    posted = message()
    return Delivered(
        session="0191f5a2b3c400112233445566778899",
        token="1f0000.84e309b38c56a18cb98352030011aabb",
        transaction="0191f5a2b3c400112233445566778899",
        sender="MyBiz/Purchasing",
        sender_gcid="386b4520f489c217",
        recipient="TheAcmeCompany/Supply",
        recipient_gcid="3340f32c035d7499",
        type=posted.type,
        topic=posted.topic,
        handle=posted.handle,
        arguments=(),
        reference=None,
        invoker="",
        status=None,
        properties=(),
        posted_at_us=1_794_909_600_000_000,
        expires_at_us=0,
        attempt=1,
        in_transit=False,
        parts=posted.parts,
    )


def measures() -> dict[str, tuple[Callable[[], object], int]]:
    """What is measured, and how many messages one call stands for."""
    posted, handed = message(), [delivered()]
    soap, json, envelope = SOAP11.encode_post(posted), JSON_FORM.encode_post(posted), ENVELOPE_FORM.encode_post(posted)
    general = soap.replace(b"<pr:Header>", b"<!-- read by the general reader --><pr:Header>", 1)
    many = [message(number) for number in range(BULK)]
    envelopes = ENVELOPE_FORM.encode_posts(
        [Message(to=m.to[:1], topic=m.topic, handle=m.handle, parts=m.parts) for m in many]
    )
    short = ENVELOPE_FORM.encode_posts(
        [Message(to=(Recipient("Acme/Supply"),), topic=m.topic, handle=m.handle, parts=m.parts) for m in many]
    )
    lines = b"\n".join(JSON_FORM.encode_post(m) for m in many)
    part = b"--gap\r\nContent-Type: text/xml\r\n\r\n%b\r\n"
    parts = b"".join(part % SOAP11.encode_post(m) for m in many) + b"--gap--\r\n"
    return {
        f"lxml parse of the SOAP post ({len(soap)} bytes)": (lambda: etree.fromstring(soap), 1),
        "SOAP post decoded": (lambda: SOAP11.decode_post(soap), 1),
        "SOAP post decoded, general reader": (lambda: SOAP11.decode_post(general), 1),
        "SOAP post encoded": (lambda: SOAP11.encode_post(posted), 1),
        "SOAP delivery encoded": (lambda: SOAP11.encode_delivered(handed), 1),
        f"JSON post decoded ({len(json)} bytes)": (lambda: JSON_FORM.decode_post(json), 1),
        "JSON post encoded": (lambda: JSON_FORM.encode_post(posted), 1),
        "JSON delivery encoded": (lambda: JSON_FORM.encode_delivered(handed), 1),
        f"envelope decoded ({len(envelope)} bytes)": (lambda: ENVELOPE_FORM.decode_post(envelope), 1),
        "envelope delivery encoded": (lambda: ENVELOPE_FORM.encode_delivered(handed), 1),
        f"bulk of {BULK}: multipart SOAP": (lambda: decode_bulk("multipart/mixed; boundary=gap", parts), BULK),
        f"bulk of {BULK}: NDJSON": (lambda: decode_bulk("application/x-ndjson", lines), BULK),
        f"bulk of {BULK}: envelopes with arguments": (lambda: decode_bulk(ENVELOPES, envelopes), BULK),
        f"bulk of {BULK}: short envelopes": (lambda: decode_bulk(ENVELOPES, short), BULK),
    }


def cpu_us(call: Callable[[], object], repeats: int) -> float:
    started = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - started) / repeats * 1e6


def main() -> None:
    measured = measures()
    repeats = {name: max(1, int(SECONDS_PER_ROUND / cpu_us(call, 3) * 1e6)) for name, (call, _) in measured.items()}
    best = dict.fromkeys(measured, float("inf"))
    for _ in range(ROUNDS):
        for name, (call, messages) in measured.items():
            best[name] = min(best[name], cpu_us(call, repeats[name]) / messages)
    for name, microseconds in best.items():
        print(f"{name:50} {microseconds:8.2f} µs a message")


if __name__ == "__main__":
    main()

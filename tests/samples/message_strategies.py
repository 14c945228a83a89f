"""Hypothesis strategies for anything that a wire form may carry."""

from __future__ import annotations

from hypothesis import strategies as st

from postroad.core.codecs.lexical import LAST_US
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

CHARACTERS = st.characters(
    exclude_categories=["Cs"], exclude_characters=[*map(chr, (*range(9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF))]
) | st.sampled_from("<>&\"' \t\r\n]:;é漢😀")
TEXTS = st.text(CHARACTERS, max_size=20)
NAMES = st.text(CHARACTERS, min_size=1, max_size=20)
TIMES = st.integers(0, LAST_US)
NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,10})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
DATES = st.sampled_from(["2026-11-15T10:00:00Z", "2026-11-15", "1999-12-31T23:59:59.123456+02:00", "0001-01-01"])
CONTENT_TYPES = (
    st.sampled_from(
        [
            "application/xml",
            "text/xml; charset=utf-8",
            "application/json",
            "text/plain",
            "application/octet-stream",
            "image/x",
        ]
    )
    | NAMES
)
DOCUMENTS = st.sampled_from(
    [
        b"<po/>", b"<po xmlns='urn:po'><line n=\"1\">x</line></po>", b"<a:b xmlns:a='urn:a'>pr:Xml soap:Body</a:b>",
        b"<po><po/></po>", b"<po><!-- </pr:Xml> --><![CDATA[</pr:Xml>]]></po>", b"<po\n a = '>'/>", b" <po/> ", b"<po>\r\n</po>",
        b"<po/><po/>", b"<po", b"<?xml version='1.0'?><po/>", b"<!DOCTYPE po []><po/>", b"<x:po/>", b"text", b"<po>\xff</po>",
        b"<pr:Xml xmlns:pr='urn:postroad:message:1'/>", "<é>漢</é>".encode(), b"<po/><?pi x?>", b"<po/><!---->",
        b'{"a": [1.50, "x"]}', b' {"a":1}', b"[1,]", b"null", b'"\\ud83d\\ude00"', b"", b"\x00\xff", b"a\rb",
    ]
)  # fmt: skip
ARGUMENTS = st.lists(st.builds(Argument, NAMES, TEXTS), max_size=3, unique_by=lambda a: a.name).map(tuple)
SERVICES = st.lists(st.builds(Recipient, NAMES, ARGUMENTS), max_size=3).map(tuple)
PROPERTIES = st.lists(
    st.builds(Property, NAMES, TEXTS)
    | st.builds(Property, NAMES, NUMBERS, st.just(PropertyType.NUMBER))
    | st.builds(Property, NAMES, DATES, st.just(PropertyType.DATE))
    | st.builds(Property, NAMES, st.sampled_from(["true", "false"]), st.just(PropertyType.BOOLEAN)),
    max_size=4,
    unique_by=lambda p: p.name,
).map(tuple)
STATUSES = st.none() | st.builds(Status, TEXTS, TEXTS)
HEADERS = st.lists(
    st.tuples(
        st.sampled_from(["Content-Disposition", "Content-Language", "X-Colour", "X-*'%~"]),
        TEXTS.filter(str.isprintable),
    ),
    max_size=2,
    unique_by=lambda header: header[0],
).map(tuple)
PARTS = st.lists(
    st.builds(
        Part,
        id=NAMES,
        content_type=CONTENT_TYPES,
        data=DOCUMENTS | st.binary(max_size=40),
        expires_at_us=TIMES,
        attachment=st.booleans(),
        headers=HEADERS,
    ),
    max_size=3,
    unique_by=lambda p: p.id,
).map(lambda parts: tuple(sorted(parts, key=lambda part: part.attachment)))
SIMPLE_PARTS = st.builds(
    Part,
    id=st.just("1"),
    content_type=CONTENT_TYPES,
    data=DOCUMENTS,
    expires_at_us=st.just(0),
    attachment=st.just(False),
    headers=st.just(()),
).map(lambda part: (part,))

MESSAGES = st.builds(
    Message,
    sender=TEXTS,
    to=SERVICES,
    type=st.sampled_from(MessageType),
    topic=TEXTS,
    handle=TEXTS,
    possible_duplicate=st.booleans(),
    reference=TEXTS,
    expires_at_us=TIMES,
    routing=st.sampled_from(["", "static", "dynamic"]),
    route=SERVICES,
    properties=PROPERTIES,
    status=STATUSES,
    parts=PARTS | SIMPLE_PARTS,
)
DELIVERED = st.builds(
    Delivered,
    session=TEXTS,
    token=TEXTS,
    transaction=TEXTS,
    sender=TEXTS,
    sender_gcid=TEXTS,
    recipient=TEXTS,
    recipient_gcid=TEXTS,
    type=st.sampled_from(MessageType),
    topic=TEXTS,
    handle=TEXTS,
    arguments=ARGUMENTS,
    reference=st.none() | st.builds(AnsweredMessage, TEXTS, TEXTS),
    invoker=TEXTS,
    status=STATUSES,
    properties=PROPERTIES,
    posted_at_us=st.integers(1, LAST_US),
    expires_at_us=TIMES,
    attempt=st.integers(1, 1 << 31),
    in_transit=st.booleans(),
    possible_duplicate=st.booleans(),
    parts=PARTS,
    trace=st.lists(st.builds(PassedService, TEXTS, st.integers(1, LAST_US), STATUSES), max_size=3).map(tuple),
    cookie=st.none() | st.builds(Cookie, TEXTS, NAMES),
)
RESULTS = st.builds(
    PostResult,
    session=TEXTS,
    transaction=TEXTS,
    recipients=st.lists(st.builds(RecipientResult, service=NAMES, code=TEXTS, detail=TEXTS), max_size=3).map(tuple),
)
POLLS = st.builds(
    PollRequest,
    max=st.integers(1, 1000),
    wait_s=st.floats(0, 60),
    lease_s=st.floats(0, 43_200),
    select=st.builds(
        Selector,
        sender=TEXTS,
        type=st.none() | st.sampled_from(MessageType),
        topic=TEXTS,
        session=TEXTS,
        transaction=TEXTS,
        properties=st.lists(st.tuples(NAMES, TEXTS), max_size=3, unique_by=lambda pair: pair[0]).map(tuple),
    ),
    trace=st.booleans(),
)
SETTLEMENTS = st.builds(
    Settlement,
    tokens=st.lists(TEXTS, min_size=1, max_size=4).map(tuple),
    outcome=st.sampled_from(Outcome),
    delay_s=st.floats(0, 43_200),
    reason=TEXTS,
)
SETTLEMENT_RESULTS = st.builds(
    SettlementResult,
    settled=st.lists(st.builds(Settled, token=TEXTS, code=TEXTS, detail=TEXTS), max_size=3).map(tuple),
)

"""CloudEvents: the examples of the specification, what is refused and where, and how a document keeps its bytes."""

from __future__ import annotations

import json

import pytest

from postroad.core.codecs.cloudevents import (
    CloudEvent,
    header_text,
    header_value,
    is_attribute_name,
    read_batch,
    read_binary,
    read_structured,
    write_batch,
    write_binary,
    write_structured,
)
from postroad.core.codecs.limits import WireLimits
from postroad.errors import Refused

REQUIRED = {"specversion": "1.0", "id": "A234-1234-1234", "source": "/mycontext", "type": "com.example.someevent"}
EVENT = CloudEvent(id="A234-1234-1234", source="/mycontext", type="com.example.someevent")
FULL = CloudEvent(
    id="1 %",
    source="urn:é",
    type="orders.new",
    subject="Bestellung „7“",
    time="2018-04-05T17:31:00.123456789+02:00",
    data_content_type="application/json; charset=utf-8",
    data_schema="urn:schema:order",
    extensions=(("number", 5), ("flag", True), ("text", "😀"), ("nothing", "")),
    data=b'{"a": 1.50,\n "a":[2]}',
)
LIMITS = WireLimits()


def structured(**members: object) -> bytes:
    return json.dumps({**REQUIRED, **members}).encode()


def binary(*headers: tuple[str, str]) -> list[tuple[str, str]]:
    return [*((f"ce-{name}", value) for name, value in REQUIRED.items()), *headers]


def refusal(body: bytes, limits: WireLimits = LIMITS) -> Refused:
    with pytest.raises(Refused) as refused:
        read_structured(body, limits)
    return refused.value


@pytest.mark.req("T8")
def test_an_event_in_json() -> None:
    assert write_structured(FULL).decode() == (
        '{"specversion":"1.0","id":"1 %","source":"urn:é","type":"orders.new","subject":"Bestellung „7“",'
        '"time":"2018-04-05T17:31:00.123456789+02:00","datacontenttype":"application/json; charset=utf-8",'
        '"dataschema":"urn:schema:order","number":5,"flag":true,"text":"😀","nothing":"","data":{"a": 1.50,\n "a":[2]}}'
    )
    assert read_structured(write_structured(FULL)) == FULL


@pytest.mark.req("T8")
def test_an_event_in_headers() -> None:
    headers, body = write_binary(FULL)
    assert headers == [
        ("ce-specversion", "1.0"),
        ("ce-id", "1%20%25"),
        ("ce-source", "urn:%C3%A9"),
        ("ce-type", "orders.new"),
        ("ce-subject", "Bestellung%20%E2%80%9E7%E2%80%9C"),
        ("ce-time", "2018-04-05T17:31:00.123456789+02:00"),
        ("Content-Type", "application/json; charset=utf-8"),
        ("ce-dataschema", "urn:schema:order"),
        ("ce-number", "5"),
        ("ce-flag", "true"),
        ("ce-text", "%F0%9F%98%80"),
        ("ce-nothing", ""),
    ]
    assert body == FULL.data
    read = read_binary([("Host", "example.com"), *headers], body)
    assert read.extensions == (("number", "5"), ("flag", "true"), ("text", "😀"), ("nothing", ""))
    assert (read.id, read.subject, read.data) == (FULL.id, FULL.subject, FULL.data)


@pytest.mark.req("T8")
def test_an_event_that_says_as_little_as_possible() -> None:
    assert read_structured(structured()) == EVENT
    assert read_binary(binary(), b"") == EVENT
    assert write_structured(EVENT) == json.dumps(REQUIRED, separators=(",", ":")).encode()
    assert write_binary(EVENT) == (binary(), b"")


def test_null_is_the_same_as_nothing_except_as_json_data() -> None:
    unset = structured(subject=None, time=None, datacontenttype=None, unsetextension=None, data_base64=None)
    assert read_structured(unset) == EVENT
    assert read_structured(structured(data=None)).data == b"null"
    assert read_structured(structured(data=None, datacontenttype="text/json")).data == b"null"
    assert read_structured(structured(data=None, datacontenttype="text/xml")).data is None


@pytest.mark.req("T8")
@pytest.mark.parametrize(
    ("members", "content_type", "data"),
    [
        pytest.param({"data": 1.5, "datacontenttype": "application/json"}, "application/json", b"1.5", id="number"),
        pytest.param({"data": "I'm just a string"}, "application/json", b'"I\'m just a string"', id="no content type"),
        pytest.param({"data": "<a/>", "datacontenttype": "application/xml"}, "application/xml", b"<a/>", id="text"),
        pytest.param({"data": "<a/>", "datacontenttype": "a/b+json"}, "a/b+json", b'"<a/>"', id="json by its ending"),
        pytest.param(
            {"data": "é", "datacontenttype": "text/plain; charset=ISO-8859-1"}, "text/plain; charset=ISO-8859-1", b"\xe9",
            id="another charset",
        ),
        pytest.param({"data_base64": "eyAieHl6IjogMTIzIH0="}, "", b'{ "xyz": 123 }', id="base64 of nobody knows what"),
        pytest.param({"data_base64": "", "datacontenttype": "a/b"}, "a/b", b"", id="an empty document"),
    ],
)  # fmt: skip
def test_documents_of_events_in_json(members: dict[str, object], content_type: str, data: bytes) -> None:
    event = read_structured(structured(**members))
    assert (event.data_content_type, event.data) == (content_type, data)
    assert read_structured(write_structured(event)) == event


@pytest.mark.req("T8")
@pytest.mark.parametrize(
    ("content_type", "data", "member"),
    [
        pytest.param("application/json", b"[1.0,  2]", '"data":[1.0,  2]', id="json"),
        pytest.param("a/vnd.b+json; v=1", b"{}", '"data":{}', id="a kind of json"),
        pytest.param("application/json", b"{}\n", '"data_base64":"e30K"', id="json that would lose a line end"),
        pytest.param("application/json", b"{", '"data_base64":"ew=="', id="no json"),
        pytest.param("application/json", b"[" * 62 + b"]" * 62, '"data":[[[[[[', id="deep json"),
        pytest.param("application/json", b"[" * 63 + b"]" * 63, '"data_base64":"W1tb', id="json too deep for a batch"),
        pytest.param("application/json", b"[" + b'{"a":[]},' * 99 + b"1]", '"data":[{"a":[]},', id="wide json"),
        pytest.param("text/plain", "é\r\n".encode(), '"data":"é\\r\\n"', id="text"),
        pytest.param("text/plain", b"\xe9", '"data_base64":"6Q=="', id="no utf-8"),
        pytest.param("text/plain; charset=iso-8859-1", b"\xe9", '"data":"é"', id="latin-1"),
        pytest.param(
            "text/plain; charset=utf-16", b"\xfe\xff\x00a", '"data_base64":"/v8AYQ=="', id="utf-16 as we write it not"
        ),
        pytest.param("text/plain; charset=klingon", b"a", '"data_base64":"YQ=="', id="unknown charset"),
        pytest.param("application/xml", b"<a/>", '"data":"<a/>"', id="xml"),
        pytest.param("application/EDI-X12", b"ISA*00*~", '"data":"ISA*00*~"', id="edi"),
        pytest.param("application/octet-stream", b"abc", '"data_base64":"YWJj"', id="octets"),
        pytest.param("", b"abc", '"data_base64":"YWJj"', id="nobody knows what"),
        pytest.param("text/plain", b"", '"data":""', id="empty"),
    ],
)
def test_a_document_is_written_so_that_its_bytes_come_back(content_type: str, data: bytes, member: str) -> None:
    event = CloudEvent(id="1", source="/", type="t", data_content_type=content_type, data=data)
    body = write_structured(event)
    assert member in body.decode()
    assert read_structured(body) == event
    assert read_batch(write_batch([event])) == [event]


@pytest.mark.req("T8")
def test_a_batch() -> None:
    assert read_batch(b"[]") == []
    assert read_batch(write_batch([EVENT, FULL])) == [EVENT, FULL]
    assert write_batch([EVENT]) == b"[" + write_structured(EVENT) + b"]"


def test_limits_of_a_batch_and_where_its_faults_are() -> None:
    with pytest.raises(Refused, match=r"wire\.too-complex: the batch has 2 events"):
        read_batch(write_batch([EVENT, EVENT]), WireLimits(bulk_messages=1))
    with pytest.raises(Refused, match="non-empty text") as refused:
        read_batch(b"[" + structured() + b"," + structured(subject="") + b"]")
    assert refused.value.pointer == "/1/subject"
    with pytest.raises(Refused, match="got `object`"):
        read_batch(structured())


@pytest.mark.parametrize(
    ("members", "code", "pointer"),
    [
        pytest.param({"specversion": "0.3"}, "wire.unsupported", "/specversion", id="an older version"),
        pytest.param({"specversion": "2.0"}, "wire.unsupported", "/specversion", id="a later version"),
        pytest.param({"specversion": 1}, "wire.unsupported", "/specversion", id="a number as version"),
        pytest.param({"specversion": None}, "wire.malformed", "", id="no version"),
        pytest.param({"id": ""}, "wire.malformed", "/id", id="empty id"),
        pytest.param({"id": None}, "wire.malformed", "", id="no id"),
        pytest.param({"source": ""}, "wire.malformed", "/source", id="empty source"),
        pytest.param({"type": 7}, "wire.malformed", "/type", id="type is a number"),
        pytest.param({"subject": ""}, "wire.malformed", "/subject", id="empty subject"),
        pytest.param({"datacontenttype": ""}, "wire.malformed", "/datacontenttype", id="empty content type"),
        pytest.param(
            {"datacontenttype": "text/é"}, "wire.malformed", "/datacontenttype", id="content type not in ASCII"
        ),
        pytest.param({"dataschema": ""}, "wire.malformed", "/dataschema", id="empty schema"),
        pytest.param({"time": "yesterday"}, "wire.malformed", "/time", id="no time"),
        pytest.param({"time": "2018-04-05T17:31:00"}, "wire.malformed", "/time", id="no zone"),
        pytest.param({"time": "2018-13-05T17:31:00Z"}, "wire.malformed", "/time", id="no such month"),
        pytest.param({"id": "a\nb"}, "wire.malformed", "/id", id="control character"),
        pytest.param({"x": "a\u0085b"}, "wire.malformed", "/x", id="control character of Latin-1"),
        pytest.param({"x": "\ufdd0"}, "wire.malformed", "/x", id="no character"),
        pytest.param({"x": "\U0002ffff"}, "wire.malformed", "/x", id="no character of another plane"),
        pytest.param({"x": 1 << 31}, "wire.malformed", "/x", id="large number"),
        pytest.param({"x": 1.5}, "wire.malformed", "/x", id="fraction"),
        pytest.param({"x": {}}, "wire.malformed", "/x", id="object"),
        pytest.param({"x": []}, "wire.malformed", "/x", id="array"),
        pytest.param({"myName": "x"}, "wire.malformed", "/myName", id="capital letters"),
        pytest.param({"my_name": "x"}, "wire.malformed", "/my_name", id="underscore"),
        pytest.param({"": "x"}, "wire.malformed", "/", id="no name"),
        pytest.param({"x" * 101: "x"}, "wire.malformed", "/" + "x" * 40, id="long name"),
        pytest.param({"data": 1, "data_base64": "YQ=="}, "wire.malformed", "/data", id="two documents"),
        pytest.param({"data_base64": "Y"}, "wire.malformed", "/data_base64", id="no base64"),
        pytest.param({"data_base64": 5}, "wire.malformed", "/data_base64", id="number as base64"),
        pytest.param({"data": {}, "datacontenttype": "text/xml"}, "wire.malformed", "/data", id="object as xml"),
        pytest.param(
            {"data": "é", "datacontenttype": "a/b; charset=us-ascii"},
            "wire.malformed",
            "/data",
            id="not of the charset",
        ),
        pytest.param(
            {"data": "é", "datacontenttype": "a/b; charset=x"}, "wire.malformed", "/data", id="unknown charset"
        ),
        pytest.param({"subject": "s" * 4097}, "wire.too-large", "/subject", id="long subject"),
        pytest.param({f"x{number}": 1 for number in range(201)}, "wire.too-complex", "", id="many extensions"),
    ],
)
def test_what_the_specification_does_not_allow_is_refused(members: dict[str, object], code: str, pointer: str) -> None:
    refused = refusal(structured(**members))
    assert (refused.code, refused.pointer) == (code, pointer)


def test_names_twice_are_refused_outside_of_the_document_and_left_alone_inside() -> None:
    assert refusal(structured()[:-1] + b', "id": "2"}').pointer == "/id"
    document = b'{"a": 1, "a": 2}'
    assert read_structured(structured()[:-1] + b', "data": ' + document + b"}").data == document


@pytest.mark.parametrize(
    "members",
    [
        pytest.param(b'"x": 1, "x": 2', id="numbers"),
        pytest.param(b'"x": 12, "x": 1', id="one begins like the other"),
        pytest.param(b'"x": 1, "x": 1', id="the same"),
        pytest.param(b'"x": 1, "\\u0078": 1', id="escaped"),
        pytest.param(b'"data": {"a": 1}, "data": {"b": 1}', id="documents"),
        pytest.param(b'"data": 1, "x": 2, "data": 1', id="far apart"),
        pytest.param(b'"": 1, "": 2', id="empty names"),
    ],
)
def test_a_name_that_comes_twice_is_refused(members: bytes) -> None:
    refused = refusal(structured()[:-1] + b", " + members + b" }")
    assert (refused.code, refused.detail) == ("wire.malformed", "a name occurs twice in the event")


@pytest.mark.timeout(20)
@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"[" * 5_000_000, "wire.too-complex", id="open brackets"),
        pytest.param(b"[" * 400 + b"]" * 400, "wire.too-complex", id="deep"),
        pytest.param(b"[" + (b"[" * 70 + b"]" * 70 + b",") * 70_000 + b"1]", "wire.too-complex", id="deep and wide"),
        pytest.param(b"[" + (b"[" * 60 + b"]" * 60 + b",") * 80_000 + b"1]", "", id="nearly too deep and wide"),
        pytest.param(b"[" + b"[[]]," * 2_000_000 + b"1]", "", id="wide"),
        pytest.param(b'"' + b"[" * 5_000_000 + b'"', "", id="brackets in a text"),
    ],
)
def test_documents_that_are_deep_or_wide(data: bytes, code: str) -> None:
    body = structured()[:-1] + b', "data": ' + data + b"}"
    if code:
        assert refusal(body, WireLimits(body_bytes=1 << 30)).code == code
    else:
        assert read_structured(body, WireLimits(body_bytes=1 << 30)).data == data


@pytest.mark.req("Z2")
def test_members_are_counted_before_any_of_them_is_read() -> None:
    many = b"".join(b', "x%d": []' % number for number in range(300))
    assert refusal(structured()[:-1] + many + b"}").code == "wire.too-complex"


def test_limits() -> None:
    assert refusal(structured(), WireLimits(body_bytes=10)).code == "wire.too-large"
    assert refusal(structured()[:-1] + b', "data": ' + b"[" * 64 + b"]" * 64 + b"}").code == "wire.too-complex"
    assert refusal(b"\xff").code == "wire.malformed"
    with pytest.raises(Refused, match=r"wire\.too-large"):
        read_binary(binary(), b"12345", WireLimits(body_bytes=4))


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        pytest.param([("ce-id", "1"), ("ce-source", "/"), ("ce-type", "t")], "specversion is missing", id="no version"),
        pytest.param(binary(("CE-ID", "1")), "the header CE-ID occurs twice", id="twice"),
        pytest.param(
            binary(("ce-datacontenttype", "a/b")), "the datacontenttype is the Content-Type", id="content type"
        ),
        pytest.param(binary(("ce-data", "x")), "'data' cannot be an attribute", id="data"),
        pytest.param(binary(("ce-my-name", "x")), "'my-name' cannot be an attribute", id="hyphen"),
        pytest.param(binary(("ce-subject", "")), "subject must be a non-empty text", id="empty"),
        pytest.param(binary(("ce-subject", "%C0%A0")), "bytes that are not UTF-8", id="not UTF-8"),
        pytest.param(binary(("ce-subject", "a%0D%0Ab")), "control character", id="line end"),
        pytest.param(binary(("Content-Type", "a/b"), ("content-type", "a/c")), "occurs twice", id="two content types"),
    ],
)
def test_headers_that_make_no_event_are_refused(headers: list[tuple[str, str]], says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        read_binary(headers, b"")
    assert refused.value.code == "wire.malformed"


@pytest.mark.parametrize(
    ("content_type", "data"),
    [("text/plain", b""), ("application/json", None), ("", None)],
    ids=["text", "json", "none"],
)
def test_an_empty_body_is_an_empty_document_where_that_makes_sense(content_type: str, data: bytes | None) -> None:
    assert read_binary(binary(("Content-Type", content_type)), b"").data == data


@pytest.mark.req("T8")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"),
        ('say "100%"', "say%20%22100%25%22"),
        ("!#$&'()*+,-./:;<=>?@[\\]^_`{|}~", "!#$&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        ("\r\n\x7f", "%0D%0A%7F"),
        (" ", "%20"),
        ("", ""),
    ],
)
def test_any_text_as_a_header_value(text: str, value: str) -> None:
    assert header_value(text) == value
    assert header_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param("%e2%82%ac%41", "€A", id="lower case, and more than needed"),
        pytest.param('"a \\"b\\" \\\\ %20c"', 'a "b" \\  c', id="quoted as in older versions"),
        pytest.param("100% of %zz %4", "100% of %zz %4", id="percent signs that code nothing"),
        pytest.param("Ã©", "é", id="bare UTF-8, read as Latin-1 by the server"),
        pytest.param("é", "é", id="Latin-1"),
        pytest.param("漢%20é", "漢 é", id="text that never was bytes"),
        pytest.param('a "b"', 'a "b"', id="quotes inside"),
        pytest.param('"', '"', id="one quote"),
        pytest.param(" \ta b\t ", "a b", id="white space around"),
    ],
)
def test_header_values_of_others(value: str, text: str) -> None:
    assert header_text(value) == text


def test_names_of_extensions() -> None:
    assert [
        name for name in ("a", "a1", "0", "", "A", "a-b", "a_b", "é", "data", "id", "time") if is_attribute_name(name)
    ] == [
        "a",
        "a1",
        "0",
    ]


def test_an_event_without_an_id_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="has an id, a source and a type"):
        write_structured(CloudEvent(id="", source="/", type="t"))
    with pytest.raises(ValueError, match="has an id, a source and a type"):
        write_binary(CloudEvent(id="1", source="", type="t"))

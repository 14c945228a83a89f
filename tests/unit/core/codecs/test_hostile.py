"""A corpus of attacks and lies: each is refused with the right code, in bounded memory and in a bounded number of steps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import msgspec
import pytest

from postroad.core.codecs.bulk import decode_bulk
from postroad.core.codecs.envelope import ENVELOPE_FORM, ENVELOPES
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.native_formats import codec_for
from postroad.core.codecs.soap import SOAP11
from postroad.core.codecs.soap.names import SOAP_11
from postroad.core.codecs.xml import parse
from postroad.errors import Refused

SOURCE = Path(__file__).parents[4] / "src"


def soap(inside: bytes, *, prolog: bytes = b"", header: bytes = b"", attributes: bytes = b"") -> bytes:
    return (
        prolog
        + b'<s:Envelope xmlns:s="%b" xmlns:pr="urn:postroad:message:1"%b>%b' % (SOAP_11.encode(), attributes, header)
        + b"<s:Body><pr:Post><pr:Document><pr:Xml>%b</pr:Xml></pr:Document></pr:Post></s:Body></s:Envelope>" % inside
    )


LAUGHS = b"<!DOCTYPE a [<!ENTITY a 'ha'>" + b"".join(
    b"<!ENTITY %c '%b'>" % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
)
XML_ATTACKS: dict[str, tuple[bytes, str]] = {
    "external entity": (
        soap(b"<a>&x;</a>", prolog=b"<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"),
        "wire.forbidden-markup",
    ),
    "external DTD": (soap(b"<a/>", prolog=b"<!DOCTYPE a SYSTEM 'http://127.0.0.1/x.dtd'>"), "wire.forbidden-markup"),
    "parameter entity": (soap(b"<a/>", prolog=b"<!DOCTYPE a [<!ENTITY % x SYSTEM 'x'>%x;]>"), "wire.forbidden-markup"),
    "billion laughs": (soap(b"<a>&j;</a>", prolog=LAUGHS + b"]>"), "wire.forbidden-markup"),
    "quadratic": (
        soap(b"&q;" * 1000, prolog=b"<!DOCTYPE a [<!ENTITY q '" + b"x" * 100_000 + b"'>]>"),
        "wire.forbidden-markup",
    ),
    "DTD in UTF-16": (soap(b"<a/>", prolog=b"<!DOCTYPE a []>").decode().encode("utf-16"), "wire.forbidden-markup"),
    "DTD inside a document": (soap(b"<!DOCTYPE a []><a/>"), "wire.malformed"),
    "undeclared entity": (soap(b"<a>&nbsp;</a>"), "wire.malformed"),
    "deep": (soap(b"<a>" * 300 + b"</a>" * 300), "wire.too-complex"),
    "very deep": (soap(b"<a>" * 1_000_000), "wire.too-complex"),
    "many elements": (soap(b"<a>" + b"<b/>" * 250_000 + b"</a>"), "wire.too-complex"),
    "wide attributes": (soap(b"<a " + b" ".join(b"a%d=''" % n for n in range(300)) + b"/>"), "wire.too-complex"),
    "many declarations": (
        soap(b"<a " + b" ".join(b"xmlns:a%d='urn:a'" % n for n in range(300)) + b"/>"),
        "wire.too-complex",
    ),
    "too many bytes": (soap(b"<a>" + b"x" * (10 << 20) + b"</a>"), "wire.too-large"),
    "UTF-7": (soap(b"<a/>", prolog=b'<?xml version="1.0" encoding="UTF-7"?>'), "wire.malformed"),
    "says UTF-16, is not": (soap(b"<a/>", prolog=b'<?xml version="1.0" encoding="UTF-16"?>'), "wire.malformed"),
    "says UTF-8, is Latin-1": (
        soap(b"<a>\xfc</a>", prolog=b'<?xml version="1.0" encoding="UTF-8"?>'),
        "wire.malformed",
    ),
    "says ASCII, is not": (
        soap(b"<a>\xc3\xbc</a>", prolog=b'<?xml version="1.0" encoding="US-ASCII"?>'),
        "wire.malformed",
    ),
    "is UTF-16, says Latin-1": (
        soap(b"<a/>", prolog=b'<?xml version="1.0" encoding="ISO-8859-1"?>').decode().encode("utf-16"),
        "wire.malformed",
    ),
    "UTF-32": (soap(b"<a/>").decode().encode("utf-32"), "wire.malformed"),
    "NUL": (soap(b"<a>\x00</a>"), "wire.malformed"),
    "lone surrogate": (soap(b"<a>\xed\xa0\x80</a>"), "wire.malformed"),
    "surrogate in UTF-16": (
        soap(b"<a>#</a>").decode().encode("utf-16-le").replace(b"#\x00", b"\x00\xd8"),
        "wire.malformed",
    ),
    "reference to no character": (soap(b"<a>&#0;</a>"), "wire.malformed"),
    "unbound prefix": (soap(b"<x:a/>"), "wire.malformed"),
    "two documents in one": (soap(b"<a/><b/>"), "wire.malformed"),
    "text beside a document": (soap(b"<a/>text"), "wire.malformed"),
    "no document": (soap(b" "), "wire.malformed"),
    "inner XML declaration": (soap(b'<?xml version="1.0"?><a/>'), "wire.malformed"),
    "instruction in the envelope": (soap(b"<a/>", prolog=b"<?evil now?>"), "wire.forbidden-markup"),
    "not supported": (
        soap(b"<a/>", header=b"<s:Header><x:y xmlns:x='urn:x' s:mustUnderstand='1'/></s:Header>"),
        "wire.unsupported",
    ),
    "another version of SOAP": (soap(b"<a/>").replace(SOAP_11.encode(), b"urn:soap:3"), "wire.unsupported"),
    "something after the end": (soap(b"<a/>") + b"<a/>", "wire.malformed"),
}
JSON_ATTACKS: dict[str, tuple[bytes, str]] = {
    "a name twice": (b'{"to":["a"],"to":["b"]}', "wire.malformed"),
    "a name twice, once escaped": (b'{"to":["a"],"t\\u006f":["b"]}', "wire.malformed"),
    "a name behind a comma": (b'{"properties":{"x":"a,",":k":1,":k":2}}', "wire.malformed"),
    "a name with a quote twice": (b'{"properties":{"a\\"b":1,"a\\"b":2}}', "wire.malformed"),
    "a spaced name twice": (b'{ "topic" : "a" ,\n "topic"\t: "b" }', "wire.malformed"),
    "a property twice": (b'{"properties":{"a":1,"a":2}}', "wire.malformed"),
    "an argument twice": (b'{"to":[{"service":"x","arguments":{":k":"1",":k":"2"}}]}', "wire.malformed"),
    "a name of text twice": (b'{"properties":{"\xc3\xbc":1,"\xc3\xbc":2}}', "wire.malformed"),
    "deep": (b'{"documents":[{"json":' + b"[" * 100 + b"]" * 100 + b"}]}", "wire.too-complex"),
    "very deep": (b"[" * 1_000_000, "wire.too-complex"),
    "NaN": (b'{"properties":{"a":NaN}}', "wire.malformed"),
    "infinite": (b'{"properties":{"a":-Infinity}}', "wire.malformed"),
    "giant number": (b'{"properties":{"a":' + b"9" * 100_000 + b"}}", "wire.malformed"),
    "leading zero": (b'{"properties":{"a":01}}', "wire.malformed"),
    "null property": (b'{"properties":{"a":null}}', "wire.malformed"),
    "lone surrogate": (b'{"topic":"\\ud800"}', "wire.malformed"),
    "NUL": (b'{"topic":"\\u0000"}', "wire.malformed"),
    "not UTF-8": (b'{"topic":"\xff"}', "wire.malformed"),
    "not UTF-8 in a document": (b'{"documents":[{"json":"\xff"}]}', "wire.malformed"),
    "UTF-16": ('{"topic":"x"}'.encode("utf-16"), "wire.malformed"),
    "unknown field": (b'{"tpoic":"x"}', "wire.malformed"),
    "long topic": (b'{"topic":"' + b"x" * 5000 + b'"}', "wire.too-large"),
    "long name": (b'{"properties":{"' + b"x" * 200 + b'":1}}', "wire.too-large"),
    "two bodies": (b'{"documents":[{"text":"a","base64":"YQ=="}]}', "wire.malformed"),
    "no body": (b'{"documents":[{"id":"a"}]}', "wire.malformed"),
    "bad Base64": (b'{"documents":[{"base64":"YQ=!"}]}', "wire.malformed"),
    "an id twice": (b'{"documents":[{"id":"2","text":"a"},{"text":"b"}]}', "wire.malformed"),
    "101 parts": (b'{"documents":[' + b",".join([b'{"text":""}'] * 101) + b"]}", "wire.too-complex"),
    "10001 recipients": (b'{"to":[' + b",".join([b'"a"'] * 10_001) + b"]}", "wire.too-complex"),
    "no zone": (b'{"expiration":"2026-11-15T10:00:00"}', "wire.malformed"),
    "no such day": (b'{"expiration":"2026-02-30T10:00:00Z"}', "wire.malformed"),
    "week date": (b'{"expiration":"2026-W46-2T10:00:00Z"}', "wire.malformed"),
}
ENVELOPE_ATTACKS: dict[str, tuple[bytes, str]] = {
    "announces a giant array": (b"\xdd\xff\xff\xff\xff", "wire.malformed"),
    "announces giant bytes": (b"\x92\xa1a\xc6\xff\xff\xff\xff", "wire.malformed"),
    "deep": (b"\x91" * 100_000, "wire.malformed"),
    "time beyond the calendar": (
        msgspec.msgpack.encode(["a", b"", "", "request", "", "", "", 1 << 62]),
        "wire.malformed",
    ),
    "not UTF-8": (b"\x92\xa1\xff\xc4\x00", "wire.malformed"),
    "control character": (msgspec.msgpack.encode(["a\x01", b""]), "wire.malformed"),
    "no name": (msgspec.msgpack.encode(["", b""]), "wire.malformed"),
    "too many fields": (msgspec.msgpack.encode(["a", b"", *[None] * 20]), "wire.malformed"),
    "something after the end": (msgspec.msgpack.encode(["a", b""]) + b"x", "wire.malformed"),
    "long topic": (msgspec.msgpack.encode(["a", b"", "", "request", "x" * 5000]), "wire.too-large"),
}
COUNTED = ("wire.forbidden-markup", "wire.too-complex")
MEMORY_ATTACKS = ["very deep", "many elements", "quadratic", "many attributes", "json", "msgpack", "lines", "parts"]
CASES = [
    pytest.param(codec.decode_post, body, code, id=f"{form}: {name}")
    for form, codec, attacks in (
        ("xml", SOAP11, XML_ATTACKS),
        ("json", JSON_FORM, JSON_ATTACKS),
        ("envelope", ENVELOPE_FORM, ENVELOPE_ATTACKS),
    )
    for name, (body, code) in attacks.items()
]


@pytest.mark.req("Z2", "M5")
@pytest.mark.parametrize(("decode", "body", "code"), CASES)
def test_the_attack_is_refused(decode: Callable[[bytes], object], body: bytes, code: str) -> None:
    with pytest.raises(Refused) as refused:
        decode(body)
    assert refused.value.code == code
    assert len(refused.value.detail) < 500


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    "body", [body for body, code in XML_ATTACKS.values() if code in ("wire.forbidden-markup", "wire.too-complex")]
)
def test_the_tree_parser_refuses_it_too(body: bytes) -> None:
    if b"<?evil" in body:
        assert parse(body).tag.endswith("Envelope")  # instructions are harmless to a tree, which leaves them out
        return
    with pytest.raises(Refused) as refused:
        parse(body)
    assert refused.value.code in COUNTED


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    "attack", ["very deep", "many elements", "quadratic", "many attributes", "json", "msgpack", "lines", "parts"]
)
def test_memory_stays_bounded(attack: str) -> None:
    program = f"""
import resource, sys
sys.path.insert(0, {str(SOURCE)!r})
from postroad.core.codecs.bulk import decode_bulk
from postroad.core.codecs.native_formats import codec_for
from postroad.errors import Refused
head = b'<s:Envelope xmlns:s="{SOAP_11}" xmlns:pr="urn:postroad:message:1"><s:Body><pr:Post><pr:Document><pr:Xml>'
size = 8 << 20
body = {{
    "very deep": head + b"<a>" * (size // 3),
    "many elements": head + b"<a/>" * (size // 4),
    "quadratic": b"<!DOCTYPE a [<!ENTITY q '" + b"x" * size + b"'>]>" + head,
    "many attributes": head + b"<a " + b" ".join(b"a%d=''" % n for n in range(size // 12)) + b"/>",
    "json": b'{{"to":[' + b'"a",' * (size // 4),
    "msgpack": b"\\x92\\xdd\\x00\\x80\\x00\\x00" + b"\\xa1a" * (size // 2),
    "lines": b"{{}}\\n" * (size // 3),
    "parts": b"--b\\r\\n\\r\\n" * (size // 7),
}}[{attack!r}]
kind = {{"json": "application/json", "msgpack": "application/msgpack", "lines": "application/x-ndjson",
        "parts": "multipart/mixed; boundary=b"}}.get({attack!r}, "text/xml")
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + 30 * size, used + 30 * size))
try:
    decode_bulk(kind, body) if {attack!r} in ("lines", "parts") else codec_for(kind, body).decode_post(body)
except Refused as refused:
    print(refused.code)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("wire."), ended.stderr[-500:]


def steps(call: Callable[[], object]) -> int:
    """Python calls made, C functions included: time that no other process can disturb."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        call()
    except Refused:
        pass
    finally:
        sys.setprofile(None)
    return count


def bulk(content_type: str) -> Callable[[bytes], object]:
    return lambda body: decode_bulk(content_type, body)


SIZED: dict[str, tuple[Callable[[bytes], object], Callable[[int], bytes]]] = {
    "elements": (SOAP11.decode_post, lambda n: soap(b"<a>" + b"<b/>" * n + b"</a>")),
    "prefixes": (SOAP11.decode_post, lambda n: soap(b"<a>" + b"<b>s:x</b>" * n + b"</a>")),
    "colons": (SOAP11.decode_post, lambda n: soap(b"<a>" + b":" * n + b"</a>")),
    "names": (JSON_FORM.decode_post, lambda n: b'{"documents":[' + b'{"text":"a\\"b","id":"1"},' * n + b"]}"),
    "brackets": (JSON_FORM.decode_post, lambda n: b'{"documents":[{"json":[' + b"[]," * n + b"1]}]}"),
    "lines": (bulk("application/x-ndjson"), lambda n: b'{"to":["a"]}\n' * n),
    "envelopes": (bulk(ENVELOPES), lambda n: msgspec.msgpack.encode([["a", b""]] * n + [[1]])),
    "parts": (
        bulk("multipart/mixed; boundary=b"),
        lambda n: b"--b\r\nContent-Type: application/json\r\n\r\n{}\r\n" * n + b"--b--",
    ),
}


@pytest.mark.req("Z2")
@pytest.mark.parametrize("kind", SIZED)
def test_steps_grow_no_faster_than_the_input(kind: str) -> None:
    decode, make = SIZED[kind]
    small, large = make(2000), make(4000)
    assert steps(lambda: decode(large)) <= 2.2 * steps(lambda: decode(small)) + 50


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param("text/xml", b'<?xml version="1.0" encoding="latin-1">' + b" " * 200_000, id="unended declaration"),
        pytest.param("application/json", b'{"to":' + b"[" * 70 + b'"' + rb"\"" * 100_000, id="unended string"),
    ],
)
def test_what_is_never_ended_is_looked_at_once(content_type: str, body: bytes) -> None:
    """A pattern that begins again at every byte makes no calls that could be counted: it took minutes for each of these."""
    started = process_time()
    with pytest.raises(Refused):
        codec_for(content_type, body).decode_post(body)
    assert process_time() - started < 2


@pytest.mark.req("Z2")
def test_parts_are_counted_before_their_names_are_compared() -> None:
    documents = b",".join([b'{"text":"a","text":"a"}'] * 101)
    with pytest.raises(Refused) as refused:
        JSON_FORM.decode_post(b'{"to":["A/B"],"documents":[%b]}' % documents)
    assert refused.value.code == "wire.too-complex", "comparing names takes long, and many make it so"

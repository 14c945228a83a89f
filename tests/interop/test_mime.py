"""Mail that other products' test suites are made of: what mime4j and the standard library read in it, we read too.

What we refuse stands in a table with the reason. The collection lies beside the repository in ``../shared/fixtures``;
without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

import email
from email.message import Message
from pathlib import Path

import pytest
from lxml import etree

from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, read_entity, read_multipart
from postroad.errors import Refused

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "mime_swa"
TORTURE, PYTHON = FIXTURES / "mime4j-torture", FIXTURES / "cpython-email"
MESSAGES = sorted([*TORTURE.glob("*.msg"), *PYTHON.glob("*.txt")])

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)

MALFORMED = "wire.malformed"
MAILBOX = (MALFORMED, "begins with the 'From ' line of a mailbox file, which is no part of a message")
NO_HEADER = (MALFORMED, "has a line in its header that is none; it is no body either, before an empty line came")
NO_BOUNDARY = (MALFORMED, "names a boundary that does not come in its body")
NOT_CLOSED = (MALFORMED, "has no closing boundary, so nobody can tell whether it is whole")
NO_PART = (MALFORMED, "has no part, which RFC 2046 does not allow")
REFUSED: dict[str, tuple[str, str]] = {
    "badbound.msg": NO_BOUNDARY,
    "hdr-fakeout.msg": NO_HEADER,
    "jt-0498.msg": MAILBOX,
    "malformedHeader-nocrlfcrlf.msg": NO_HEADER,
    "malformedHeader-noheader.msg": NO_HEADER,
    "malformedHeaderStartsBody-noheader.msg": NO_HEADER,
    "missing-inner-boundary.msg": NO_BOUNDARY,
    "missing-inner-start-boundary.msg": NO_PART,
    "mp-msg-rfc822.msg": MAILBOX,
    "msg_15.txt": NO_BOUNDARY,
    "msg_25.txt": MAILBOX,
    "msg_33.txt": (MALFORMED, "names its boundary in the extended form of RFC 2231, which no multipart needs"),
    "msg_35.txt": NO_HEADER,
    "msg_38.txt": (MALFORMED, "has outer boundaries in an inner part, which RFC 2046 does not allow"),
    "msg_39.txt": NO_BOUNDARY,
    "msg_43.txt": MAILBOX,
    "msg_47.txt": NO_HEADER,
    "multi-bad.msg": NOT_CLOSED,
    "multi-frag.msg": NOT_CLOSED,
    "multipartemptypart.msg": NO_PART,
    "multipartnopart.msg": NO_PART,
    "obsolete.msg": (MALFORMED, "has a header whose name is not ASCII"),
    "weird-boundary.msg": (MALFORMED, "names a boundary that ends in spaces, which RFC 2046 does not allow"),
    "x-gzip64.msg": ("wire.unsupported", "has content in a transfer encoding that was never registered"),
}
READ_OTHERWISE_BY_PYTHON = {
    "bad-newlines-multiple-parts-base64.msg": "a message in base64 is not looked into there",
    "base64encoded-rfc822message-nested.msg": "a message in base64 is not looked into there",
    "msg_16.txt": "a delivery status is there taken apart into messages",
    "multi-badnames.msg": "a folded boundary keeps its line end there, and is not found",
    "multi-clen.msg": "a folded boundary keeps its line end there, and is not found",
    "multi-digest.msg": "a folded boundary keeps its line end there, and is not found",
}
MESSAGE = "message/rfc822"


def inside(entity: Entity, default: str) -> list[tuple[Entity, str]] | None:
    """What a multipart or a message has inside, each with the type it has if it names none; None when it is neither."""
    kind = media_type_of(entity.content_type) or default
    if kind.startswith("multipart/"):
        default = MESSAGE if kind == "multipart/digest" else "text/plain"
        return [(part, default) for part in read_multipart(entity.content_type, entity.data()).parts]
    return [(read_entity(entity.data()), "text/plain")] if kind == MESSAGE else None


def leaves(entity: Entity, default: str = "text/plain") -> list[bytes]:
    within = inside(entity, default)
    return [bytes(entity.data())] if within is None else [leaf for found in within for leaf in leaves(*found)]


def pythons_leaves(message: Message) -> list[bytes]:
    return [bytes(part.get_payload(decode=True)) for part in message.walk() if not part.is_multipart()]


def check(said: etree._Element, entity: Entity, default: str = "text/plain") -> int:
    """Compares with what mime4j says of an entity; answers how many contents were compared."""
    fields = [" ".join(str(field.text).split()) for field in said.iterfind("header/field")]
    assert fields == [" ".join(f"{name}: {value}".split()) for name, value in entity.headers()]
    within = inside(entity, default)
    if within is None:
        (content,) = [TORTURE / str(child.get("name")) for child in said if child.tag in ("text-body", "binary-body")]
        if not content.is_file():  # the collection does not have them all
            return 0
        assert bytes(entity.data()).replace(b"\r\n", b"\n") == content.read_bytes().replace(b"\r\n", b"\n")
        return 1
    expected = [*said.iterfind("multipart/body-part"), *said.iterfind("message")]
    return sum(check(element, *found) for element, found in zip(expected, within, strict=True))


@pytest.mark.req("T2", "T4")
def test_what_mime4j_expects_is_what_we_read() -> None:
    compared = {
        path.name: check(etree.parse(str(expectation)).getroot(), read_entity(path.read_bytes()))
        for path in MESSAGES
        if (expectation := path.with_name(f"{path.stem}_decoded.xml")).is_file() and path.name not in REFUSED
    }
    assert len(compared) >= 17
    assert sum(compared.values()) >= 16


@pytest.mark.req("T4")
@pytest.mark.parametrize("path", [pytest.param(path, id=path.name) for path in MESSAGES if path.name not in REFUSED])
def test_the_standard_library_reads_the_same(path: Path) -> None:
    wire = path.read_bytes()
    ours, theirs = leaves(read_entity(wire)), pythons_leaves(email.message_from_bytes(wire))
    assert (ours == theirs) is (path.name not in READ_OTHERWISE_BY_PYTHON)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_for_its_reason(name: str) -> None:
    code, reason = REFUSED[name]
    (path,) = [path for path in MESSAGES if path.name == name]
    with pytest.raises(Refused) as refused:
        leaves(read_entity(path.read_bytes()))
    assert refused.value.code == code, reason

"""SOAP with attachments that Axis, Axis2, CXF, SAAJ, soapUI and Hermes wrote: the root is found, attachments are whole.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from postroad.core.codecs.mime import Related, read_entity, read_multipart, read_related, write_multipart
from postroad.core.codecs.mime.fields import LF_LINES

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "mime_swa"
Attachments = list[tuple[str, bytes | int | str]]  # id, and the content, its length, or the beginning of its digest

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)


def cxf(place: int) -> str:
    return f"1882f79d-e20a-4b36-a222-7a75518cf395-{place}@cxf.apache.org"


EXPECTED: dict[str, tuple[str, bool, Attachments]] = {  # the root's id, whether it is XOP, what comes with it
    "axiom/quoted-printable.msg": ("rootpart@soapui.org", True, [("SDESS_COREP_00000_KO_SNG.xml", "03a8a97da914")]),
    "axiom/sample1_1.msg": (
        "0.urn:uuid:A3ADBAEE51A1A87B2A11443668160702@apache.org",
        False,
        [("BAttachment", 48314), ("AAttachment", 4991)],
    ),
    "axiom/sample2.msg": ("SOAPPart", True, [("-1609420109260943731", b"8A \x0c\x0c\x07???b")]),
    "axiom/zero-length-attachment.bin": (
        "0.urn:uuid:0549F3F826EC3041861188639371826@apache.org",
        True,
        [("1.urn:uuid:0549F3F826EC3041861188639371827@apache.org", b"")],
    ),
    "axis2/SwAmessage.bin": (
        "0.urn:uuid:E3F7CE4554928DA89B1231365678617@apache.org",
        False,
        [("urn:uuid:E3F7CE4554928DA89B1231365678347", b"test text")],
    ),
    "axis2/message.bin": (
        "0.urn:uuid:F02ECC18873CFB73E211412748909308@apache.org",
        True,
        [("1.urn:uuid:F02ECC18873CFB73E211412748909349@apache.org", b"TATA\r\n")],
    ),
    "axis2/swainput.bin": ("9D645C8EBB837CE54ABD027A3659535D", False, [("3936AE19FBED55AE4620B81C73BDD76E", 56)]),
    "cxf/cxf3383.data": (
        "root.message@cxf.apache.org",
        True,
        [(cxf(place), bytes(range(65, 65 + place))) for place in range(1, 50)],
    ),
    "cxf/cxf3582.data": (
        "root.message@cxf.apache.org",
        True,
        [
            ("1a66bb35-67fc-4e89-9f33-48af417bf9fe-1@apache.org", 500),
            ("1a66bb35-67fc-4e89-9f33-48af417bf9fe-2@apache.org", 1249),
        ],
    ),
    "cxf/swadata": ("86048FF3556694F7DA1918466DDF8143", False, [("02506EC1DE5431C3D3BF8E780FC4A65A", b"foobar")]),
    "cxf/swareq": ("86048FF3556694F7DA1918466DDF8143", False, [("02506EC1DE5431C3D3BF8E780FC4A65A", b"foobar")]),
    "hermes-ebms/test2.msg": ("soappart", False, [("Payload-0", "d491dada6288")]),
    "hermes-ebms/test3.msg": ("soappart", False, [("Payload-0", "d491dada6288")]),
    "saaj-ri/folded-content-type.txt": (
        "http://claiming-it.com/claim061400a.xml",  # the second part: start says so
        False,
        [("http://claiming-it.com/claim061400a.txt", b"The claim txt\r\n")],
    ),
    "saaj-ri/message1.txt": ("soapPart", False, [("attachmentPart", 462)]),
    "saaj-ri/missing-quotes.txt": (
        "http://claiming-it.com/claim061400a.xml",
        False,
        [("http://claiming-it.com/claim061400a.txt", b"The claim txt")],
    ),
}
IN_LF = ("cxf/cxf3383.data", "cxf/cxf3582.data", "hermes-ebms/test2.msg", "hermes-ebms/test3.msg")
NO_MIME = {"bugAttr.xml", "env-prefix.xml", "message.xml", "message_1.xml", "quot.xml", "rejectDtd.xml", "sanity.xml",
           "service.wsdl", "slide.xml", "xml.txt"}  # fmt: skip


def message(name: str) -> Related:
    """Some were kept with the request line and the headers of HTTP, some with headers, some as the body alone."""
    wire = (FIXTURES / name).read_bytes()
    if wire.startswith(b"POST "):
        wire = wire.partition(b"\n")[2]
    elif not wire.startswith(b"MIME-Version:"):
        first_line = wire.lstrip().partition(b"\n")[0].strip()
        return read_related(f'multipart/related; boundary="{first_line.decode()[2:]}"', wire)
    entity = read_entity(wire)
    return read_related(entity.content_type, entity.body)


def test_every_message_of_the_collection_is_known() -> None:
    folders = ("axiom", "axis2", "cxf", "hermes-ebms", "saaj-ri")
    files = {path.relative_to(FIXTURES).as_posix() for folder in folders for path in (FIXTURES / folder).iterdir()}
    assert files - {f"saaj-ri/{name}" for name in NO_MIME} == set(EXPECTED)


@pytest.mark.req("T2", "T4")
@pytest.mark.parametrize("name", EXPECTED)
def test_root_and_attachments_are_what_their_makers_meant(name: str) -> None:
    related = message(name)
    root_id, is_xop, attachments = EXPECTED[name]
    root = bytes(related.root.data()).strip()
    assert (related.root.content_id, related.is_xop) == (root_id, is_xop)
    assert root.endswith(b":Envelope>")
    assert root.startswith((b"<soap", b"<SOAP-ENV:", b"<?xml "))
    assert [entity.content_id for entity in related.others] == [id_ for id_, _ in attachments]
    for entity, (_, expected) in zip(related.others, attachments, strict=True):
        data = bytes(entity.data())
        known = (
            len(data)
            if isinstance(expected, int)
            else data
            if isinstance(expected, bytes)
            else sha256(data).hexdigest()[:12]
        )
        assert known == expected
    assert related.multipart.tolerated == ((LF_LINES,) if name in IN_LF else ())


@pytest.mark.req("T9")
@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in IN_LF])
def test_written_again_they_are_the_same(name: str) -> None:
    """Head for head and body for body, in other boundaries."""
    parts = [(part.head, bytes(part.body)) for part in message(name).multipart.parts]
    written = b"".join(write_multipart(parts, b"another-boundary"))
    again = read_multipart("multipart/related; boundary=another-boundary", written)
    assert [(part.head, bytes(part.body)) for part in again.parts] == parts

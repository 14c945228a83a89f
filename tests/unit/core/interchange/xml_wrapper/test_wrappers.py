"""XML documents in XML documents: spliced in byte by byte, and whole on their own again."""

from __future__ import annotations

from types import ModuleType

import pytest

from postroad.core.codecs.xml import parse
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.interchange.xml_wrapper import gs1, iso20022, own_root
from postroad.errors import Refused
from tests.samples.x12 import Counting, envelope

DOCUMENT = b'<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.08"><A b=">">1</A></Document>'
BARE = b"<order><id>7</id><!-- kept --></order>"
EMPTY = b"<order a='/>'/>"
PREFIXED = b'<p:order xmlns:p="urn:p"><p:id>8</p:id></p:order>'
ORDER = b"<order><id>1</id></order>"
MESSAGE = "urn:gs1:ecom:order:xsd:3}orderMessage"
GS1_MESSAGE = (
    b'<o:orderMessage xmlns:o="urn:gs1:ecom:order:xsd:3" xmlns:sh="%s"><sh:StandardBusinessDocumentHeader>'
    b"<sh:Sender><sh:Identifier>4098765000010</sh:Identifier></sh:Sender>"
    b"<sh:DocumentIdentification><sh:InstanceIdentifier>9</sh:InstanceIdentifier></sh:DocumentIdentification>"
    b"</sh:StandardBusinessDocumentHeader>%s</o:orderMessage>"
)
HEADER = gs1.HEADER.encode()


def put_together(standard: ModuleType, *members: bytes, **facts: str) -> bytes:
    return b"".join(standard.assemble(members, envelope(facts), Counting()))


def parts(standard: ModuleType, data: bytes) -> list[bytes]:
    return [bytes(one.data) for one in standard.split(data).members]


@pytest.mark.req("B6")
@pytest.mark.parametrize(
    ("standard", "facts"),
    [
        (own_root, {}),
        (own_root, {"root": "orders", "namespace": "urn:some&where"}),
        (iso20022, {}),
        (iso20022, {"members": "4"}),
        (gs1, {"form": "sbd", "multiple_type": "yes"}),
    ],
)
def test_what_is_put_together_comes_apart_again(standard: ModuleType, facts: dict[str, str]) -> None:
    members = [DOCUMENT, BARE, EMPTY, PREFIXED]
    whole = put_together(standard, *members, **facts)
    parse(whole)
    found = standard.split(whole)
    assert [bytes(one.data) for one in found.members] == members
    assert [one.kind for one in found.members] == ["Document", "order", "order", "order"]
    assert found.reference == "1"
    assert standard.split(put_together(standard, *members, reference="B 7", **facts)).reference == "B 7"


def test_only_the_root_is_spliced_in_and_in_utf_8() -> None:
    latin = '<?xml version="1.0" encoding="ISO-8859-1"?><!-- a --><?b c?><o>ä</o><!-- d -->'.encode("latin-1")
    wide = '<?xml version="1.0" encoding="UTF-16"?><o>€</o>'.encode("utf-16")
    assert parts(own_root, put_together(own_root, latin, wide)) == ["<o>ä</o>".encode(), "<o>€</o>".encode()]
    after = [b"<o>1</o>\n", b"<o><o/></o><!--</o>-->", b"<o >2</o\n>", b"\n<o/><?x </o>?>"]
    assert parts(own_root, put_together(own_root, *after)) == [b"<o>1</o>", b"<o><o/></o>", b"<o >2</o\n>", b"<o/>"]


def test_parties_and_time_are_said_and_escaped() -> None:
    whole = b"".join(own_root.assemble([], envelope({}, 'A&B "x"', "<C>"), Counting()))
    found = own_root.split(whole)
    assert (found.sender, found.receiver, found.facts["created"]) == ('A&B "x"', "<C>", "2026-11-16T12:00:00Z")
    assert b"sender" not in put_together(own_root, attributes="no")


def test_a_member_takes_the_namespaces_of_its_wrapper_along() -> None:
    wrapped = b'<w xmlns="urn:d" xmlns:p="urn:p" xmlns:q="urn:q&amp;1"><a/><b xmlns="">p:x</b><c d="q:e" xmlns:q="urn:own"/></w>'
    assert parts(own_root, wrapped) == [
        b'<a xmlns="urn:d"/>',
        b'<b xmlns:p="urn:p" xmlns="">p:x</b>',
        b'<c xmlns="urn:d" d="q:e" xmlns:q="urn:own"/>',
    ]
    assert parts(own_root, b'<w xmlns:q="urn:q&amp;1"><q:a/></w>') == [b'<q:a xmlns:q="urn:q&amp;1"/>']


@pytest.mark.parametrize(
    "member",
    [b"", b"text", b"<a>", b"<a/><b/>", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', b"<p:a/>", b"<a>" * 10_000],
)
@pytest.mark.parametrize("standard", [own_root, iso20022, gs1])
def test_what_is_no_document_does_not_fit(standard: ModuleType, member: bytes) -> None:
    with pytest.raises(Refused, match="member 1") as refused:
        put_together(standard, member, form="sbd" if standard is gs1 else "xchg")
    assert refused.value.code == "interchange.unfit"


@pytest.mark.parametrize(
    ("standard", "facts", "name"),
    [
        (own_root, {"root": "a b"}, "root"),
        (own_root, {"root": "xmlThing"}, "root"),
        (own_root, {"reference": "a\x00b"}, "reference"),
        (iso20022, {"form": "zip"}, "form"),
        (iso20022, {"members": "two"}, "members"),
        (iso20022, {"members": "2"}, "members"),
        (iso20022, {"reference": "x" * 36}, "reference"),
        (gs1, {"form": "zip"}, "form"),
        (gs1, {}, "message"),
        (gs1, {"message": "urn:a}b c"}, "message"),
    ],
)
def test_a_value_that_does_not_fit_is_named(standard: ModuleType, facts: dict[str, str], name: str) -> None:
    with pytest.raises(Refused, match=r"interchange\.unfit") as refused:
        put_together(standard, ORDER, **facts)
    assert refused.value.pointer == f"/envelope/{name}"


def test_a_count_that_is_wrong_is_told() -> None:
    wrapped = b'<w count="3"><a/></w>'
    assert [one.code for one in own_root.examine(wrapped).faults] == ["xml.count"]
    with pytest.raises(Refused, match=r"xml\.count"):
        own_root.split(wrapped, OnEnvelopeError.REPAIR)
    assert len(own_root.split(wrapped, OnEnvelopeError.PASS).members) == 1


def test_there_is_a_limit_to_members() -> None:
    with pytest.raises(Refused, match="more than 1 members"):
        own_root.examine(b"<w><a/><b/></w>", most_members=1)


# ---- ISO 20022 -------------------------------------------------------------------------------------------------------


def test_a_business_file_says_how_many_documents_it_has_where_that_is_known() -> None:
    assert b"TtlNbOfDocs" not in put_together(iso20022, DOCUMENT)
    whole = put_together(iso20022, DOCUMENT, DOCUMENT, members="2", duplicate="yes")
    found = iso20022.split(whole)
    assert (found.sender, found.facts["members"], found.facts["duplicate"]) == ("MYBIZ", "2", "yes")
    missing = whole.replace(b"<bf:Pyld>%b</bf:Pyld>\n" % DOCUMENT, b"", 1)
    assert [one.code for one in iso20022.examine(missing).faults] == ["iso20022.count"]


def test_an_envelope_holds_one_document() -> None:
    whole = put_together(iso20022, DOCUMENT, form="nvlp")
    assert parts(iso20022, whole) == [DOCUMENT]
    for members in ([], [DOCUMENT, DOCUMENT]):
        with pytest.raises(Refused, match=r"nvlp\.001"):
            put_together(iso20022, *members, form="nvlp")


def test_an_envelope_names_its_parties_in_its_header() -> None:
    side = "<{0}><FIId><FinInstnId><BICFI>{1}</BICFI></FinInstnId></FIId></{0}>"
    header = side.format("Fr", "BANKDEFF") + side.format("To", "BANKUS33") + "<BizMsgIdr>M1</BizMsgIdr>"
    header = f'<Hdr><AppHdr xmlns="urn:iso:std:iso:20022:tech:xsd:head.001.001.02">{header}</AppHdr></Hdr>'
    found = iso20022.split(
        f'<BizMsgEnvlp xmlns="{iso20022.ENVELOPE}">{header}<Doc><Document/></Doc></BizMsgEnvlp>'.encode()
    )
    assert (found.sender, found.receiver, found.reference) == ("BANKDEFF", "BANKUS33", "M1")


@pytest.mark.parametrize("data", [DOCUMENT, b"<Xchg/>", b'<Xchg xmlns="urn:other"/>'])
def test_another_root_is_no_business_file(data: bytes) -> None:
    with pytest.raises(Refused, match="neither a business file"):
        iso20022.examine(data)


# ---- GS1 -------------------------------------------------------------------------------------------------------------


def test_documents_of_messages_are_put_into_one_message() -> None:
    first, second = (GS1_MESSAGE % (HEADER, orders) for orders in (ORDER, ORDER + BARE))
    whole = put_together(gs1, first, second, ORDER)
    found = gs1.split(whole)
    assert [bytes(one.data) for one in found.members] == [ORDER, ORDER, BARE, ORDER]
    assert (found.sender, found.receiver, found.reference) == ("MYBIZ", "ACME", "1")
    assert (found.facts["message"], found.facts["document_type"]) == (MESSAGE, "order")
    assert found.facts["multiple_type"] == "false"


def test_the_message_may_be_named() -> None:
    assert gs1.split(put_together(gs1, ORDER, message=MESSAGE)).facts["message"] == MESSAGE


def test_a_header_speaks_of_one_type() -> None:
    with pytest.raises(Refused, match=r"member 2.*multiple_type"):
        put_together(gs1, ORDER, b"<invoice/>", form="sbd")
    found = gs1.split(put_together(gs1, ORDER, b"<invoice/>", form="sbd", multiple_type="yes"))
    assert found.facts["multiple_type"] == "true"
    mixed = GS1_MESSAGE % (HEADER, ORDER + b"<invoice/>")
    assert [one.code for one in gs1.examine(mixed).faults] == ["gs1.type"]
    assert [one.code for one in gs1.examine(GS1_MESSAGE % (HEADER, b"")).faults] == ["gs1.empty"]


def test_without_header_or_documents_there_is_no_message() -> None:
    with pytest.raises(Refused, match="no StandardBusinessDocumentHeader"):
        gs1.examine(b"<orderMessage><order/></orderMessage>")
    with pytest.raises(Refused, match="nothing was given"):
        put_together(gs1)

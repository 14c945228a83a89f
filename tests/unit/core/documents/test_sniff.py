"""Kinds of documents: each by its signs, none by something that only resembles them, and no bytes that raise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.core.codecs.xml import first_elements
from postroad.core.documents.detection import BusinessDocumentKind, document_kind

ISA = (
    b"ISA*00*          *00*          *ZZ*MYBIZ          *ZZ*ACME           *261115*1000*U*00401*000000001*0*P*>~"
    b"GS*PO*MYBIZ*ACME*20261115*1000*1*X*004010~"
)
UNB = b"UNB+UNOA:1+MYBIZ+ACME+261115:1000+1'UNH+1+ORDERS:D:96A:UN'"
MSH = b"MSH|^~\\&|LAB|HOSPITAL|||202611151000||ORU^R01|1|P|2.5\rPID|1\r"
FIN = b"{1:F01MYBIZDEFFAXXX0000000000}{2:I103ACMEDEFFXXXXN}{4:\r\n:20:1\r\n-}"
STATEMENT = b":20:STARTUMS\r\n:25:10020030/1234567\r\n:28C:0\r\n"
EVENT = b'{"specversion":"1.0","id":"1","source":"/a","type":"t","data":{"specversion":2}}'


def xml(name: str, namespace: str = "", inside: str = "") -> bytes:
    declared = f' xmlns="{namespace}"' if namespace else ""
    return f"<{name}{declared}>{inside}</{name}>".encode()


KINDS = {
    "x12": (ISA, BusinessDocumentKind.X12),
    "x12 with a mark": (b"\xef\xbb\xbf" + ISA, BusinessDocumentKind.X12),
    "x12 in UTF-16": (ISA.decode().encode("utf-16"), BusinessDocumentKind.X12),
    "x12 behind an empty line": (b"\r\n" + ISA, BusinessDocumentKind.X12),
    "x12 with other separators": (ISA.replace(b"*", b"\x1d").replace(b"~", b"\x1c"), BusinessDocumentKind.X12),
    "x12 in lines": (ISA.replace(b"~", b"\n"), BusinessDocumentKind.X12),
    "x12 not filled up": (b"ISA*00* *00* *01*1 *01*2 *070101*1200*U*00200*1*0*P*@!\nGS*PO", BusinessDocumentKind.X12),
    "edifact": (UNB, BusinessDocumentKind.EDIFACT),
    "edifact of level B": (UNB.replace(b"+", b"\x1d").replace(b":", b"\x1f").replace(b"'", b"\x1c"),
        BusinessDocumentKind.EDIFACT),
    "edifact with UNA": (b"UNA:+.? '" + UNB, BusinessDocumentKind.EDIFACT),
    "edifact with UNA in a line": (b"UNA:+.? '\r\n" + UNB, BusinessDocumentKind.EDIFACT),
    "edifact with other characters": (b"UNA^*.? $\nUNB*UNOA^1*00*11$", BusinessDocumentKind.EDIFACT),
    "edifact that does not say so": (b'UNB"UNOB=1"003897733=01"PARTNER', BusinessDocumentKind.EDIFACT),
    "edifact without an interchange": (b"UNH+1+ORDERS:D:96A:UN'", BusinessDocumentKind.EDIFACT),
    "tradacoms": (b"STX=ANA:1+5000000000000:STORES+", BusinessDocumentKind.TRADACOMS),
    "hl7": (MSH, BusinessDocumentKind.HL7),
    "hl7 with a truncation character": (b"MSH|^~\\&#|LAB", BusinessDocumentKind.HL7),
    "hl7 batch": (b"FHS|^~\\&|A\rBHS|^~\\&|A\r" + MSH, BusinessDocumentKind.HL7),
    "hl7 batch without a file": (b"BHS|^~\\&|A\r" + MSH, BusinessDocumentKind.HL7),
    "hl7 with other separators": (b"MSH$%~\\&$LAB$", BusinessDocumentKind.HL7),
    "hl7 framed": (b"\x0b" + MSH + b"\x1c\r", BusinessDocumentKind.HL7_MLLP),
    "swift": (FIN, BusinessDocumentKind.SWIFT_FIN),
    "swift acknowledgment": (b"{1:F21MYBIZDEFFAXXX0000000000}{4:{177:1}{451:0}}", BusinessDocumentKind.SWIFT_FIN),
    "swift for DOS": (b"\x01" + FIN + b"\x03", BusinessDocumentKind.SWIFT_FIN),
    "statement": (STATEMENT, BusinessDocumentKind.SWIFT_TEXT),
    "statement behind a bank's lines": (b"ABNANL2A\n940\nABNANL2A\n" + STATEMENT, BusinessDocumentKind.SWIFT_TEXT),
    "idoc": (b"EDI_DC40  0320000000000887330620 3012  ORDERS01", BusinessDocumentKind.IDOC),
    "iso 20022": (xml("Document", "urn:iso:std:iso:20022:tech:xsd:pacs.008.001.07"), BusinessDocumentKind.ISO20022),
    "iso 20022 of another publisher": (xml("Document", "http://bank.example/pain.002.001.03.ch.02.xsd"),
        BusinessDocumentKind.ISO20022),
    "iso 20022 wrapped": (
        xml("BusMsg", "", '<h:AppHdr xmlns:h="urn:iso:std:iso:20022:tech:xsd:head.001.001.01"/>'), BusinessDocumentKind.ISO20022
    ),
    "swift's wrapper": (xml("DataPDU", "urn:swift:xsd:saa.mxs.01"), BusinessDocumentKind.ISO20022),
    "gs1": (xml("orderMessage", "urn:gs1:ecom:order:xsd:3"), BusinessDocumentKind.GS1),
    "epcis": (xml("EPCISDocument", "urn:epcglobal:epcis:xsd:2"), BusinessDocumentKind.GS1),
    "ubl": (xml("Order", "urn:oasis:names:specification:ubl:schema:xsd:Order-2"), BusinessDocumentKind.UBL),
    "oagis": (xml("ProcessPurchaseOrder", "http://www.openapplications.org/oagis/10"), BusinessDocumentKind.OAGIS),
    "rosettanet": (xml("Pip3A4PurchaseOrderRequest"), BusinessDocumentKind.ROSETTANET),
    "rosettanet of later versions": (xml("X", "urn:rosettanet:specification:interchange:Y:xsd"), BusinessDocumentKind.ROSETTANET),
    "sbdh": (
        xml(
            "StandardBusinessDocument", "http://www.unece.org/cefact/namespaces/StandardBusinessDocumentHeader",
            '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pacs.008.001.07"/>',
        ),
        BusinessDocumentKind.SBDH,
    ),
    "cii": (xml("C", "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"), BusinessDocumentKind.CII),
    "cxml": (b'<!DOCTYPE cXML SYSTEM "http://xml.cxml.org/schemas/cXML/1.2.014/cXML.dtd"><cXML/>', BusinessDocumentKind.CXML),
    "soap 1.1": (xml("Envelope", "http://schemas.xmlsoap.org/soap/envelope/"), BusinessDocumentKind.SOAP),
    "soap 1.2": (xml("Envelope", "http://www.w3.org/2003/05/soap-envelope"), BusinessDocumentKind.SOAP),
    "xml": (xml("order", "urn:mybiz"), BusinessDocumentKind.XML),
    "xml with a document of other people inside": (xml("a", "urn:x", xml("Document").decode()), BusinessDocumentKind.XML),
    "xml in UTF-16": (xml("Order", "urn:gs1:x").decode().encode("utf-16"), BusinessDocumentKind.GS1),
    "xml in UTF-16 without a mark": (xml("Order", "urn:gs1:x").decode().encode("utf-16-le"), BusinessDocumentKind.GS1),
    "xml in UTF-16 the other way round": (xml("Order", "urn:gs1:x").decode().encode("utf-16-be"), BusinessDocumentKind.GS1),
    "xml in Latin-1": (b'<?xml version="1.0" encoding="iso-8859-1"?><!-- \xe9 -->' + xml("o", "urn:gs1:x"),
        BusinessDocumentKind.GS1),
    "xml behind mark and empty line": (b"\xef\xbb\xbf\n<?xml version='1.0'?>" + xml("o", "urn:gs1:x"), BusinessDocumentKind.GS1),
    "xml behind a licence": (b"<!--" + b" x" * 9000 + b"-->" + xml("o", "urn:gs1:x"), BusinessDocumentKind.GS1),
    "xml in an encoding that we do not read": (b'<?xml version="1.0" encoding="x"?><a/>', BusinessDocumentKind.XML),
    "xml that goes on and on": (b'<o xmlns="urn:gs1:x">' + b"<a>" * 100_000, BusinessDocumentKind.GS1),
    "xml with entities": (b'<!DOCTYPE a [<!ENTITY b "c">]><a/>', BusinessDocumentKind.UNKNOWN),
    "declared xml with entities": (b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "c">]><a/>', BusinessDocumentKind.XML),
    "event": (EVENT, BusinessDocumentKind.CLOUDEVENTS),
    "events": (b"[" + EVENT + b", " + EVENT + b"]", BusinessDocumentKind.CLOUDEVENTS_BATCH),
    "json": (b' {"id": "1", "source": "/a", "type": "t"}\n', BusinessDocumentKind.JSON),
    "json behind a mark": (b'\xef\xbb\xbf{"a": 1}', BusinessDocumentKind.JSON),
    "an event behind a mark": (b"\xef\xbb\xbf" + EVENT, BusinessDocumentKind.CLOUDEVENTS),
    "xml of halves in utf-16": (("<a>" + "😀" * 40_000 + "</a>").encode("utf-16-le"), BusinessDocumentKind.XML),
    "xml of halves in utf-16 with a mark": (("<ab>" + "😀" * 40_000 + "</ab>").encode("utf-16"), BusinessDocumentKind.XML),
    "json array": (b"[1, 2]", BusinessDocumentKind.JSON),
    "json array with an event": (b"[" + EVENT + b", {}]", BusinessDocumentKind.JSON),
    "json array of events and others": (b"[" + EVENT + b", 1]", BusinessDocumentKind.JSON),
    "json lines": (b'{"a": 1}\n{"a": 2}\n', BusinessDocumentKind.JSON_LINES),
    "json lines of events": (EVENT + b"\r\n" + EVENT, BusinessDocumentKind.JSON_LINES),
}  # fmt: skip


@pytest.mark.req("T2")
@pytest.mark.parametrize(("data", "kind"), KINDS.values(), ids=KINDS)
def test_a_kind_is_recognized(data: bytes, kind: BusinessDocumentKind) -> None:
    assert document_kind(data) is kind
    assert document_kind(memoryview(data)) is kind


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"ISA", b"ISA*00*ZZ", b"ISABELLE, HELLO", b"ISA00          00          ZZ" + b"0" * 200,
        b"ISA " + b"a " * 40, b"UNA", b"UNA:+.? 'HELLO", b"UNB", b"UNBELIEVABLE", b"UNITED+", b"UNB UNOA 1 ",
        b"UNA:+.? 'UNB*UNOA",
        b"MSH", b"MSH is a mess", b"MSH|", b"MSH|abcd|", b"\x0bhello", b"{1:F01", b"{1:X01MYBIZDEFFAXXX}", b"20: a\n:21: b",
        b"the time is\n:20:15\n", b"<", b"<<<", b"< 3 and more", b"{", b"[", b"{]", b'{"a": 1} trailing', b'{"a":1}\nHello',
        b"[1\n2]",
        b"EDI_DC41", b"STX", b"1,2,3\r\n4,5,6", b"\xff\xfe", b"\x00<", b"\xff\xfeab", b"[" * 100_000, b"[" * 100_000 + b"\n",
    ],
)  # fmt: skip
def test_what_only_resembles_a_kind_is_of_none(data: bytes) -> None:
    assert document_kind(data) is BusinessDocumentKind.UNKNOWN


def test_names_of_kinds_are_what_they_are() -> None:
    assert str(document_kind(ISA)) == "x12"
    assert str(document_kind(b"?")) == ""


@pytest.mark.parametrize(
    ("beginning", "names"),
    [
        pytest.param(b'<a xmlns="urn:x"><b/><c/></a>', ["urn:x}a", "urn:x}b"], id="two of three"),
        pytest.param(b"<a><b", ["a"], id="only the beginning"),
        pytest.param(b"<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a>", ["a"], id="a document type is passed over"),
        pytest.param(b"<!DOCTYPE a [<!ELEMENT a ANY><!ATTLIST a b CDATA 'c'>]><a>", ["a"], id="elements declared"),
        pytest.param(b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>", [], id="an entity ends it"),
        pytest.param(b"<!DOCTYPE a [<!ENTITY % b SYSTEM 'x'> %b;]><a>", [], id="so does one for declarations"),
        pytest.param(b"<a>&b;<b/>", ["a"], id="an entity that nobody knows"),
        pytest.param(b"<a></b><c/>", ["a"], id="not well-formed"),
        pytest.param(b"", [], id="nothing"),
    ],
)
def test_the_first_elements_of_a_document(beginning: bytes, names: list[str]) -> None:
    assert first_elements(beginning, 2) == names


PIECES = st.sampled_from(
    [
        b"ISA*", b"UNA:+.? '", b"UNB+UNOA:1+", b"MSH|^~\\&|", b"\x0b", b"{1:F01", b":20:", b"\n", b"\r", b"<?xml version='1.0'?>",
        b"<a>", b"<!DOCTYPE a [", b"<!ENTITY b 'c'>", b"]>", b"&b;", b'{"specversion":', b"[", b"]", b"{", b"}", b'"', b",", b"1",
        b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b" encoding='utf-16'", b"*" * 20, b"<Document xmlns='urn:iso:std:iso:20022:x'>",
        b"\xd8\x00",
    ]
)  # fmt: skip


@pytest.mark.req("Z2")
@given(data=st.lists(PIECES | st.binary(max_size=5), max_size=12).map(b"".join) | st.binary(max_size=80))
@settings(max_examples=1500)
def test_no_bytes_raise(data: bytes) -> None:
    assert isinstance(document_kind(data), BusinessDocumentKind)


@pytest.mark.req("Z2")
@given(
    name=st.sampled_from(sorted(KINDS)),
    at=st.integers(0, 400),
    put=PIECES | st.binary(max_size=4),
    gone=st.integers(0, 9),
)
@settings(max_examples=800)
def test_no_change_of_a_document_raises(name: str, at: int, put: bytes, gone: int) -> None:
    data = KINDS[name][0][:1000]
    assert isinstance(document_kind(data[:at] + put + data[at + gone :]), BusinessDocumentKind)


@pytest.mark.req("Z2")
@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\n" * 5_000_000, id="empty lines"),
        pytest.param(b"a\n" * 2_500_000, id="lines"),
        pytest.param(b"UNA:+.? '" + b" " * 5_000_000, id="blanks behind UNA"),
        pytest.param(b"<" + b"a" * 5_000_000, id="a long name"),
        pytest.param(b"<a " + b"b='c' " * 800_000, id="many attributes"),
        pytest.param(b"<!--" * 1_000_000, id="comments"),
        pytest.param(b"[" * 5_000_000, id="arrays in arrays"),
        pytest.param(b"[" + b"{}," * 1_500_000, id="array without an end"),
        pytest.param(b'{"a":1}\n' * 600_000, id="many lines of JSON"),
        pytest.param(b'[{"specversion":1},' + b"{}," * 500_000 + b"{}]", id="nearly a batch"),
    ],
)
def test_large_documents_are_told_quickly(data: bytes) -> None:
    assert isinstance(document_kind(data), BusinessDocumentKind)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ISA*00*          *00*          *ZZ*A              *ZZ*B              *261116*1200*U*00401*000000001*0*P*:~",
         BusinessDocumentKind.X12),
        ("UNB+UNOC:3+A+B+261116:1200+1'", BusinessDocumentKind.EDIFACT),
        ("UNA:+.? 'UNB+UNOC:3+A+B+261116:1200+1'", BusinessDocumentKind.EDIFACT),
    ],
)  # fmt: skip
def test_interchanges_in_utf_16_are_recognized_with_and_without_a_mark(
    encoding: str, text: str, kind: BusinessDocumentKind
) -> None:
    assert document_kind(text.encode(encoding)) is kind

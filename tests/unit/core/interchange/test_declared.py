"""What documents declare, read; and what cannot be read by a declaration refused."""

from __future__ import annotations

import pytest

from postroad.core.interchange.document_options import codec_of, read_declared_options, read_delimiters
from postroad.core.interchange.edifact import assemble
from postroad.core.interchange.hl7 import assemble as assemble_hl7
from postroad.core.interchange.model import DescribedDocument, Envelope
from postroad.core.model.message import Property
from postroad.errors import Refused
from tests.samples.edifact import Counting, envelope

LODZ = "UNH+1+ORDERS:D:96A:UN'FTX+Łódź'UNT+3+1'"


def written(data: bytes, options: dict[str, str], **facts: str) -> bytes:
    return b"".join(assemble([DescribedDocument(data, options)], envelope(facts), Counting()))


def test_the_content_type_and_the_properties_are_read() -> None:
    told = [Property("document.delimiters", "2a 3a 7e 20"), Property("document.charset", "utf-8")]
    found = read_declared_options("x12", 'application/edi-x12; Charset="ISO-8859-1"; delimiters=2a.7c.7e.5e', told)
    assert found == {
        "earlier_delimiters": "2a 3a 7e 20",
        "earlier_charset": "utf-8",
        "delimiters": "2a.7c.7e.5e",
        "charset": "ISO-8859-1",
    }
    assert read_declared_options("x12", "text/plain", []) == {}


def test_delimiters_are_hex_in_the_order_of_the_standard() -> None:
    assert read_delimiters("x12", "2A-3a-c2a7-20") == {
        "element": b"*", "component": b":", "terminator": "§".encode(), "repetition": b"",
    }  # fmt: skip
    for wrong in ("", "2a 3a 7e", "2a 3a 7e xx", "2 3 4 5"):
        with pytest.raises(Refused, match="is not a list of delimiters"):
            read_delimiters("x12", wrong)


@pytest.mark.parametrize("name", ["rot13", "unicode_escape", "idna", "zip", "", "iso-8859-99"])
def test_only_charsets_of_text_are_read(name: str) -> None:
    with pytest.raises(Refused, match="is not supported"):
        codec_of(name)


@pytest.mark.parametrize("charset", ["iso-8859-2", "windows-1250", "utf-8", "utf-16", "utf-16-le", "UTF-16BE"])
def test_a_declared_charset_is_converted(charset: str) -> None:
    found = written(LODZ.encode(charset), {"charset": charset}, syntax="UNOY")
    assert "FTX+Łódź'".encode() in found


def test_bytes_that_contradict_their_charset_are_refused() -> None:
    with pytest.raises(Refused, match="bytes that are not in its charset, utf-8"):
        written(LODZ.encode("iso8859-2"), {"charset": "utf-8"}, syntax="UNOY")
    with pytest.raises(Refused, match="its property declares iso-8859-2, but its bytes are UTF-8"):
        written(LODZ.encode(), {"earlier_charset": "iso-8859-2"}, syntax="UNOD")


def test_a_syntax_identifier_whose_charset_is_not_known_is_not_converted() -> None:
    data = LODZ.encode("iso8859-2")
    assert data in written(data, {"syntax": "KECA"}, syntax="KECA")
    for theirs, ours in (("KECA", "UNOC"), ("UNOD", "KECA"), ("KECA", "IATB")):
        with pytest.raises(Refused, match=r"the charset of (KECA|IATB) is not known"):
            written(data, {"syntax": theirs}, syntax=ours)


def test_escape_sequences_of_unox_are_refused() -> None:
    with pytest.raises(Refused, match="escape sequences of UNOX"):
        written(LODZ.replace("Łódź", "\x1b$B").encode(), {"syntax": "UNOX"})


def test_a_whole_interchange_in_utf_16_is_converted() -> None:
    whole = f"UNB+UNOC:3+A+B+261116:1200+9'{LODZ}UNZ+1+9'".replace("Łódź", "Müller")
    assert "FTX+Müller'".encode("latin-1") in written(whole.encode("utf-16"), {}, syntax="UNOC")


# ---- HL7 -------------------------------------------------------------------------------------------------------------


def hl7_written(data: bytes, **facts: str) -> bytes:
    around = Envelope(sender="A", receiver="B", at_us=0, options=facts)
    return b"".join(assemble_hl7([data], around, Counting()))


def test_a_lone_escape_character_in_hl7_is_text() -> None:
    data = b"MSH|^~\\&|A||B||20261116||ADT^A01|1|P|2.5\rNTE|1|C:\\temp|x^y|D:\\z\r"
    assert b"NTE$1$C:\\temp$x^y$D:\\z\r".replace(b"\\", b"\\E\\") in hl7_written(data, field="$")


def test_hl7_keeps_its_truncation_character_or_is_refused() -> None:
    data = b"MSH|^~\\&#|A||B||20261116||ADT^A01|1|P|2.7\r"
    assert b"MSH$^~\\&#$A" in hl7_written(data, field="$")
    with pytest.raises(Refused, match="truncation character"):
        hl7_written(data, field="#")


@pytest.mark.parametrize(
    ("charset", "text", "why"),
    [
        ("ISO IR87", "\x1b$B", "is in ISO IR87"),
        ("GB 18030-2000", "é", "is in GB 18030"),
        ("", "\\Zx$\\", "has a separator"),
    ],
)
def test_hl7_that_cannot_be_written_in_other_separators_is_refused(charset: str, text: str, why: str) -> None:
    data = f"MSH|^~\\&|A||B||20261116||ADT^A01|1|P|2.5||||||{charset}\rNTE|1|{text}\r".encode()
    assert b"NTE|1|" in hl7_written(data)
    with pytest.raises(Refused, match=why) as refused:
        hl7_written(data, field="$")
    assert refused.value.pointer == "/members/0"

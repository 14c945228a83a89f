"""Two members of an interchange for each standard."""

from __future__ import annotations

from tests.samples.x12 import ORDER, SECOND

FIN = b"{1:F01BANKDEFFAXXX0000000000}{2:I103BANKUS33XXXXN}{4:\r\n:20:%b\r\n-}"
TWO_MEMBERS = {
    "x12": [ORDER, SECOND],
    "edifact": [b"UNH+1+ORDERS:D:96A:UN'BGM+220+7+9'UNT+3+1'", b"UNH+2+ORDERS:D:96A:UN'BGM+220+8+9'UNT+3+2'"],
    "hl7": [b"MSH|^~\\&|A|B|C|D|20261116||ADT^A01|1|P|2.5\r", b"MSH|^~\\&|A|B|C|D|20261116||ADT^A01|2|P|2.5\r"],
    "swift": [FIN % b"A", FIN % b"B"],
    "iso20022": [b'<Document xmlns="urn:a"/>', b'<Document xmlns="urn:b"/>'],
    "gs1": [b"<order>1</order>", b"<order>2</order>"],
    "xml": [b"<a/>", b"<b/>"],
    "flat": [b"a,1", b"b,2"],
    "json_lines": [b"1", b"2"],
}

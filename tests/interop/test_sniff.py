"""Documents of other products' test suites: each is taken for what it is, and every one that is not stands here with the reason.

The collection lies beside the repository in ``../shared/fixtures``; without it there is nothing to try, and the tests say so.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from postroad.core.documents.detection import document_kind

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures"
NOTES = ("SOURCES.txt", "EXPECTED.txt")  # about the collection, not of it

pytestmark = pytest.mark.skipif(
    not FIXTURES.is_dir(), reason="needs the collection of real documents in ../shared/fixtures, which is not there"
)

# What a folder holds, and how many of it at least.
AREAS: dict[str, dict[str, int]] = {
    "x12": {"x12": 142},
    "edifact": {"edifact": 51},
    "hl7v2": {"hl7": 40},
    "swift_mt": {"swift-fin": 12, "swift-text": 28},
    "iso20022": {"iso20022": 39},
    "gs1xml": {"gs1": 12},
    "flat": {"idoc": 5},
    "purchase_orders": {"ubl": 6, "oagis": 1, "sbdh": 1, "soap": 10},
    "soap": {"soap": 7},
}
# Files that are something else than their folder says.
OTHERS: dict[str, str] = {
    "edifact/staedi/order.edi": "tradacoms",
    "edifact/staedi/order-blocked.edi": "tradacoms",
    "edifact/smooks/BAD_ORDERS_D.03B_Interchange.xml": "xml",  # EDIFACT in XML of an IBM schema
    "edifact/smooks/INVOIC_D.03B_Interchange_with_UNA.xml": "xml",
    "edifact/bots_pairs/one-on-one_edifact_order_xml/botssys/infile/outfile/edifactorder2xml/xml/1.xml": "xml",
    "edifact/bots_pairs/composite_route/botssys/infile/outfile/demo_composite_route/fixed_orders/1.fix": "",  # fixed columns
    "edifact/pydifact/sage_coala.ped": "",  # an accounting program's own
    "iso20022/moov/valid_auth_v02.json": "json",
    "iso20022/moov/valid_camt_v09.json": "json",
    "iso20022/moov/valid_pain_v11.json": "json",
    "iso20022/moov/valid_remt_v04.json": "json",
    "flat/bots/attch._803FF4D0-CE06-4765-A68C-7E2CB177D786_.ETRDTL.csv": "",
    "flat/bots/attch._803FF4D0-CE06-4765-A68C-7E2CB177D786_.ETRHDR.csv": "",
    "purchase_orders/ebxml-nhs/ebxml_request.xml": "",  # a MIME message
    "purchase_orders/ebxml-nhs/soap_request_with_defect.msg": "soap",  # and this one no MIME message
    "flat/oboe/test.fixedlength.data": "",  # X12's fields in fixed columns, without any separator
}
# Documents that are not recognized, and why.
MISSES: dict[str, tuple[str, str]] = {
    "edifact/smooks/input.edi": ("", "a fragment: neither interchange nor message header"),
    "swift_mt/mt940/self-provided/empty_non_swift.sta": ("", "only a field of one bank's own, :NS:"),
    "swift_mt/mt940/self-provided/invalid_statement.sta": ("", "ten numbers, made to be refused"),
    "iso20022/prowide/pacs.002-CDATA-nonamespace.xml": ("xml", "its namespace was taken away"),
    "gs1xml/grid/gdsn_product_invalid.xml": (
        "xml",
        "an element of GDSN under a root of Hyperledger Grid, without namespace",
    ),
    "gs1xml/grid/test_trade_item_payload_2.xml": ("xml", "an element of GDSN without namespace"),
}
WIRES = (".msg", ".as4in", ".as4out")  # MIME messages and HTTP requests, not documents


def files(area: str) -> list[Path]:
    return [path for path in sorted((FIXTURES / area).rglob("*")) if path.is_file() and path.name not in NOTES]


def name_of(path: Path) -> str:
    return path.relative_to(FIXTURES).as_posix()


def expected_of(path: Path) -> str | None:
    """What the lists say of a file; nothing when it is what its folder holds."""
    name = name_of(path)
    if name in MISSES:
        return MISSES[name][0]
    return OTHERS.get(name, "" if path.suffix in WIRES else None)


@pytest.mark.req("T2")
@pytest.mark.parametrize("area", AREAS)
def test_every_document_is_taken_for_what_it_is(area: str) -> None:
    found: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for path in files(area):
        kind, expected = str(document_kind(path.read_bytes())), expected_of(path)
        if kind not in (AREAS[area] if expected is None else (expected,)):
            wrong[name_of(path)] = kind
        elif expected is None:
            found[kind] += 1
    assert wrong == {}
    assert {kind: count for kind, count in AREAS[area].items() if found[kind] < count} == {}


def test_the_lists_name_files_that_exist() -> None:
    assert [name for name in (*OTHERS, *MISSES) if not (FIXTURES / name).is_file()] == []


@pytest.mark.req("T2")
def test_messages_of_other_formats_are_not_taken_for_business_documents() -> None:
    kinds = {
        name_of(path): str(document_kind(path.read_bytes())) for area in ("mime_swa", "dime") for path in files(area)
    }
    assert len(kinds) > 200
    assert {name: kind for name, kind in kinds.items() if kind not in ("", "xml", "soap")} == {}

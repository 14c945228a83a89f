"""Which documents an in-transit service is given, and what it may do to them."""

from __future__ import annotations

import pytest

from postroad.core.delivery.document_access import access_for, merge_parts, readable_parts
from postroad.core.model.directory import DocumentAccess, Service
from postroad.core.model.message import Part
from postroad.errors import Refused


def part(name: str, data: str = "as posted") -> Part:
    return Part(id=name, content_type="text/plain", data=data.encode())


ORDER, PRICES, NOTE = part("order"), part("prices"), part("note-1")
PARTS = (ORDER, PRICES, NOTE)
ACCESS = (DocumentAccess(service="Transmatics/xslt", read=("order", "note-*"), change=("order", "extra-*")),)


@pytest.mark.req("N5")
def test_withheld_documents_are_not_given() -> None:
    assert readable_parts(PARTS, ACCESS) == (ORDER, NOTE)
    assert readable_parts(PARTS, ()) == PARTS


@pytest.mark.req("N5")
def test_what_was_withheld_or_only_readable_is_there_again_in_its_place() -> None:
    changed = part("order", "changed")
    assert merge_parts(PARTS, (changed, NOTE), ACCESS) == (changed, PRICES, NOTE)
    assert merge_parts(PARTS, (changed,), ACCESS) == (changed, PRICES, NOTE), (
        "what it may only read need not be returned"
    )
    assert merge_parts(PARTS, (NOTE,), ACCESS) == (PRICES, NOTE), "what it may change may be taken out"
    assert merge_parts(PARTS, (changed, part("extra-1")), ACCESS) == (changed, PRICES, NOTE, part("extra-1"))


@pytest.mark.req("N5")
@pytest.mark.parametrize("returned", [part("note-1", "changed"), part("prices", "guessed"), part("other")])
def test_a_change_that_is_not_allowed_is_refused(returned: Part) -> None:
    with pytest.raises(Refused) as refused:
        merge_parts(PARTS, (ORDER, returned), ACCESS)
    assert refused.value.code == "document.read-only"


def test_a_service_is_named_by_address_gcid_or_organization() -> None:
    service = Service(gcid="a" * 16, organization="Transmatics", name="xslt")
    for name in ("transmatics/XSLT", "a" * 16, "Transmatics"):
        sender = Service(
            gcid="b" * 16, organization="MyBiz", name="Purchasing", document_access=(DocumentAccess(service=name),)
        )
        assert access_for(sender, service) is sender.document_access[0]
    assert access_for(Service(gcid="b" * 16, organization="MyBiz", name="Purchasing"), service) is None

"""What counts, and what does not."""

from __future__ import annotations

import msgspec
import pytest

from postroad.core.billing.uses import list_uses
from postroad.core.model.billing import BilledService, UseKind
from postroad.core.model.journal import DeliveriesLeased, DeliveryAttempted, MessageRefused
from postroad.core.model.message import MessageType
from postroad.testing.contracts.index.story_batches import BATCHER, BATCHES, FARMER, PARTNER
from tests.samples.billing_parties import BUYER, SELLER, XSLT, ZIP, hop, numbered, posted, returned

pytestmark = pytest.mark.req("P3")


def test_every_accepted_copy_counts_once_however_often_it_is_tried() -> None:
    entries = numbered(
        posted((hop(SELLER),), (hop(ZIP),)),
        DeliveriesLeased(1, SELLER, 30.0, (1 << 16,)),
        DeliveryAttempted(1, ZIP, (1 << 16 | 1,), 500, 10, "down", 1.0),
        DeliveryAttempted(1, ZIP, (1 << 16 | 1,), 500, 10, "down", 1.0),
    )
    assert [(use.key, use.kind, use.recipient) for use in list_uses(entries)] == [
        ((1, 0), UseKind.MESSAGE, BilledService(SELLER)),
        ((1, 1), UseKind.MESSAGE, BilledService(ZIP)),
    ]


def test_what_was_refused_is_free() -> None:
    refused = MessageRefused(1, "s", BUYER, "message.duplicate", "", 10, "json")
    assert list(list_uses(numbered(refused, posted((), code="recipient.unknown")))) == []


def test_a_post_of_which_one_copy_was_refused_counts_for_the_other() -> None:
    refused, accepted = posted((), code="recipient.unknown"), posted((hop(SELLER),))
    entry = msgspec.structs.replace(accepted, copies=refused.copies + accepted.copies)
    assert [use.key for use in list_uses(numbered(entry))] == [(1, 1)]


def test_an_error_response_of_the_network_is_free() -> None:
    entry = posted((hop(BUYER),), sender=SELLER, form="network", type=MessageType.RESPONSE)
    assert list(list_uses(numbered(entry))) == []


def test_an_in_transit_service_counts_when_it_has_returned() -> None:
    entries = numbered(posted((hop(XSLT), hop(ZIP, payer=SELLER), hop(SELLER))), returned(1, 0, 1), returned(1, 0, 2))
    invocations = [use for use in list_uses(entries) if use.kind is UseKind.INVOCATION]
    assert [(use.key, use.transit, use.originator, use.size) for use in invocations] == [
        ((2, 0), (BilledService(XSLT),), BUYER, 900),
        ((3, 0), (BilledService(ZIP, SELLER),), BUYER, 900),
    ]


def test_an_in_transit_service_that_failed_is_free_though_the_message_goes_on() -> None:
    entries = numbered(posted((hop(XSLT), hop(SELLER))), returned(1, 0, 1, failed=True))
    assert [use.kind for use in list_uses(entries)] == [UseKind.MESSAGE]


def test_a_route_that_changed_on_the_way_names_who_returned() -> None:
    route = (hop(XSLT), hop(ZIP, payer=XSLT), hop(SELLER))
    entries = numbered(posted((hop(XSLT), hop(SELLER))), returned(1, 0, 1, hops=route), returned(1, 0, 2, hops=route))
    assert [use.transit for use in list_uses(entries)][1:] == [(BilledService(XSLT),), (BilledService(ZIP, XSLT),)]


def test_members_of_a_batch_count_for_their_senders_and_the_interchange_once_for_its_batcher() -> None:
    counted = [(use.seq, use.originator, use.recipient.service) for use in list_uses(enumerate(BATCHES, 40))]
    members = [(seq, FARMER, BATCHER) for seq in (40, 41, 42, 50, 53)]
    assert counted == [*members[:3], (47, BATCHER, PARTNER), *members[3:]]

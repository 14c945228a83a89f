"""Which journal entries make which events, and that a notification is never about a notification."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from postroad.core.identity.expiry import INVITATION, LOGIN
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.billing import DocumentKind
from postroad.core.model.billing_entries import InvoiceIssued, IssuedDocument
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Credential, CredentialKind, DeliveryMode, Person, Push, Service
from postroad.core.model.journal import (
    BY_NETWORK,
    KINDS,
    AccessRecorded,
    BatchesChanged,
    ConfigurationChanged,
    DeliveriesEnded,
    DeliveriesLeased,
    Entry,
    JourneyEnding,
    ObjectChange,
    decode,
    encode,
)
from postroad.core.model.reason import Reason
from postroad.core.model.support import SupportNote, SupportRequest
from postroad.core.notifications.catalog import EVENT_NAMES
from postroad.core.notifications.entry_events import (
    POSTED,
    READ_KINDS,
    FailedDelivery,
    entry_kind,
    find_failed_deliveries,
    find_own_deliveries,
    make_entry_events,
    makes_events,
)
from postroad.core.notifications.event import NotifiableEvent
from postroad.testing.clocks import EPOCH_US
from tests.samples.subscriptions import SUPPLY, directory_with

WHY = Reason("push.tls")
BUYER = Service(gcid="00000000000000b1", organization="Globex", name="Buyer")
FOUND = {1: FailedDelivery(SUPPLY.gcid), 2: FailedDelivery(SUPPLY.gcid, BUYER.gcid, "acme/supply")}


def events_of(entry: Entry, *objects: Any) -> list[NotifiableEvent]:
    facts = encode(entry)
    assert makes_events(facts, b"")
    return list(make_entry_events(decode(facts), directory_with(*objects), FOUND))


def told(events: list[NotifiableEvent]) -> list[tuple[str, str, str, bool]]:
    return [(event.name, event.organization, event.subject, event.recovered) for event in events]


def changed(*objects: Any, by: str = "someone@acme.example") -> ConfigurationChanged:
    changes = tuple(ObjectChange(*object_key(one), 2, msgspec.to_builtins(one)) for one in objects)
    return ConfigurationChanged(EPOCH_US, by, "", changes)


def test_failed_deliveries_are_dead_letters_by_service_and_cause() -> None:
    ended = DeliveriesEnded(EPOCH_US, BY_NETWORK, "failed", "TLS failed", (1, 2, 3), why=WHY)
    assert find_failed_deliveries(ended) == (1, 2, 3)
    assert told(events_of(ended)) == [("dead-letter", "Acme", "Acme/Supply, tls", False)] * 2
    assert told(events_of(ended, BUYER)) == [
        ("dead-letter", "Acme", "Acme/Supply, tls", False),
        ("dead-letter", "Acme", "Acme/Supply, tls", False),
        ("dead-letter", "Globex", "Globex/Buyer to acme/supply, tls", False),
    ]
    assert find_failed_deliveries(DeliveriesEnded(EPOCH_US, BY_NETWORK, "expired", "", (1,))) == ()


def test_a_sender_does_not_learn_what_failed_at_a_service_that_it_has_not_named() -> None:
    ended = DeliveriesEnded(EPOCH_US, BY_NETWORK, "failed", "TLS failed", (1,), why=WHY)
    hidden = {1: FailedDelivery(SUPPLY.gcid, BUYER.gcid, "Other/Desk")}
    [_, event] = make_entry_events(ended, directory_with(BUYER), hidden)
    assert (event.organization, event.subject, event.detail) == (
        "Globex",
        "Globex/Buyer to Other/Desk, failed on the way",
        "",
    )


def test_the_end_of_a_request_is_a_dead_letter_too(posted: Any) -> None:
    entry = posted(form=BY_NETWORK, ends=JourneyEnding(5, 1, "failed", "TLS failed", WHY))
    assert find_failed_deliveries(entry) == (1,)
    assert told(events_of(entry)) == [("dead-letter", "Acme", "Acme/Supply, tls", False)]


@pytest.fixture
def posted() -> Any:
    from tests.samples.posted_entries import make_posted

    return make_posted


def test_a_notification_makes_no_events(posted: Any) -> None:
    entry = posted(sender="00000000000000ff")
    assert makes_events(encode(entry), b"00000000000000ff")
    assert not makes_events(encode(entry), b"")
    assert find_own_deliveries(7, entry, "00000000000000ff") == (7 << 16,)
    assert find_own_deliveries(7, entry, "00000000000000fe") == ()


def test_suspended_batches_begin_and_end() -> None:
    batch = Batch(id="b1", key=(), opened_at_us=0, latest_at_us=0, changed_at_us=0, count=3)
    suspended = BatchesChanged(
        EPOCH_US, "", SUPPLY.gcid, "suspended", (msgspec.structs.replace(batch, state=BatchState.SUSPENDED),)
    )
    resumed = BatchesChanged(EPOCH_US, "", SUPPLY.gcid, "resumed", (batch,))
    assert told(events_of(suspended)) == [("batch.suspended", "Acme", "Acme/Supply, batch b1", False)]
    assert told(events_of(resumed)) == [("batch.suspended", "Acme", "Acme/Supply, batch b1", True)]


@pytest.mark.parametrize(
    ("by", "delivery", "expected"),
    [(BY_NETWORK, "poll", [False]), ("someone@acme.example", "poll", []), ("someone@acme.example", "push", [True])],
)
def test_a_service_that_the_network_switches_to_polling(by: str, delivery: str, expected: list[bool]) -> None:
    service = Service(
        gcid=SUPPLY.gcid,
        organization="Acme",
        name="Supply",
        delivery=DeliveryMode(delivery),
        push=Push(url="https://acme.example"),
    )
    assert told(events_of(changed(service, by=by))) == [
        ("push.switched-off", "Acme", "Acme/Supply", recovered) for recovered in expected
    ]


def test_invitations_but_no_logins() -> None:
    person = Person(email="new@acme.example", organization="Acme")
    keys = [
        Credential(id=label, kind=CredentialKind.KEY, secret="", person=person.email, label=label)
        for label in (INVITATION, LOGIN)
    ]
    assert told(events_of(changed(person, *keys), person)) == [("member.invited", "Acme", "new@acme.example", False)]


@pytest.mark.parametrize(("operator", "name"), [(True, "support.answered"), (False, "support.asked")])
def test_support_requests_go_to_the_other_side(operator: bool, name: str) -> None:
    note = SupportNote(at_us=EPOCH_US, by="x@y.example", text="secret content", operator=operator)
    request = SupportRequest(id="r1", organization="Acme", subject="Late orders", notes=(note,))
    [event] = events_of(changed(request))
    assert told([event]) == [(name, "Acme", "Late orders (r1)", False)]
    assert "secret content" not in str(event)


def test_invoices() -> None:
    document = IssuedDocument(
        number="2026-1",
        document=DocumentKind.INVOICE,
        organization="Acme",
        period="2026-10",
        currency="EUR",
        issued_on=date(2026, 11, 1),
        due_on=date(2026, 11, 30),
        seller="Network",
        through=1,
        tariffs=(),
        lines=(),
        total=Decimal("12.50"),
    )
    [event] = events_of(InvoiceIssued(EPOCH_US, "ops@network.example", document))
    assert (event.name, event.subject, event.detail) == ("invoice.issued", "2026-1", "12.50 EUR for 2026-10")


def test_entries_of_other_kinds_are_not_decoded() -> None:
    assert not makes_events(encode(DeliveriesLeased(EPOCH_US, "x", 60.0, (1,))), b"")
    assert not makes_events(encode(AccessRecorded(EPOCH_US, "x", "login")), b"")
    assert {kind.decode() for kind in (*READ_KINDS, POSTED)} <= set(KINDS)
    assert entry_kind(encode(AccessRecorded(EPOCH_US, "x", "login"))) == b"access.recorded"


def test_every_event_is_in_the_catalog() -> None:
    names = {
        "dead-letter",
        "batch.suspended",
        "push.switched-off",
        "member.invited",
        "support.answered",
        "invoice.issued",
    }
    assert names <= set(EVENT_NAMES)

"""Admission: each reason of M5 to refuse a post has its own code."""

from __future__ import annotations

import pytest

from postroad.core.admission.admit import MAX_RECIPIENTS, admit
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, Person, Service
from postroad.core.model.message import Message, MessageType, Recipient
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.testing.directories import make_directory

NOW = 1_800_000_000_000_000
BUYER = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing", default_expiration_s=60)
OTHER = Service(gcid="b" * 16, organization="MyBiz", name="Sales")
CALLER = Caller(service=BUYER)


def directory(suspended: str = "") -> Directory:
    return make_directory(Organization(name="MyBiz", suspended=suspended), BUYER, OTHER)


def notification(**fields: object) -> Message:
    return Message(**({"to": (Recipient("Acme/Supply"),)} | fields))  # type: ignore[arg-type]


def code_of(message: Message, caller: Caller = CALLER, of: Directory | None = None) -> str:
    with pytest.raises(Refused) as refused:
        admit(message, caller, of or directory(), NOW)
    return refused.value.code


@pytest.mark.req("M5")
@pytest.mark.parametrize("sender", ["", "a" * 16, "MyBiz/Purchasing", "mybiz/purchasing"])
def test_a_sender_may_name_itself_in_any_way_or_not_at_all(sender: str) -> None:
    assert admit(notification(sender=sender), CALLER, directory(), NOW).sender is BUYER


@pytest.mark.req("M5")
@pytest.mark.parametrize("sender", ["MyBiz/Sales", "b" * 16, "Nobody/Nowhere"])
def test_a_from_that_is_not_the_poster_is_refused(sender: str) -> None:
    assert code_of(notification(sender=sender)) == "sender.mismatch"


def test_people_do_not_post() -> None:
    assert code_of(notification(), Caller(person=Person(email="ann@mybiz.example"))) == "permission.denied"


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("message", "code"),
    [
        (Message(type=MessageType.REQUEST), "recipient.missing"),
        (notification(to=tuple(Recipient(f"X/{n}") for n in range(MAX_RECIPIENTS + 1))), "recipient.too-many"),
        (notification(reference="1.ff"), "message.unexpected-field"),
        (notification(expires_at_us=NOW), "message.expired"),
        (notification(handle="x" * 256), "value.invalid"),
        (Message(type=MessageType.RESPONSE), "message.incomplete"),
        (Message(type=MessageType.ACKNOWLEDGEMENT), "message.incomplete"),
        (Message(type=MessageType.CANCEL), "message.incomplete"),
        (Message(type=MessageType.RESPONSE, reference="1.f", to=(Recipient("A/B"),)), "message.unexpected-field"),
        (Message(type=MessageType.RESPONSE, reference="1.f", expires_at_us=NOW + 1), "message.unexpected-field"),
    ],
)
def test_what_is_incomplete_or_late_is_refused_with_its_code(message: Message, code: str) -> None:
    assert code_of(message) == code


@pytest.mark.req("N4")
def test_expiration_is_the_senders_else_its_services_default() -> None:
    assert admit(notification(expires_at_us=NOW + 5), CALLER, directory(), NOW).expires_at_us == NOW + 5
    assert admit(notification(), CALLER, directory(), NOW).expires_at_us == NOW + 60_000_000


def test_a_suspended_organization_cannot_post() -> None:
    assert code_of(notification(), of=directory(suspended="unpaid")) == "sender.suspended"

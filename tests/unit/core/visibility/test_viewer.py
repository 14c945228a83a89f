"""What belongs to a viewer, and what others hide from it."""

from __future__ import annotations

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person, Role, Service
from postroad.core.model.snapshot import Directory
from postroad.core.visibility.viewer import Viewer

ORDERS, STOCK, FILTER, GONE = "0" * 16, "1" * 16, "f" * 16, "9" * 16
DIRECTORY = Directory(
    services={
        gcid: Service(gcid=gcid, organization=organization, name=name)
        for gcid, organization, name in (
            (ORDERS, "MyBiz", "Orders"),
            (STOCK, "MyBiz", "Stock"),
            (FILTER, "Acme", "Filter"),
        )
    }
)
ANNA = Person(email="anna@mybiz.example", organization="mybiz", role=Role.VIEWER)


def as_person(*, operator: bool = False) -> Caller:
    return Caller(person=Person(email="o@mybiz.example", organization="MyBiz", role=Role.OWNER, operator=operator))


@pytest.mark.parametrize(
    ("viewer", "owned"),
    [
        (Viewer.of_caller(as_person(), DIRECTORY), {ORDERS, STOCK}),
        (Viewer.of_caller(Caller(service=DIRECTORY.services[ORDERS]), DIRECTORY), {ORDERS}),
        (Viewer.of_caller(as_person(operator=True), DIRECTORY), {ORDERS, STOCK, FILTER, GONE}),
        (Viewer.of_party(as_person(operator=True), DIRECTORY), {ORDERS, STOCK}),
        (Viewer(DIRECTORY, "MYBIZ", ORDERS), {ORDERS, STOCK}),
        (Viewer(DIRECTORY, ""), set()),
    ],
    ids=["person", "service", "operator", "operator as a party", "service of an organization", "no organization"],
)
def test_a_viewer_owns_its_services(viewer: Viewer, owned: set[str]) -> None:
    assert {gcid for gcid in (ORDERS, STOCK, FILTER, GONE) if viewer.owns(gcid)} == owned


def test_a_service_that_knows_what_its_organization_knows_is_itself_only() -> None:
    viewer = Viewer(DIRECTORY, "MyBiz", ORDERS)
    assert [viewer.is_self(gcid) for gcid in (ORDERS, STOCK, FILTER)] == [True, False, False]


def test_only_another_party_hides_a_service() -> None:
    viewer = Viewer(DIRECTORY, "MyBiz")
    assert viewer.is_hidden(GONE, FILTER)
    assert not viewer.is_hidden(GONE, "")
    assert not viewer.is_hidden(GONE, ORDERS), "its own service isolates it"
    assert not viewer.is_hidden(STOCK, FILTER), "it is its own service"
    assert not Viewer(DIRECTORY).is_hidden(GONE, FILTER), "nothing is hidden from the network"


def test_people_are_known_in_their_organization() -> None:
    assert Viewer(DIRECTORY, "MyBiz").knows(ANNA)
    assert not Viewer(DIRECTORY, "Acme").knows(ANNA)
    assert Viewer(DIRECTORY).knows(ANNA)

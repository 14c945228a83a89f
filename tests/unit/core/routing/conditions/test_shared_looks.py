"""What services on a message's way share of their looking, and what each of them must find for itself."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.message import Argument, Part
from postroad.core.model.rule import RuleRole, ValueLocation
from postroad.core.routing.conditions.documents import MessageDocuments
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.paths.schema_defaults import default_attributes_of
from tests.samples.conditions import body, directory, header, json, subject, xml

SCHEMA = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="order"><xs:complexType>
<xs:attribute name="kind" default="usual"/></xs:complexType></xs:element></xs:schema>"""
WITH_SCHEMA, WITHOUT = "00000000000000a1", "00000000000000b2"
KNOWN = directory(Asset(service=WITH_SCHEMA, kind=AssetKind.SCHEMA, name="orders", content=SCHEMA))


def view(message: Subject, service: str, topic: str = "", *arguments: Argument) -> Subject:
    return message.seen_by(
        service,
        role=RuleRole.IN_TRANSIT,
        topic=topic,
        arguments=arguments,
        default_attributes=default_attributes_of(service, KNOWN),
    )


def texts(seen: Subject, place: ValueLocation) -> list[str]:
    return [value.text for value in seen.values(place)]


@pytest.mark.parametrize("order", [(WITH_SCHEMA, WITHOUT), (WITHOUT, WITH_SCHEMA)])
def test_a_default_attribute_is_there_only_for_the_service_whose_schema_says_so(order: tuple[str, str]) -> None:
    message = subject(xml("<order/>"))
    found = {service: texts(view(message, service), body("/order/@kind")) for service in order}
    assert found == {WITH_SCHEMA: ["usual"], WITHOUT: []}


def test_what_only_one_service_is_told_is_not_shared() -> None:
    message = subject(xml("<order/>"))
    first, second = view(message, WITH_SCHEMA, "one", Argument("a", "1")), view(message, WITHOUT, "two")
    for place, expected in ((header("topic"), (["one"], ["two"])), (header("arguments.a"), (["1"], []))):
        assert (texts(first, place), texts(second, place)) == expected


@pytest.mark.parametrize(
    ("part", "place"),
    [
        (xml("<order><city>Ashford</city></order>"), body("/order/city")),
        (xml("<order city='Ashford'/>"), body("/order/@city")),
        (json('{"city": "Ashford"}'), body("$.city")),
    ],
    ids=["element", "attribute", "JSON"],
)
def test_a_path_is_followed_once_for_all_services_without_schemas(
    part: Part, place: ValueLocation, monkeypatch: pytest.MonkeyPatch
) -> None:
    followed: list[str] = []

    def record(name: str) -> None:
        follow = getattr(MessageDocuments, name)

        def recorded(*given: Any) -> Any:
            followed.append(name)
            return follow(*given)

        monkeypatch.setattr(MessageDocuments, name, recorded)

    record("xml")
    record("json")
    message = subject(part)
    services = [view(message, f"{number:016x}") for number in range(1, 4)]
    assert [texts(one, place) for one in services] == [["Ashford"]] * 3
    assert len(followed) == 1
    assert all(list(one.seen.values()) == [("Ashford",)] for one in services)

"""Cross-references: records, relations, queries, replacement, watching; and who may do what with a map."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.cross_reference import Key
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, MessageType, Part, Status
from postroad.errors import Refused
from postroad.services.crossreference.service import CrossReferenceService
from postroad.services.service import ServiceResult, Tools
from tests.samples.service_tools import (
    ACME,
    HOST,
    MYBIZ,
    NO_ARGUMENTS,
    STRANGER,
    RememberedReferences,
    asset,
    delivered,
    document,
    tools,
)

CUSTOMERS = asset(AssetKind.MAP, "customers", '{"services": ["MyBiz/Purchasing", "TheAcmeCompany"]}')
OPEN = asset(AssetKind.MAP, "open", '{"services": "*"}')
ORDER = document("<Order><CustomerNumber>3489</CustomerNumber></Order>")
RELATION = {
    "operation": "relate", "map": "customers", "service": MYBIZ.address, "keyName": "number", "keyValue": "3489",
    "otherService": ACME.address, "otherKeyName": "id", "otherKeyValue": "BX0045012",
}  # fmt: skip
REPLACING = {"operation": "replaceElement", "map": "customers", "element": "//CustomerNumber", "keyName": "number"}


@pytest.fixture
def using() -> Tools:
    return tools(CUSTOMERS, OPEN, hosted=Hosting.CROSSREFERENCE)


async def work(using: Tools, *parts: Part, sender: Service = MYBIZ, arguments: Mapping[str, str]) -> ServiceResult:
    return await CrossReferenceService().work(delivered(*parts, sender=sender, arguments=arguments), using)


async def replaced(using: Tools, arguments: Mapping[str, str] = NO_ARGUMENTS) -> str:
    returned = await work(using, ORDER, arguments={**REPLACING, **arguments})
    return (returned.parts or (ORDER,))[0].data.decode().partition("Number>")[2].partition("<")[0]


def references(using: Tools) -> RememberedReferences:
    assert isinstance(using.references, RememberedReferences)
    return using.references


async def test_a_record_is_kept_with_its_pairs_and_found_by_its_key(using: Tools) -> None:
    await work(
        using,
        arguments={
            "operation": "put",
            "map": "customers",
            "keyName": "number",
            "keyValue": "3489",
            "name": "Bits & Co",
            "city": "<X>",
        },
    )
    await work(using, arguments=RELATION)
    query = {
        "operation": "query",
        "map": "customers",
        "service": ACME.address,
        "keyName": "id",
        "keyValue": "BX0045012",
    }
    answer = await CrossReferenceService().work(delivered(in_transit=False, sender=ACME, arguments=query), using)
    assert answer.parts is not None
    assert json.loads(answer.parts[0].data) == {
        "map": "customers",
        "records": [
            {"service": ACME.address, "keyName": "id", "keyValue": "BX0045012", "pairs": {}},
            {
                "service": MYBIZ.address,
                "keyName": "number",
                "keyValue": "3489",
                "pairs": {"name": "Bits & Co", "city": "<X>"},
            },
        ],
    }
    in_xml = await work(using, ORDER, arguments=query | {"format": "xml"})
    assert in_xml.parts is not None
    assert in_xml.parts[0] is ORDER
    assert b'<Pair name="city">&lt;X&gt;</Pair>' in in_xml.parts[1].data


async def test_a_key_gives_way_to_the_related_one(using: Tools) -> None:
    await work(using, arguments=RELATION)
    assert await replaced(using) == "BX0045012"
    assert await replaced(using, arguments={"to": ACME.address}) == "BX0045012"
    assert await replaced(using, arguments={"to": ACME.gcid, "toKeyName": "id", "from": MYBIZ.address}) == "BX0045012"
    assert await replaced(using, arguments={"keyName": "other"}) == "3489"


async def test_a_record_can_give_another_value_than_its_key(using: Tools) -> None:
    await work(
        using,
        sender=ACME,
        arguments={"operation": "put", "map": "customers", "keyName": "id", "keyValue": "BX0045012", "tier": "gold"},
    )
    await work(using, arguments=RELATION)
    assert await replaced(using, arguments={"toKeyName": "tier"}) == "gold"
    assert await replaced(using, arguments={"toKeyName": "none"}) == "3489"


async def test_an_unrelated_key_stays_or_is_an_error(using: Tools) -> None:
    assert await replaced(using) == "3489"
    with pytest.raises(Refused) as refusal:
        await replaced(using, arguments={"missing": "error"})
    assert refusal.value.code == "crossreference.missing"
    assert "3489" not in refusal.value.detail  # what a message says does not belong in the journal's facts
    stranger = delivered(ORDER, sender=STRANGER, invoker=ACME, arguments=REPLACING)
    assert await CrossReferenceService().work(stranger, using) == ServiceResult()


async def test_several_related_records_are_not_guessed_among(using: Tools) -> None:
    await work(using, arguments=RELATION)
    await work(using, arguments=RELATION | {"otherKeyValue": "BX0045013"})
    with pytest.raises(Refused) as refusal:
        await replaced(using)
    assert refusal.value.code == "crossreference.ambiguous"
    put = {"operation": "put", "map": "customers", "keyName": "id", "keyValue": "BX0045013", "old": "B13"}
    await work(using, sender=ACME, arguments=put)
    assert await replaced(using, arguments={"toKeyName": "old"}) == "B13"


async def test_on_the_way_back_the_two_change_places(using: Tools) -> None:
    await work(using, arguments=RELATION)
    back = document("<Order><CustomerNumber>BX0045012</CustomerNumber></Order>")
    named = REPLACING | {"from": MYBIZ.address, "to": ACME.address, "toKeyName": "id"}

    def response(arguments: Mapping[str, str]) -> Delivered:
        return delivered(back, sender=ACME, invoker=MYBIZ, type=MessageType.RESPONSE, arguments=arguments)

    returned = await CrossReferenceService().work(response(named), using)
    assert returned.parts is not None
    assert returned.parts[0].data == ORDER.data
    assert await CrossReferenceService().work(response(REPLACING), using) == ServiceResult()


@pytest.mark.req("S3")
async def test_watching_relates_the_keys_of_a_request_and_its_response(using: Tools) -> None:
    watching = {
        "operation": "watch", "map": "customers", "element": "//CustomerNumber", "keyName": "number",
        "responseElement": "$.customer", "responseKeyName": "id",
    }  # fmt: skip
    answer = document('{"customer": "BX0045012"}', content_type="application/json")

    def response(*parts: Part, transaction: str = "t1", status: Status | None = None) -> Delivered:
        return delivered(
            *parts,
            sender=ACME,
            invoker=MYBIZ,
            type=MessageType.RESPONSE,
            transaction=transaction,
            status=status,
            arguments=watching,
        )

    service = CrossReferenceService()
    assert await work(using, ORDER, arguments=watching) == ServiceResult()
    for unfit in (
        response(answer, transaction="another"),
        response(answer, status=Status("sold-out")),
        response(document('{"customer": ["a", "b"]}', content_type="application/json")),
        response(document("{", content_type="application/json")),
    ):
        await service.work(unfit, using)
        assert references(using).relations == []
    returned = await service.work(response(answer), using)
    assert [(one.name, one.value) for one in returned.properties] == [("crossreference.related", "1")]
    assert returned.parts is None
    keys = (Key(MYBIZ.gcid, "number", "3489"), Key(ACME.gcid, "id", "BX0045012"))
    assert references(using).relations == [(HOST.gcid, "customers", *keys)]
    assert await replaced(using) == "BX0045012"


async def test_watching_ignores_notifications_and_those_who_do_not_share(using: Tools) -> None:
    watching = {"operation": "watch", "map": "customers", "element": "//CustomerNumber", "keyName": "number"}
    one_way = delivered(ORDER, type=MessageType.NOTIFICATION, arguments=watching)
    foreign = delivered(ORDER, sender=STRANGER, invoker=MYBIZ, arguments=watching)
    for message in (one_way, foreign):
        assert await CrossReferenceService().work(message, using) == ServiceResult()
    assert references(using).records == {}


async def test_a_map_that_one_does_not_share_looks_like_none(using: Tools) -> None:
    put = {"operation": "put", "keyName": "a", "keyValue": "b"}
    told = []
    for name in ("customers", "nothing"):
        with pytest.raises(Refused) as refusal:
            await work(using, sender=STRANGER, arguments={"map": name, **put})
        told.append(refusal.value.detail.replace(name, "…"))
    assert told[0] == told[1]


async def test_the_service_that_included_the_cross_reference_must_share_the_map(using: Tools) -> None:
    """A recipient's rule may work on a stranger's message with the recipient's own map."""
    message = delivered(ORDER, sender=STRANGER, invoker=ACME, arguments=REPLACING | {"from": MYBIZ.address})
    assert await CrossReferenceService().work(message, using) == ServiceResult()
    with pytest.raises(Refused):
        await CrossReferenceService().work(delivered(ORDER, sender=ACME, invoker=STRANGER, arguments=REPLACING), using)


async def test_records_of_other_services_cannot_be_related(using: Tools) -> None:
    other_two = RELATION | {"map": "open", "service": ACME.address, "otherService": HOST.address}
    with pytest.raises(Refused) as refusal:
        await work(using, arguments=other_two)
    assert refusal.value.code == "permission.denied"


async def test_a_private_service_is_told_apart_from_none_by_nobody(using: Tools) -> None:
    told = []
    for name in (STRANGER.address, "Stranger/Nobody", STRANGER.gcid):
        with pytest.raises(Refused) as refusal:
            await work(using, arguments=RELATION | {"map": "open", "otherService": name})
        told.append(refusal.value.detail.replace(name, "…"))
    assert len(set(told)) == 1


async def test_the_profile_may_say_the_operation() -> None:
    only = tools(CUSTOMERS, hosted=Hosting.CROSSREFERENCE, operations=("replaceElement",))
    await work(only, arguments=RELATION)
    arguments = {name: value for name, value in REPLACING.items() if name != "operation"}
    returned = await work(only, ORDER, arguments=arguments)
    assert returned.parts is not None
    with pytest.raises(Refused, match="use one of put, relate"):
        await work(tools(CUSTOMERS), ORDER, arguments=arguments)


async def test_changes_name_who_asked_and_in_which_message(using: Tools) -> None:
    await work(using, arguments=RELATION)
    assert [(cause.by, cause.session) for cause in references(using).causes] == [(MYBIZ.gcid, "s1")]

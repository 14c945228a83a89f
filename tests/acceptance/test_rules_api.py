"""Rules over HTTP: in order, in JSON and XML, checked whole, switched, moved, and every version on record."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from postroad.core.model.directory import Visibility
from postroad.core.model.journal import ConfigurationChanged, decode
from tests.acceptance.asking import Asked, asked_network

pytestmark = pytest.mark.req("R1")

RULES = "/v1/services/Aster/Private/rules"
XML = "application/xml"
SPLIT = b"""<Rule xmlns="urn:postroad:rules:1" name="split" role="sender">
  <Condition><equals><Header item="to"/><Value>Aster/Public</Value></equals></Condition>
  <Actions><AddServiceAfter service="Birch/Public"/></Actions>
</Rule>"""


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        await network.running.register("Birch/Work", visibility=Visibility.PUBLIC)
        yield network


def rule(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "when": "always", "then": [{"addServiceAfter": "Birch/Public"}], **more}


async def add(asked: Asked, *names: str, **more: Any) -> None:
    for name in names:
        made = await asked.ask("developer of A", "POST", RULES, rule(name, **more))
        assert made.status_code == 201, made.text


async def listed(asked: Asked) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = (await asked.ask("viewer of A", "GET", RULES)).json()["items"]
    return items


async def order(asked: Asked) -> str:
    return "".join(item["name"] for item in await listed(asked))


async def send_xml(asked: Asked, method: str, path: str, body: bytes, **headers: str) -> httpx2.Response:
    given = {"Authorization": f"Bearer {asked.keys['developer of A']}", "Content-Type": XML}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    return await asked.client.request(method, path, content=body, headers=given)


async def test_a_rule_is_made_read_replaced_and_removed_with_all_versions_on_record(asked: Asked) -> None:
    made = await asked.ask("developer of A", "POST", RULES, rule("route", role="sender", description="why"))
    assert (made.status_code, made.headers["etag"]) == (201, '"1"')
    assert made.json() == {
        "name": "route", "role": "sender", "enabled": True, "description": "why", "when": "always", "positions": {},
        "then": [{"addServiceAfter": "Birch/Public"}], "place": 1, "version": 1,
    }  # fmt: skip
    assert (await asked.ask("viewer of A", "GET", made.headers["location"])).json() == made.json()
    here = f"{RULES}/ROUTE"
    assert (await asked.ask("developer of A", "PUT", here, rule("route"))).status_code == 428
    changed = await asked.ask("developer of A", "PUT", here, rule("Route"), match='"1"')
    assert (changed.json()["name"], changed.json()["role"], changed.json()["version"]) == ("route", "any", 2)
    assert (await asked.ask("developer of A", "PUT", here, rule("route"), match='"1"')).status_code == 412
    renamed = await asked.ask("developer of A", "PUT", here, rule("other"), match='"2"')
    assert (renamed.status_code, renamed.json()["pointer"]) == (422, "/name")
    same = await asked.ask("developer of A", "POST", RULES, rule("ROUTE"))
    assert (same.status_code, same.json()["code"]) == (409, "name.taken")
    assert (await asked.ask("developer of A", "DELETE", here, match='"2"')).status_code == 204
    assert (await asked.ask("viewer of A", "GET", here)).status_code == 404
    versions = (await asked.ask("viewer of A", "GET", f"{here}/versions")).json()["items"]
    assert [(item["version"], item["by"], item["removed"]) for item in versions] == [
        (3, "developer@aster.example", True), (2, "developer@aster.example", False),
        (1, "developer@aster.example", False),
    ]  # fmt: skip
    assert (versions[2]["value"]["role"], versions[1]["value"]["role"]) == ("sender", "any")


async def test_rules_are_listed_in_their_order_page_by_page(asked: Asked) -> None:
    await add(asked, "c", "a", "b")
    await asked.ask("developer of A", "POST", RULES, rule("first", place=1))
    assert [(item["name"], item["place"]) for item in await listed(asked)] == [
        ("first", 1), ("c", 2), ("a", 3), ("b", 4),
    ]  # fmt: skip
    page = await asked.ask("viewer of A", "GET", f"{RULES}?limit=3")
    rest = await asked.ask("viewer of A", "GET", f"{RULES}?limit=3&cursor={page.json()['next']}")
    assert [item["name"] for item in (*page.json()["items"], *rest.json()["items"])] == ["first", "c", "a", "b"]


async def test_a_rule_is_moved_in_one_entry_and_the_order_holds(asked: Asked) -> None:
    await add(asked, *"abcd")
    head = await asked.running.network.journal.head()
    moved = await asked.ask("developer of A", "PATCH", f"{RULES}/d", {"place": 2}, match='"1"')
    assert (moved.status_code, moved.json()["place"]) == (200, 2)
    assert await order(asked) == "adbc"
    entries = [decode(record.facts) for record in (await asked.running.network.journal.read(head.seq)).records]
    assert [type(entry) for entry in entries] == [ConfigurationChanged]
    await asked.ask("developer of A", "PATCH", f"{RULES}/a", {"place": 1_000}, match="*")
    assert await order(asked) == "dbca"
    await asked.ask("developer of A", "DELETE", f"{RULES}/b", match="*")
    await add(asked, "e")
    assert await order(asked) == "dcae"


async def test_an_export_after_moves_and_removals_changes_nothing(asked: Asked) -> None:
    await add(asked, *"abcd")
    await asked.ask("developer of A", "DELETE", f"{RULES}/b", match="*")
    await asked.ask("developer of A", "PATCH", f"{RULES}/d", {"place": 1}, match="*")
    document = (await asked.ask("owner of A", "GET", "/v1/configuration")).json()
    wish = {"document": document, "prune": True}
    assert (await asked.ask("owner of A", "POST", "/v1/configuration/plan", wish)).json()["steps"] == []


async def test_a_rule_is_switched_off_and_on(asked: Asked) -> None:
    await add(asked, "a")
    off = await asked.ask("developer of A", "PATCH", f"{RULES}/a", {"enabled": False}, match='"1"')
    assert (off.json()["enabled"], off.json()["version"]) == (False, 2)
    again = await asked.ask("developer of A", "PATCH", f"{RULES}/a", {"enabled": False}, match='"2"')
    assert again.json()["version"] == 2, "nothing changed, so there is no new version"
    assert (await asked.ask("developer of A", "PATCH", f"{RULES}/a", {}, match='"2"')).status_code == 422


async def test_a_rule_that_has_become_wrong_can_be_switched_off_but_not_on(asked: Asked) -> None:
    made = rule("a", then=[{"addServiceAfter": "Birch/Work"}])
    await asked.ask("developer of A", "POST", RULES, made)
    await asked.ask("owner of B", "DELETE", "/v1/services/Birch/Work", match="*")
    off = await asked.ask("developer of A", "PATCH", f"{RULES}/a", {"enabled": False}, match="*")
    assert off.json()["enabled"] is False
    on = await asked.ask("developer of A", "PATCH", f"{RULES}/a", {"enabled": True}, match="*")
    assert (on.status_code, on.json()["code"]) == (422, "rule.invalid")


@pytest.mark.req("R5", "Z3")
async def test_a_bad_rule_is_refused_naming_every_place_and_fault(asked: Asked) -> None:
    when = {"or": [{"matches": {"header": "topic", "value": "("}}, {"exists": {"body": "/a[["}}]}
    then = [{"addServiceAfter": "Nobody/Here"}, {"addServiceBefore": "Birch/Public"}]
    refused = await asked.ask("developer of A", "POST", RULES, rule("bad", role="sender", when=when, then=then))
    assert (refused.status_code, refused.json()["code"]) == (422, "rule.invalid")
    assert [fault["pointer"] for fault in refused.json()["errors"]] == [
        "/when/or/0/matches/value",
        "/when/or/1/exists/body",
        "/then/0/addServiceAfter",
        "/then/1/addServiceBefore",
    ]
    malformed = await asked.ask("developer of A", "POST", RULES, {"name": "x", "when": {"like": {}}, "then": []})
    assert (malformed.status_code, malformed.json()["code"]) == (422, "value.invalid")
    assert "/when/like" in {fault["pointer"] for fault in malformed.json()["errors"]}
    assert await listed(asked) == []


async def test_a_private_service_of_others_is_to_a_rule_as_if_it_did_not_exist(asked: Asked) -> None:
    answers = []
    for name in ("Birch/Private", "Nobody/Nothing"):
        refused = await asked.ask("owner of A", "POST", RULES, rule("r", then=[{"redirect": name}], role="recipient"))
        answers.append((refused.status_code, refused.text.replace(name, "<name>")))
    assert answers[0] == answers[1]
    assert answers[0][0] == 422


async def test_the_xml_form_says_the_same_both_ways(asked: Asked) -> None:
    made = await send_xml(asked, "POST", RULES, SPLIT)
    assert made.status_code == 201, made.text
    assert made.json()["when"] == {"equals": {"header": "to", "value": "Aster/Public"}}
    read = await asked.ask("viewer of A", "GET", f"{RULES}/split", Accept=XML)
    assert read.headers["content-type"].startswith(XML)
    again = await send_xml(asked, "PUT", f"{RULES}/split", read.content, If_Match=read.headers["etag"])
    assert (again.status_code, again.json()["version"]) == (200, 1)
    everything = await asked.ask("viewer of A", "GET", RULES, Accept=XML)
    assert everything.content == read.content
    broken = await send_xml(asked, "POST", RULES, SPLIT.replace(b"equals", b"equal"))
    assert (broken.status_code, broken.json()["code"]) == (400, "wire.malformed")
    hostile = await send_xml(asked, "POST", RULES, b"<!DOCTYPE r [<!ENTITY x 'y'>]>" + SPLIT)
    assert (hostile.status_code, hostile.json()["code"]) == (400, "wire.forbidden-markup")
    faulty = await send_xml(asked, "POST", RULES, SPLIT.replace(b"split", b"other").replace(b"Birch/Public", b"No/One"))
    assert [fault["pointer"] for fault in faulty.json()["errors"]] == ["/then/0/addServiceAfter"]


async def test_a_service_takes_its_rules_with_it(asked: Asked) -> None:
    await add(asked, "a")
    assert (await asked.ask("owner of A", "DELETE", "/v1/services/Aster/Private", match="*")).status_code == 204
    assert asked.running.network.directory.rules == {}


async def test_a_rule_may_have_a_name_in_any_script_and_the_answer_says_where_it_is(asked: Asked) -> None:
    for name in ("große Aufträge", "Ещё", "İ ＡＢ"):
        made = await asked.ask("developer of A", "POST", RULES, rule(name))
        assert made.status_code == 201, made.text
        assert made.headers["location"].isascii()
        assert (await asked.ask("viewer of A", "GET", made.headers["location"])).json()["name"] == name

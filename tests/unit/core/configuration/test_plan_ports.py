"""Send ports and splitters in documents: planned field by field, exported the same, and checked where the network is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from postroad.core.configuration.change_plan import ConfigurationPlan
from postroad.core.configuration.document import DocumentError, NetworkDocument, read_document
from postroad.core.configuration.planner import make_plan
from postroad.core.configuration.sections.organization import export_document
from postroad.core.configuration.send_port_check import find_port_errors
from postroad.core.interchange.model import Envelope, Numbers, PlacedCallback
from postroad.core.interchange.standard import BUILT_IN, Standard
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from tests.samples.plans import applied, planned
from tests.unit.core.configuration.profile.test_batching_profile import EVERYTHING

pytestmark = pytest.mark.req("B1", "N13")

HERE = "/organizations/House/services/orders"
PORT: dict[str, Any] = {"sendsTo": "House/out", "standard": "x12", "count": 2}
EVENINGS = [{"opens": "08:00", "closes": "18:00"}]


def house(batching: dict[str, Any], *, orders: dict[str, Any] | None = None, **services: Any) -> dict[str, Any]:
    port = {"hosted": "batcher", "batching": batching} | (orders or {})
    listed = {"orders": port, "out": {}, **services}
    return {"postroad": 1, "organizations": {"House": {"services": listed}}}


def splitting(section: dict[str, Any], **services: Any) -> dict[str, Any]:
    listed = {"orders": {"hosted": "splitter", "splitting": section}, "out": {}, **services}
    return {"postroad": 1, "organizations": {"House": {"services": listed}}}


def faults(content: dict[str, Any], directory: Directory | None = None) -> dict[str, str]:
    return {
        fault.pointer.removeprefix(HERE): fault.detail for fault in planned(content, directory or Directory()).faults
    }


def changes(found: ConfigurationPlan) -> dict[str, tuple[Any, Any]]:
    (step,) = found.steps
    return {change.field: (change.before, change.after) for change in step.fields}


def test_an_export_of_ports_changes_nothing_also_elsewhere() -> None:
    port = EVERYTHING | {"sendsTo": "House/out"}
    del port["groupBy"]  # an empty batch is of no group
    content = house(
        port,
        orders={"windows": EVENINGS, "timeZone": "America/New_York"},
        **{"from-acme": {"hosted": "splitter", "splitting": {"sendsTo": "House/orders", "answersTo": "House/out"}}},
    )
    directory = applied(planned(content, Directory()), Directory())

    exported = export_document(directory, ["House"])

    assert exported["organizations"]["House"]["services"]["orders"]["batching"] == port
    assert planned(content, directory, prune=True).steps == ()
    assert planned(exported, directory, prune=True).steps == ()
    elsewhere = planned(exported, Directory(), may_choose_ids=True)
    assert not elsewhere.faults
    assert export_document(applied(elsewhere, Directory()), ["House"]) == exported


def test_what_changes_of_a_port_is_told_field_by_field() -> None:
    directory = applied(planned(house(PORT | {"cron": ["@daily"]}), Directory()), Directory())

    found = planned(house(PORT | {"count": 5, "envelope": {"usage": "T"}}), directory)

    assert changes(found) == {
        "batching.count": (2, 5),
        "batching.envelope": (None, {"usage": "T"}),
        "batching.cron": (["@daily"], None),
    }


def test_a_new_port_is_told_field_by_field_and_so_is_one_that_goes() -> None:
    before = applied(planned(house(PORT, orders={"hosted": "", "batching": None}), Directory()), Directory())
    with_port = {name: value for name, value in changes(planned(house(PORT), before)).items() if name != "hosted"}
    assert with_port == {f"batching.{name}": (None, value) for name, value in PORT.items()}

    directory = applied(planned(house(PORT), before), before)
    without = changes(planned(house(PORT, orders={"hosted": "", "batching": None}), directory))
    assert without == {"hosted": ("batcher", "")} | {f"batching.{name}": (value, None) for name, value in PORT.items()}


@pytest.mark.parametrize(
    ("section", "pointer", "told"),
    [
        ({"sendsTo": "House/nobody"}, "sendsTo", "service 'House/nobody' does not exist"),
        ({"sendsTo": "House/orders"}, "sendsTo", "cannot send to itself"),
        ({"standard": "runes"}, "standard", "standard 'runes' does not exist; use one of edifact"),
        ({"count": 0}, "", "no criterion would close a batch"),
        ({"cron": ["61 * * * *"]}, "cron", "minute"),
        ({"beforeCloseSeconds": 60}, "beforeCloseSeconds", "no delivery window that closes"),
        ({"empty": "send"}, "empty", "set a schedule"),
        ({"last": {"equals": {"header": "topic"}}}, "last/equals", "exactly one of value"),
        ({"takes": {"exists": {"body": "//["}}}, "takes/exists/body", ""),
        ({"takes": {"exists": {"body": "/a", "schema": "s"}}}, "takes/exists/schema", "has no schema"),
        ({"groupBy": [{"header": "topic"}, {"header": "nothing-like-that"}]}, "groupBy/1/header", ""),
        ({"sortBy": [{"body": "$["}]}, "sortBy/0/body", ""),
        ({"controlled": {"idProperty": "a", "startProperty": "a"}}, "controlled", "different names"),
        ({"envelope": {"element": "AA"}}, "envelope/delimiters", "a different character"),
        ({"envelope": {"sendrQualifier": "ZZ"}}, "envelope/sendrQualifier", "it has senderQualifier"),
        ({"standard": "json_lines", "envelope": {"form": "a"}}, "envelope/form", "it has nothing at all"),
        ({"standard": "swift", "envelope": {"form": "paper"}}, "envelope/form", "'paper' is not one of"),
        ({"standard": "gs1", "empty": "send", "cron": ["@daily"]}, "empty", "must hold a document"),
    ],
)
def test_what_can_never_work_is_refused_at_its_place(section: dict[str, Any], pointer: str, told: str) -> None:
    found = faults(house(PORT | section))

    assert list(found) == [f"/batching/{pointer}".rstrip("/")]
    assert told in next(iter(found.values()))


def test_all_faults_are_found_at_once() -> None:
    found = faults(house({"sendsTo": "House/nobody", "standard": "runes"}))

    assert list(found) == ["/batching/sendsTo", "/batching", "/batching/standard"]


def test_an_envelope_of_gs1_is_tried_though_it_cannot_be_empty() -> None:
    assert faults(house(PORT | {"standard": "gs1"})) == {}
    assert list(faults(house(PORT | {"standard": "gs1", "envelope": {"form": "x"}}))) == ["/batching/envelope/form"]


@pytest.mark.req("B10")
@pytest.mark.parametrize(
    ("section", "pointer", "told"),
    [
        ({"sendsTo": "House/nobody"}, "sendsTo", "does not exist"),
        ({"answersTo": "House/nobody"}, "answersTo", "does not exist"),
        ({"standard": "runes"}, "standard", "does not exist"),
        ({"standard": "flat", "answersTo": "House/out"}, "answersTo", "has no acknowledgments"),
        ({"standard": "flat", "options": {"form": "paper"}}, "options/form", "neither delimited nor positional"),
    ],
)
def test_a_splitter_that_can_never_work_is_refused(section: dict[str, Any], pointer: str, told: str) -> None:
    found = faults(splitting({"sendsTo": "House/out"} | section))

    assert list(found) == [f"/splitting/{pointer}"]
    assert told in next(iter(found.values()))


def test_what_would_come_back_is_refused() -> None:
    other = {"hosted": "batcher", "batching": {"sendsTo": "House/apart", "standard": "edifact", "count": 1}}
    apart = {"hosted": "splitter", "splitting": {"sendsTo": "House/orders"}}

    found = planned(house(PORT | {"sendsTo": "House/other"}, other=other, apart=apart), Directory()).faults

    assert {fault.pointer.rpartition("/services/")[2] for fault in found} == {
        "orders/batching/sendsTo",
        "other/batching/sendsTo",
        "apart/splitting/sendsTo",
    }
    assert all("forwards messages back" in fault.detail for fault in found)


def test_who_is_private_to_others_cannot_be_sent_to() -> None:
    content = house(PORT | {"sendsTo": "Acme/edi"})
    content["organizations"]["Acme"] = {"services": {"edi": {}}}
    assert list(faults(content)) == ["/batching/sendsTo"]

    content["organizations"]["Acme"]["services"]["edi"]["visibility"] = "public"
    assert faults(content) == {}


def test_what_others_have_made_wrong_does_not_stand_in_the_way() -> None:
    directory = applied(planned(house(PORT), Directory()), Directory())
    out = directory.service("House/out")
    assert out is not None
    gone = directory.apply_changes([ObjectChange("service", out.gcid, 2, None)], directory.version + 1)
    content = house(PORT, more={})
    del content["organizations"]["House"]["services"]["out"]

    assert faults(content, gone) == {}
    content["organizations"]["House"]["services"]["orders"]["batching"] = PORT | {"count": 3}
    assert list(faults(content, gone)) == ["/batching/sendsTo"]


def test_standards_of_plug_ins_count() -> None:
    def assemble(
        members: object, envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None = None
    ) -> Iterator[bytes]:
        yield b"%d" % numbers.next("interchange")

    runes = Standard(name="runes", title="Runes", assemble=assemble)
    document = read_document(house(PORT | {"standard": "runes"}))
    assert isinstance(document, NetworkDocument)

    def with_standards(*more: Standard) -> tuple[DocumentError, ...]:
        standards = BUILT_IN.with_plug_ins(more)
        ids = (f"{number:016x}" for number in range(9))
        return make_plan(document, Directory(), secrets={}, fresh_ids=ids, now_us=1, standards=standards).faults

    assert with_standards(runes) == ()
    assert [fault.pointer for fault in with_standards()] == [f"{HERE}/batching/standard"]


def test_a_policy_from_an_older_journal_is_told_in_the_words_of_the_profile() -> None:
    directory = applied(planned(house(PORT), Directory()), Directory())
    service = directory.service("House/orders")
    assert service is not None
    assert service.batching is not None
    batching = service.batching

    def told(**policy: Any) -> list[str]:
        older = replace(service, batching=replace(batching, policy=replace(batching.policy, **policy)))
        return [fault.pointer for fault in find_port_errors(older, directory, BUILT_IN)]

    assert told(age_s=-1) == ["/batching/ageSeconds"]
    assert told(cron=("@daily",) * 51) == ["/batching/cron"]

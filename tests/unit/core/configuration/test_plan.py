"""Planning, against plain directories: round trips, field by field, ids and secrets as arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.configuration.change_plan import StepAction
from postroad.core.configuration.document import DocumentError, NetworkDocument, read_document
from postroad.core.configuration.sections.organization import export_document
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from tests.samples.plans import applied, planned

pytestmark = pytest.mark.req("N13")


names = st.from_regex(r"[A-Z][a-z]{0,8}", fullmatch=True)
services = st.fixed_dictionaries(
    {},
    optional={
        "description": st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=20),
        "visibility": st.sampled_from(["public", "private"]),
        "operations": st.lists(names, max_size=3, unique=True),
        "windows": st.lists(
            st.builds(lambda days: {"days": days, "opens": "22:00", "closes": "06:00"},
                      st.lists(st.sampled_from(["mon", "sun"]), min_size=1, unique=True)), max_size=2),
        "push": st.none() | st.just({"url": "https://a.example/", "tries": 3, "secretFrom": "env:A"}),
        "defaultExpirationSeconds": st.integers(1, 1_000),
        "acceptsFrom": st.lists(names, max_size=3, unique=True),
        "schemas": st.dictionaries(names, st.builds(lambda text: {"content": text}, st.text(max_size=9)), max_size=2),
    },
)  # fmt: skip
organizations = st.fixed_dictionaries(
    {"services": st.dictionaries(names, services, max_size=4)},
    optional={"description": st.just("words"), "people": st.just({"a@b.example": {"role": "owner", "name": "A"}})},
)


@given(organization=organizations)
def test_what_was_applied_is_exported_and_applying_that_changes_nothing(organization: dict[str, Any]) -> None:
    content = {"postroad": 1, "organizations": {"House": organization}}
    directory = applied(planned(content, Directory()), Directory())
    assert planned(content, directory, prune=True).steps == ()
    exported = export_document(directory, ["House"])
    assert planned(exported, directory, prune=True).steps == ()
    elsewhere = planned(exported, Directory(), may_choose_ids=True)
    assert export_document(applied(elsewhere, Directory()), ["House"]) == exported


def test_a_plan_is_pure() -> None:
    content = {"postroad": 1, "organizations": {"House": {"services": {"In": {}, "Out": {}}}}}
    one, other = planned(content, Directory()), planned(content, Directory())
    assert one == other
    assert one.version == other.version


def test_the_version_of_a_plan_follows_what_it_touches() -> None:
    content = {"postroad": 1, "organizations": {"House": {"services": {"In": {}}}}}
    directory = applied(planned(content, Directory()), Directory())
    content["organizations"]["House"]["services"]["In"]["category"] = "x"  # type: ignore[index]
    before = planned(content, directory)
    service = directory.service("House/In")
    assert service is not None
    touched = directory.apply_changes([ObjectChange("service", service.gcid, 2, msgspec.to_builtins(service))], 9)
    assert planned(content, touched).version != before.version
    other = directory.apply_changes([ObjectChange("organization", "other", 1, {"name": "Other"})], 9)
    assert planned(content, other).version == before.version


def test_names_that_differ_in_case_only_are_one() -> None:
    content = {"postroad": 1, "organizations": {"House": {"services": {"In": {}, "IN": {}}}, "HOUSE": {}}}
    places = {fault.pointer for fault in planned(content, Directory()).faults}
    assert places == {"/organizations/HOUSE", "/organizations/House/services/IN"}


def test_a_name_in_another_case_finds_what_exists() -> None:
    directory = applied(
        planned({"postroad": 1, "organizations": {"House": {"services": {"In": {}}}}}, Directory()), Directory()
    )
    assert planned({"postroad": 1, "organizations": {"HOUSE": {"services": {"IN": {}}}}}, directory).steps == ()


def test_suspension_is_not_configuration() -> None:
    content = {"postroad": 1, "organizations": {"House": {"services": {"In": {}}}}}
    directory = applied(planned(content, Directory()), Directory())
    service = directory.service("House/In")
    assert service is not None
    value = msgspec.to_builtins(service) | {"suspended": "unpaid"}
    suspended = directory.apply_changes([ObjectChange("service", service.gcid, 2, value)], 9)
    assert planned(content, suspended).steps == ()


@pytest.mark.req("N11")
def test_a_suspended_service_is_pruned_by_operators_alone() -> None:
    content: dict[str, Any] = {"postroad": 1, "organizations": {"House": {"services": {"In": {}}}}}
    directory = applied(planned(content, Directory()), Directory())
    service = directory.service("House/In")
    assert service is not None
    value = msgspec.to_builtins(service) | {"suspended": "unpaid"}
    suspended = directory.apply_changes([ObjectChange("service", service.gcid, 2, value)], 9)
    del content["organizations"]["House"]["services"]["In"]
    faults = planned(content, suspended, prune=True).faults
    assert [fault.pointer for fault in faults] == ["/organizations/House/services/In"]
    assert planned(content, suspended, prune=True, may_choose_ids=True).faults == ()


@pytest.mark.req("N1")
def test_an_organization_with_people_keeps_an_owner() -> None:
    people = {"a@b.example": {"role": "owner"}, "c@b.example": {"role": "viewer"}}
    directory = applied(
        planned({"postroad": 1, "organizations": {"House": {"people": people}, "Empty": {}}}, Directory()), Directory()
    )
    remaining: list[dict[str, Any]] = [{}, {"c@b.example": {}}, {"a@b.example": {"role": "viewer"}}]
    for left in remaining:
        content = {"postroad": 1, "organizations": {"House": {"people": left}, "Empty": {}}}
        places = [fault.pointer for fault in planned(content, directory, prune=True).faults]
        assert places == ["/organizations/House/people"]


@pytest.mark.req("Z6")
def test_what_operators_set_stays_where_a_document_does_not_speak_of_it() -> None:
    limits = {"storedBytes": 5, "queuedMessages": 0}
    content = {"postroad": 1, "organizations": {"House": {"postsPerSecond": 9, "limits": limits}}}
    directory = applied(planned(content, Directory()), Directory())
    house = directory.organizations["house"]
    assert (house.posts_per_s, house.limits.stored_bytes) == (9, 5)
    assert planned({"postroad": 1, "organizations": {"House": {}}}, directory).steps == ()
    exported = export_document(directory, ["House"])["organizations"]["House"]
    assert (exported["postsPerSecond"], exported["limits"]) == (9, {"storedBytes": 5})
    [step] = planned({"postroad": 1, "organizations": {"House": {"limits": {}}}}, directory).steps
    assert [(change.field, change.before, change.after) for change in step.fields] == [
        ("limits", {"storedBytes": 5}, {})
    ]


def test_credentials_left_out_stay_even_when_pruning() -> None:
    place = "/organizations/House/services/In/credentials/0"
    content: dict[str, Any] = {
        "postroad": 1,
        "organizations": {"House": {"services": {"In": {"credentials": [{"label": "p", "password": "x" * 15}]}}}},
    }
    directory = applied(planned(content, Directory(), secrets={place: "hash"}), Directory())
    del content["organizations"]["House"]["services"]["In"]["credentials"]
    assert planned(content, directory, prune=True).steps == ()
    content["organizations"]["House"]["services"]["In"]["credentials"] = []
    assert planned(content, directory).steps == ()
    [removal] = planned(content, directory, prune=True).steps
    assert (removal.action, removal.kind, removal.name) == (StepAction.REMOVE, "credential", "House/In: p")


def test_a_name_that_a_service_leaves_is_not_given_away_in_the_same_document() -> None:
    directory = applied(
        planned({"postroad": 1, "organizations": {"House": {"services": {"In": {}}}}}, Directory()), Directory()
    )
    taken = {"Out": {}, "In": {"gcid": "f" * 16}}
    [fault] = planned({"postroad": 1, "organizations": {"House": {"services": taken}}}, directory).faults
    assert (fault.pointer, fault.detail.partition(";")[0]) == (
        "/organizations/House/services/In/gcid", "another service has this name",
    )  # fmt: skip
    renamed = {"Out": {"gcid": f"{1:016x}"}, "In": {"category": "new"}}
    for services in (renamed, dict(reversed(renamed.items()))):
        [fault] = planned({"postroad": 1, "organizations": {"House": {"services": services}}}, directory).faults
        assert "apply that first" in fault.detail


@pytest.mark.req("N2")
def test_names_of_new_organizations_and_services_are_mistaken_for_no_others() -> None:
    content = {"postroad": 1, "organizations": {"0123456789ABCDEF": {}, "House": {"services": {"Аcme": {}, "Öl": {}}}}}
    found = planned(content, Directory()).faults
    assert [fault.pointer for fault in found] == [
        "/organizations/0123456789ABCDEF",
        "/organizations/House/services/Аcme",
    ]
    saved = Directory().apply_changes(
        [ObjectChange("organization", "0123456789abcdef", 1, {"name": "0123456789ABCDEF"})], 1
    )  # before that was known
    assert planned({"postroad": 1, "organizations": {"0123456789ABCDEF": {}}}, saved).faults == ()


def test_pruning_leaves_a_service_the_schema_that_it_validates_by() -> None:
    schema = {"order": {"content": "<xs:schema/>"}}
    service: dict[str, Any] = {"hosted": "exchange", "validates": "order", "schemas": schema}
    content = {"postroad": 1, "organizations": {"House": {"services": {"In": service}}}}
    directory = applied(planned(content, Directory()), Directory())
    service["schemas"] = {"invoice": {"content": "<xs:schema/>"}}
    assert planned(content, directory).faults == ()
    [fault] = planned(content, directory, prune=True).faults
    assert fault.pointer == "/organizations/House/services/In/validates"


def test_the_networks_own_service_is_no_documents_business() -> None:
    own = {"gcid": "f" * 16, "organization": "Network", "name": "Provisioning", "hosted": "provisioning"}
    directory = Directory().apply_changes(
        [ObjectChange("organization", "network", 1, {"name": "Network"}), ObjectChange("service", "f" * 16, 1, own)], 1
    )
    content: dict[str, Any] = {"postroad": 1, "organizations": {"Network": {"services": {"Provisioning": {}}}}}
    [fault] = planned(content, directory, may_choose_ids=True).faults
    assert fault.pointer == "/organizations/Network/services/Provisioning"
    del content["organizations"]["Network"]["services"]
    assert planned(content, directory, may_choose_ids=True, prune=True).steps == ()


def with_assets(**sections: Any) -> dict[str, Any]:
    return {"postroad": 1, "organizations": {"House": {"services": {"In": {"hosted": "lookup", **sections}}}}}


def test_an_asset_is_planned_by_digest_and_size_and_never_by_its_text() -> None:
    content = with_assets(tables={"Zip": {"content": "zip,zip4\n1,2\n", "description": "codes"}})
    directory = applied(planned(content, Directory()), Directory())
    assert planned(content, directory, prune=True).steps == ()
    assert (
        planned(with_assets(tables={"ZIP": {"content": "zip,zip4\n1,2\n", "description": "codes"}}), directory).steps
        == ()
    )
    content["organizations"]["House"]["services"]["In"]["tables"]["Zip"]["content"] = "zip,zip4\n1,3\n9,9\n"
    [step] = planned(content, directory).steps
    assert (step.action, step.kind, step.name) == (StepAction.CHANGE, "asset", "House/In: table Zip")
    changes = {change.field: (change.before, change.after) for change in step.fields}
    assert set(changes) == {"digest", "bytes"}
    assert changes["bytes"] == (13, 17)


def test_assets_are_pruned_only_where_their_kind_is_spoken_of() -> None:
    both = with_assets(tables={"Zip": {"content": "a,b\n"}}, schemas={"po": {"content": "<xs:schema/>"}})
    directory = applied(planned(both, Directory()), Directory())
    assert planned(with_assets(), directory, prune=True).steps == ()
    [removal] = planned(with_assets(tables={}), directory, prune=True).steps
    assert (removal.action, removal.name) == (StepAction.REMOVE, "House/In: table Zip")
    gone = planned({"postroad": 1, "organizations": {"House": {}}}, directory, prune=True)
    assert sorted(step.kind for step in gone.steps) == ["asset", "asset", "service"]


def test_what_a_service_has_from_another_time_stands_in_no_documents_way() -> None:
    tables: dict[str, Any] = {"zip": {"content": "a"}}
    directory = applied(planned(with_assets(tables=tables), Directory()), Directory())
    service = directory.service("House/In")
    assert service is not None
    plain = ObjectChange("service", service.gcid, 2, msgspec.to_builtins(service) | {"hosted": ""})
    changed = directory.apply_changes([plain], directory.version + 1)  # as it can be by hand
    exported = export_document(changed, ["House"])
    assert (planned(exported, changed, prune=True).steps, planned(exported, changed).faults) == ((), ())
    [fault] = planned(exported, directory).faults  # here the document itself would do it
    assert "hosted: lookup" in fault.detail


def test_an_asset_needs_a_service_that_works_with_it_and_its_content() -> None:
    content = with_assets(stylesheets={"s": {"content": "<x/>"}}, tables={"t": {"file": "t.csv"}, "T": {"content": ""}})
    place = "/organizations/House/services/In"
    found = planned(
        content, Directory(), asset_faults={f"{place}/tables/T": [DocumentError(f"{place}/tables/T/content", "empty")]}
    )
    assert {fault.pointer for fault in found.faults} == {
        f"{place}/stylesheets/s", f"{place}/tables/t", f"{place}/tables/T", f"{place}/tables/T/content",
    }  # fmt: skip
    assert isinstance(read_document(with_assets(tables={"t": {"file": "a", "content": "b"}})), list)
    assert isinstance(read_document(with_assets(tables={"t": {}})), list)


@pytest.mark.parametrize(
    ("credential", "detail"),
    [
        ({"label": "x"}, "exactly one"),
        ({"label": "x", "kept": True}, "needs its kind"),
        ({"label": "x", "passwordFrom": "env:A", "keyFrom": "env:B"}, "exactly one"),
        ({"label": "x", "passwordFrom": "env:A", "kind": "key"}, "its kind is password"),
        ({"label": "x", "passwordFrom": "plain secret"}, "pattern"),
    ],
)
def test_a_credential_that_says_too_little_or_too_much(credential: dict[str, Any], detail: str) -> None:
    content = {"postroad": 1, "organizations": {"H": {"services": {"In": {"credentials": [credential]}}}}}
    found = read_document(content)
    assert isinstance(found, list)
    assert all(isinstance(fault, DocumentError) for fault in found)
    assert detail in " ".join(fault.detail for fault in found)


@pytest.mark.docs
def test_the_document_in_the_guide_is_a_document() -> None:
    guide = Path(__file__).parents[4] / "docs" / "howto" / "configuration-as-code.md"
    text = guide.read_text().partition("```yaml\n")[2].partition("```")[0]
    document = read_document(yaml.safe_load(text))
    assert isinstance(document, NetworkDocument), document
    assert set(document.organizations["MyBiz"].services) == {"Purchasing", "Archive"}


@pytest.mark.docs
def test_the_rules_and_assets_in_the_guide_can_be_applied() -> None:
    guide = Path(__file__).parents[4] / "docs" / "howto" / "configuration-as-code.md"
    content = yaml.safe_load(guide.read_text().split("```yaml\n")[2].partition("```")[0])
    sheet = content["organizations"]["Transmatics"]["services"]["XSLT"]["stylesheets"]["split-address"]
    assert sheet.pop("file") == "split-address.xsl"
    sheet["content"] = "<xsl:stylesheet/>"
    found = planned(content, Directory())
    assert found.faults == ()
    assert [step.kind for step in found.steps if step.kind in ("rule", "asset")] == ["rule", "asset"]

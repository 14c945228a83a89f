"""One network with everything that a document can say: exported and applied, nothing of it changes.

A field that documents get later fails here until this network has it.
"""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from postroad.core.configuration.change_plan import ConfigurationPlan
from postroad.core.configuration.document import (
    NetworkDocument,
    OrganizationEntry,
    OrganizationLimitsProfile,
    ServiceEntry,
)
from postroad.core.configuration.entries.bindings import BindingEntry
from postroad.core.configuration.entries.rules import RuleEntry
from postroad.core.configuration.entries.subscriptions import SubscriptionEntry
from postroad.core.configuration.planner import directory_after
from postroad.core.configuration.profile.service import ReleaseProfile
from postroad.core.configuration.sections.organization import export_document
from postroad.core.configuration.yaml_text import as_yaml, from_yaml
from postroad.core.identity import api_key
from postroad.core.model.snapshot import Directory
from tests.samples.as2_scenario import certificate_pem
from tests.samples.cms_people import partner, stranger
from tests.samples.plans import planned
from tests.samples.service_profile import PROFILE
from tests.unit.core.configuration.profile.test_batching_profile import EVERYTHING
from tests.unit.core.configuration.test_plan_billing import STANDARD

pytestmark = pytest.mark.req("N13")

ODD = "two lines,\n  the second one indented:\tNO, 012, ~ and 'quotes' \u2028 \U0001f69a"
PUSH = PROFILE["push"] | {"backup": {"url": "https://b.example/", "authentication": "bearer", "secretFrom": "file:b"}}  # type: ignore[operator]
RULES: list[dict[str, Any]] = [
    {"name": "no", "role": "sender", "description": ODD, "enabled": False, "positions": {"sender": 1},
     "when": {"not": {"equalsOneOf": {"body": "/o:order/@id", "namespaces": {"o": "urn:o"}, "values": ["1", "on"]}}},
     "then": [{"addServiceAfter": "House/sheets", "arguments": {"stylesheet": "1e3"}, "topic": "t"}]},
    {"name": "yes", "when": "always", "then": [{"changeTopic": "b"}, {"redirect": "House/exchange"}]},
]  # fmt: skip
SERVICES: dict[str, dict[str, Any]] = {
    "pushed": {name: value for name, value in PROFILE.items() if name not in ("name", "logicalOnly")}
    | {
        "push": PUSH,
        "description": ODD,
        "release": {"everySeconds": 60, "whenWaiting": 9, "onRequest": True, "keepSeconds": 900},
        "routing": "dynamic",
        "returns": True,
        "wholeOnly": True,
        "indexes": {"z": {"header": "properties.region"}, "a": {"body": "/o:n", "namespaces": {"o": "urn:o"}}},
        "schemas": {"NO": {"content": ODD, "description": "012"}},
        "credentials": [
            {"label": "pass", "password": "fifteen letters"},
            {"label": "key", "key": api_key.make(bytes(32)).text},
            {"label": "tls", "certificate": certificate_pem(stranger())},
        ],
        "rules": RULES,
        "cookies": [{"from": "f" * 16, "content": ODD.replace("\u2028", ""), "contentType": "application/xml"}],
    },
    "partner": {
        "format": "as2",
        "delivery": "push",
        "push": {"url": "https://as2.example/", "authentication": "none"},
        "as2": {
            "name": "ACME", "ownName": "HOUSE", "certificates": [certificate_pem(partner())], "secretFrom": "env:A",
            "deliverTo": "House/pushed", "sign": "sha512", "encrypt": "aes128-gcm", "compress": "after", "mdn": "async",
            "mdnSigned": False, "mdnTimeoutSeconds": 60, "mustBeSigned": False, "mustBeEncrypted": True,
            "receiptUrls": ["https://as2.example/"],
        },
    },
    "virtual": {"logicalOnly": True},
    "sheets": {"hosted": "xslt", "stylesheets": {"1e3": {"content": "<x/>"}}},
    "lookup": {"hosted": "lookup", "tables": {"zip": {"content": "a,b\n1,2\n"}}},
    "filter": {"hosted": "filter", "lists": {"bad": {"content": "House\n"}}},
    "references": {"hosted": "crossreference", "maps": {"customers": {"content": "{}"}}},
    "judge": {
        "hosted": "validate",
        "dtds": {"d": {"content": "<!ELEMENT a EMPTY>"}},
        "jsonschemas": {"j": {"content": "{}"}},
    },
    "exchange": {
        "hosted": "exchange", "visibility": "public", "openTo": ["*"], "validates": "s",
        "schemas": {"s": {"content": "<xs:schema/>"}},
        "queries": {"q": {"content": "true()"}},
        "scripts": {"p": {"content": "def route(message):\n    return True\n"}},
        "bindings": {
            "by query": {"queue": "House/pushed", "query": "/order[@n = 1]\n", "description": ODD, "enabled": False},
            "by script": {"queue": "Other/hidden", "script": "def route(message):\n    return True\n"},
            "by routing": {"queue": "House/pushed", "routing": "q", "routingKey": "1_000"},
        },
    },
    "model": {"hosted": "model", "openTo": ["Other", "Other/hidden"]},
    "batcher": {"hosted": "batcher", "batching": EVERYTHING | {"sendsTo": "House/pushed", "empty": "nothing"},
                "windows": [{"opens": "22:00", "closes": "06:00"}]},
    "splitter": {
        "hosted": "splitter",
        "splitting": {"sendsTo": "House/pushed", "standard": "x12", "onEnvelopeError": "pass", "answersTo": "House/partner"},
    },
}  # fmt: skip
CONTENT: dict[str, Any] = {
    "postroad": 1,
    "organizations": {
        "House": {
            "description": ODD,
            "postsPerSecond": 9,
            "limits": {"messageBytes": 1, "storedBytes": 2, "queuedMessages": 3},
            "people": {"ann@house.example": {"name": "Ann ~", "role": "owner"}, "bob@house.example": {}},
            "services": SERVICES,
            "notifications": {
                "ops": {"channel": "email", "address": "ops@house.example", "events": ["dead-letter", "push.failing"]},
                "NO": {"channel": "slack", "address": "file:1e3", "leastSeverity": "error", "digestMinutes": 60},
            },
        },
        "Other": {"services": {"hidden": {}}},
        "XpandiCo": {"services": {"zipPlus4": {"visibility": "public"}}},
    },
    "billing": {
        "books": {"seller": "The network", "timeZone": "Europe/Berlin", "dueDays": 14},
        "tariffs": {"standard": [STANDARD]},
    },
    "notifications": {"net": {"channel": "message", "address": "House/pushed"}},
}
EVERY_FIELD: list[tuple[type[BaseModel], list[dict[str, Any]]]] = [
    (NetworkDocument, [CONTENT]),
    (OrganizationEntry, [CONTENT["organizations"]["House"]]),
    (OrganizationLimitsProfile, [CONTENT["organizations"]["House"]["limits"]]),
    (ServiceEntry, [*SERVICES.values()]),
    (ReleaseProfile, [SERVICES["pushed"]["release"]]),
    (RuleEntry, RULES),
    (BindingEntry, [*SERVICES["exchange"]["bindings"].values()]),
    (SubscriptionEntry, [*CONTENT["organizations"]["House"]["notifications"].values()]),
]


def planned_by_operators(content: dict[str, Any], directory: Directory, **options: Any) -> ConfigurationPlan:
    secrets = {f"/organizations/House/services/pushed/credentials/{number}": f"hash {number}" for number in range(2)}
    found = planned(content, directory, secrets=secrets, may_choose_ids=True, **options)
    assert found.faults == ()
    return found


@pytest.fixture(scope="module")
def network() -> Directory:
    return directory_after(Directory(), planned_by_operators(CONTENT, Directory()).steps)


@pytest.mark.parametrize(("shape", "written"), EVERY_FIELD)
def test_this_network_has_everything(shape: type[BaseModel], written: list[dict[str, Any]]) -> None:
    known = {field.alias or name for name, field in shape.model_fields.items()}
    assert known - {name for entry in written for name in entry} - {"gcid"} == set()


@pytest.mark.parametrize("prune", [False, True])
def test_applying_the_document_again_changes_nothing(network: Directory, prune: bool) -> None:
    assert planned_by_operators(CONTENT, network, prune=prune).steps == ()


@pytest.mark.parametrize("prune", [False, True])
def test_what_operators_export_changes_nothing(network: Directory, prune: bool) -> None:
    exported = export_document(network, ["House", "Other", "XpandiCo"], billing=True)
    for content in (exported, from_yaml(as_yaml(exported)), msgspec.json.decode(msgspec.json.encode(exported))):
        assert planned_by_operators(content, network, prune=prune).steps == ()


@pytest.mark.parametrize("prune", [False, True])
def test_what_members_export_changes_nothing_and_names_nobody_hidden(network: Directory, prune: bool) -> None:
    exported = as_yaml(export_document(network, ["House"], for_members=True))
    assert "Other/hidden" not in exported.replace("- Other/hidden", "")  # whom they have written themselves
    found = planned(from_yaml(exported), network, prune=prune)
    assert (found.steps, found.faults) == ((), ())


def test_what_is_exported_makes_the_same_network_elsewhere(network: Directory) -> None:
    exported = export_document(network, ["House", "Other", "XpandiCo"], billing=True, for_members=True)
    secrets = [{key: value for key, value in entry.items() if key != "kept"} for entry in _credentials(exported)]
    assert [sorted(entry) for entry in secrets] == [["kind", "label"]] * 3
    _credentials(exported)[:] = SERVICES["pushed"]["credentials"]
    elsewhere = directory_after(Directory(), planned_by_operators(exported, Directory()).steps)
    assert export_document(elsewhere, ["House", "Other", "XpandiCo"]) == export_document(
        network, ["House", "Other", "XpandiCo"]
    )


def _credentials(exported: dict[str, Any]) -> list[Any]:
    found: list[Any] = exported["organizations"]["House"]["services"]["pushed"]["credentials"]
    return found

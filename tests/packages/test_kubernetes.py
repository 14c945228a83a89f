"""The Kubernetes overlays: valid for the API, closed down, and what they start is a server that answers their probes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
import urllib.request
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import jsonschema
import pytest
import yaml

from postroad import __version__
from postroad.bootstrap.settings import Settings
from postroad.testing.server import COMMAND, ServerProcess
from tests.packages.kustomized import Resource, resolve
from tests.source_tree import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("embedded", "shared")
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "kubernetes-1.37.json").read_text())


def errors_of(resource: Resource) -> list[str]:
    kind = SCHEMA["kinds"][f"{resource['apiVersion']}/{resource['kind']}"]
    validator = jsonschema.Draft7Validator({"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]})
    return [f"{'/'.join(map(str, one.path))}: {one.message}" for one in validator.iter_errors(resource)]


def one(overlay: str, kind: str, name: str = "postroad") -> Resource:
    [found] = [
        resource
        for resource in resolve(FOLDER / "overlays" / overlay)
        if (resource["kind"], resource["metadata"]["name"]) == (kind, name)
    ]
    return found


def workload(overlay: str) -> Resource:
    return one(overlay, "StatefulSet" if overlay == "embedded" else "Deployment")


def pod(overlay: str) -> dict[str, Any]:
    spec: dict[str, Any] = workload(overlay)["spec"]["template"]["spec"]
    return spec


def container(overlay: str) -> dict[str, Any]:
    [found] = pod(overlay)["containers"]
    return dict(found)


def settings_of(overlay: str) -> dict[str, Any]:
    return tomllib.loads(one(overlay, "ConfigMap")["data"]["postroad.toml"])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_resource_is_valid_and_none_is_there_twice(overlay: str) -> None:
    found = resolve(FOLDER / "overlays" / overlay)
    assert [error for resource in found for error in errors_of(resource)] == []
    names = [(resource["kind"], resource["metadata"]["name"]) for resource in found]
    assert len(names) == len(set(names)) == 7


def test_the_check_sees_errors() -> None:
    wrong = workload("embedded")
    wrong["spec"]["replica"] = wrong["spec"].pop("replicas")
    wrong["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = "http"
    assert len(errors_of(wrong)) == 2


@pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl here")
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubectl_resolves_the_overlay_alike(overlay: str) -> None:
    command = ["kubectl", "kustomize", str(FOLDER / "overlays" / overlay)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    without_hash = re.sub(r"(\bname: postroad)-[a-z0-9]{10}$", r"\1", done.stdout, flags=re.M)

    def by_name(resources: list[Resource]) -> dict[tuple[str, str], Resource]:
        return {(item["kind"], item["metadata"]["name"]): item for item in resources}

    ours = by_name(resolve(FOLDER / "overlays" / overlay))
    assert by_name(list(yaml.safe_load_all(without_hash))) == ours


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_pod_has_no_rights_that_it_does_not_need(overlay: str) -> None:
    spec, own = pod(overlay), container(overlay)
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 65532
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert own["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = [mount["mountPath"] for mount in own["volumeMounts"] if not mount.get("readOnly")]
    assert writable == ["/data"]
    assert {mount["name"] for mount in own["volumeMounts"]} == {
        item["name"] for item in (*spec["volumes"], *[claim["metadata"] for claim in claims(overlay)])
    }


def claims(overlay: str) -> list[dict[str, Any]]:
    return list(workload(overlay)["spec"].get("volumeClaimTemplates", ()))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_ports_and_labels_lead_from_services_and_policies_to_the_pod(overlay: str) -> None:
    named = {port["name"] for port in container(overlay)["ports"]}
    labels = workload(overlay)["spec"]["template"]["metadata"]["labels"]
    for name in ("postroad", "postroad-metrics"):
        service = one(overlay, "Service", name)["spec"]
        assert service["selector"].items() <= labels.items()
        assert {port["targetPort"] for port in service["ports"]} <= named
    policy = one(overlay, "NetworkPolicy")["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= labels.items()
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == named
    assert one(overlay, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert container(overlay)["image"] == f"postroad:{__version__}"


def test_an_embedded_network_has_one_writer() -> None:
    assert workload("embedded")["spec"]["replicas"] == 1
    [claim] = claims("embedded")
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]


def test_both_overlays_start_the_same_container() -> None:
    embedded, shared = container("embedded"), container("shared")
    differ = {name for name in embedded.keys() | shared.keys() if embedded.get(name) != shared.get(name)}
    assert differ == {"env", "volumeMounts", "readinessProbe"}


def test_only_the_shared_overlay_reaches_a_database() -> None:
    ports = {
        overlay: {
            port["port"] for rule in one(overlay, "NetworkPolicy")["spec"]["egress"] for port in rule.get("ports", ())
        }
        for overlay in OVERLAYS
    }
    assert ports == {"embedded": {53}, "shared": {53, 5432}}


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_setting_exists(overlay: str) -> None:
    known = {field.name for field in fields(Settings)}
    named = set(settings_of(overlay))
    named |= {
        item["name"].removeprefix("POSTROAD_").removesuffix("_FILE").lower()
        for item in container(overlay).get("env", ())
    }
    assert named - known == set()


@pytest.mark.req("O7")
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_server_as_the_overlay_starts_it_answers_every_probe(
    overlay: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "postroad.toml").write_text(one(overlay, "ConfigMap")["data"]["postroad.toml"])
    secrets = {"postgres_address": "", "token_secret": "0f" * 32, "master_key": "5e" * 32}
    if overlay == "shared":
        secrets["postgres_address"] = request.getfixturevalue("postgres_database")
    for name, value in secrets.items():
        (tmp_path / name).write_text(value + "\n")
    variables = {item["name"]: str(tmp_path / Path(item["value"]).name) for item in container(overlay).get("env", ())}
    variables["POSTROAD_METRICS_LISTEN"] = "127.0.0.1:0"  # several tests run at a time
    arguments = [word.replace("/etc/postroad", str(tmp_path)) for word in container(overlay)["args"]]
    command = [*COMMAND[:-1], *arguments]
    with ServerProcess(tmp_path / "data", command=command, environment=variables) as server:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container(overlay)[probe]["httpGet"]["path"]
            answer = urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}")
            assert (probe, answer.status) == (probe, 200)
    assert os.path.exists(tmp_path / "data" / "operator.key")


def test_a_single_node_gets_requests_while_its_disk_is_nearly_full(tmp_path: Path) -> None:
    """Only polls and acknowledgments free space, and no other node could take them."""
    (tmp_path / "master_key").write_text("5e" * 32 + "\n")
    full = {"POSTROAD_LEAST_FREE_BYTES": str(1 << 62), "POSTROAD_MASTER_KEY_FILE": str(tmp_path / "master_key")}
    with ServerProcess(tmp_path / "data", environment=full) as server:
        with pytest.raises(HTTPError, match="507"):
            urllib.request.urlopen(f"http://127.0.0.1:{server.port}/readyz")
        path = container("embedded")["readinessProbe"]["httpGet"]["path"]
        assert urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}").status == 200

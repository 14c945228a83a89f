"""The Helm chart: rendered by a real Helm, it gives the same objects as the Kustomize overlays.

Where there is no Helm (``make helm`` builds one), only the values, their schema and the versions are checked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from postroad import __version__
from postroad.bootstrap.settings import Settings
from tests.packages.kustomized import Resource, resolve
from tests.packages.test_kubernetes import FOLDER, OVERLAYS, errors_of
from tests.source_tree import ROOT

CHART = ROOT / "deploy" / "helm" / "postroad"
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA: dict[str, Any] = json.loads((CHART / "values.schema.json").read_text())
BUILT = ROOT / "var" / "helm" / "helm"
HELM = os.environ.get("POSTROAD_HELM") or shutil.which("helm") or (str(BUILT) if BUILT.is_file() else "")
INSTANCE = "app.kubernetes.io/instance"
CHECKSUM = "postroad.settings/sha256"
ByName = dict[tuple[str, str], Resource]

needs_helm = pytest.mark.skipif(not HELM, reason="there is no helm here; `make helm` builds one with Go")


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [HELM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def render(*sets: str, release: str = "postroad") -> ByName:
    given = [word for one in sets for word in ("--set-json", one)]
    done = helm("template", release, str(CHART), "--kube-version", "1.33.0", *given)
    assert done.returncode == 0, done.stderr
    found = [one for one in yaml.safe_load_all(done.stdout) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in found}


def without_additions(node: Any) -> Any:
    """Remove what only the chart has: the label with the release's name, and the checksum that restarts pods."""
    if isinstance(node, dict):
        kept = {name: without_additions(value) for name, value in node.items() if name not in (INSTANCE, CHECKSUM)}
        return {name: value for name, value in kept.items() if (name, value) != ("annotations", {})}
    return [without_additions(below) for below in node] if isinstance(node, list) else node


def take_settings(objects: ByName) -> dict[str, Any]:
    return tomllib.loads(objects.pop(("ConfigMap", "postroad"))["data"]["postroad.toml"])


def test_the_chart_has_the_version_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


@pytest.mark.parametrize("mode", OVERLAYS)
def test_the_values_fit_their_schema(mode: str) -> None:
    jsonschema.validate(VALUES | {"mode": mode}, SCHEMA)
    assert VALUES.keys() == SCHEMA["properties"].keys() - {"global"}
    assert VALUES["settings"].keys() <= {field.name for field in fields(Settings)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "both"},
        {"replicaCount": 3},
        {"replicas": 0},
        {"settings": {"acceptance": "shared"}},
        {"settings": {"metrics_listen": ""}},
        {"storage": {"accessMode": "ReadWriteMany"}},
    ],
)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(VALUES | wrong, SCHEMA)


@needs_helm
@pytest.mark.parametrize("mode", OVERLAYS)
def test_helm_finds_no_mistake(mode: str) -> None:
    done = helm("lint", "--strict", str(CHART), "--kube-version", "1.33.0", "--set", f"mode={mode}")
    assert done.returncode == 0, done.stdout + done.stderr


@needs_helm
def test_helm_finds_a_mistake(tmp_path: Path) -> None:
    wrong = shutil.copytree(CHART, tmp_path / "postroad") / "templates" / "service.yaml"
    wrong.write_text(wrong.read_text().replace("{{ .Release.Name }}", "{{ .Release.Nme | required }}"))
    assert helm("lint", "--strict", str(wrong.parents[1])).returncode != 0
    assert "replicaCount" in helm("template", str(CHART), "--kube-version", "1.33.0", "--set", "replicaCount=3").stderr


@pytest.mark.req("O7")
@needs_helm
@pytest.mark.parametrize("mode", OVERLAYS)
def test_the_chart_gives_the_objects_of_the_overlay(mode: str) -> None:
    rendered = render(f'mode="{mode}"')
    assert [error for one in rendered.values() for error in errors_of(one)] == []
    overlay = {(one["kind"], one["metadata"]["name"]): one for one in resolve(FOLDER / "overlays" / mode)}
    assert take_settings(rendered) == take_settings(overlay)
    assert without_additions(list(rendered.values())) != list(rendered.values())
    assert {name: without_additions(one) for name, one in rendered.items()} == overlay


@needs_helm
def test_values_reach_the_objects() -> None:
    given = (
        'settings={"push_timeout_s":30,"memory_most_share":0.5,"least_free_bytes":1073741824}',
        'secretName="keys"',
    )
    rendered = render(*given, 'storage={"className":"fast","size":"5Gi"}', 'image={"tag":"9.9"}', "resources={}")
    settings = take_settings(rendered)
    assert (settings["push_timeout_s"], settings["memory_most_share"]) == (30, 0.5)
    assert settings["least_free_bytes"] == 1 << 30
    spec = rendered["StatefulSet", "postroad"]["spec"]
    pod = spec["template"]["spec"]
    assert pod["containers"][0]["image"] == "postroad:9.9"
    assert pod["volumes"][1]["secret"]["secretName"] == "keys"
    assert spec["volumeClaimTemplates"][0]["spec"]["storageClassName"] == "fast"


@needs_helm
def test_new_settings_restart_the_pods() -> None:
    def checksum(*sets: str) -> str:
        template = render(*sets)["StatefulSet", "postroad"]["spec"]["template"]
        return str(template["metadata"]["annotations"][CHECKSUM])

    assert checksum() == checksum() != checksum('settings={"push_timeout_s":30}')


@needs_helm
def test_two_releases_share_nothing() -> None:
    one, two = render(release="orders"), render(release="invoices")
    assert one.keys().isdisjoint(two)
    for release, objects in (("orders", one), ("invoices", two)):
        selector = objects["Service", release]["spec"]["selector"]
        assert selector[INSTANCE] == release
        pods = objects["StatefulSet", release]["spec"]["template"]["metadata"]["labels"]
        assert selector.items() <= pods.items()

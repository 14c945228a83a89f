"""The Compose file: valid, with secrets as files, and its server starts on a PostgreSQL with these settings and secrets."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
import yaml

from postroad import __version__
from postroad.adapters.master_keys import read_master_keys
from postroad.bootstrap.settings import Settings, read_settings
from postroad.testing.server import ServerProcess
from tests.samples.prometheus import run as run_prometheus
from tests.source_tree import ROOT

DEPLOY = ROOT / "deploy"
SCHEMA = json.loads((Path(__file__).parent / "schemas" / "compose-spec.json").read_text())
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def errors_of(document: Any) -> list[str]:
    return [one.message for one in jsonschema.Draft202012Validator(SCHEMA).iter_errors(document)]


def make_secrets(folder: Path) -> Path:
    """Run the script that the file names, in a folder of its own; return the secrets."""
    shutil.copyfile(DEPLOY / "make-secrets", folder / "make-secrets")
    subprocess.run(["sh", "make-secrets"], cwd=folder, check=True, capture_output=True)
    return folder / "secrets"


def variables(secrets: Path) -> dict[str, str]:
    """The server's variables with their defaults, and with the secrets where they are here."""
    given = COMPOSE["services"]["server"]["environment"]
    plain = {name: re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", value) for name, value in given.items()}
    return {name: value.replace("/run/secrets", str(secrets)) for name, value in plain.items()}


def test_the_file_is_valid_and_the_check_sees_errors() -> None:
    assert errors_of(COMPOSE) == []
    wrong = json.loads(json.dumps(COMPOSE))
    wrong["services"]["server"]["healthchecks"] = {}
    assert errors_of(wrong)


def test_every_setting_exists() -> None:
    known = {f"POSTROAD_{field.name.upper()}" for field in fields(Settings)}
    given = COMPOSE["services"]["server"]["environment"]
    assert [name for name in given if name.removesuffix("_FILE") not in known] == []
    assert COMPOSE["services"]["server"]["image"] == f"${{POSTROAD_IMAGE:-postroad:{__version__}}}"


def test_secrets_are_files_and_no_variable_holds_one(tmp_path: Path) -> None:
    used = {name for service in COMPOSE["services"].values() for name in service.get("secrets", ())}
    assert used == COMPOSE["secrets"].keys()
    made = {path.name for path in make_secrets(tmp_path).iterdir()}
    assert {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()} == made
    given = [str(service.get("environment", "")) for service in COMPOSE["services"].values()]
    assert [text for text in given if "://postroad:" in text] == []


def test_every_service_reports_its_health_and_comes_back() -> None:
    assert {name for name, service in COMPOSE["services"].items() if "test" in service["healthcheck"]} == set(
        COMPOSE["services"]
    )
    assert {service["restart"] for service in COMPOSE["services"].values()} == {"unless-stopped"}


def test_ports_are_open_to_this_machine_only() -> None:
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", ())]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_secrets_are_made_once_and_only_their_owner_reaches_them(tmp_path: Path) -> None:
    secrets = make_secrets(tmp_path)
    before = {path.name: path.read_text() for path in secrets.iterdir()}
    assert {path.name: path.read_text() for path in make_secrets(tmp_path).iterdir()} == before
    assert secrets.stat().st_mode & 0o777 == 0o700
    address = urlsplit(before["postgres_address"].strip())
    database = COMPOSE["services"]["database"]["environment"]
    assert (address.username, address.hostname, address.path) == (
        database["POSTGRES_USER"], "database", f"/{database['POSTGRES_DB']}",
    )  # fmt: skip
    assert address.password == before["postgres_password"].strip()
    assert len(address.password) == 64


def test_prometheus_scrapes_the_server_under_the_name_that_the_alerts_use() -> None:
    [job] = yaml.safe_load(COMPOSE["configs"]["prometheus"]["content"])["scrape_configs"]
    listens = COMPOSE["services"]["server"]["environment"]["POSTROAD_METRICS_LISTEN"]
    assert job["job_name"] == "postroad"
    assert job["static_configs"] == [{"targets": [f"server:{listens.rpartition(':')[2]}"]}]


def test_prometheus_alerts_the_alertmanager(tmp_path: Path) -> None:
    """With its rules, as promtool reads them."""
    content = COMPOSE["configs"]["prometheus"]["content"]
    [address] = yaml.safe_load(content)["alerting"]["alertmanagers"][0]["static_configs"][0]["targets"]
    name, _, port = address.partition(":")
    assert [f"127.0.0.1:{port}:{port}"] == COMPOSE["services"][name]["ports"]
    for mounted in (mount for mount in COMPOSE["services"]["prometheus"]["volumes"] if mount.startswith("./")):
        source, target, _ = mounted.split(":")
        shutil.copyfile(DEPLOY / source, tmp_path / Path(target).name)
    (tmp_path / "prometheus.yml").write_text(content)
    assert "SUCCESS" in run_prometheus("promtool", "check", "config", str(tmp_path / "prometheus.yml"))


def test_every_file_that_is_mounted_exists() -> None:
    mounts = [mount for service in COMPOSE["services"].values() for mount in service.get("volumes", ())]
    files = [DEPLOY / mount.partition(":")[0] for mount in mounts if mount.startswith("./")]
    assert [file for file in files if not file.exists()] == []
    assert {file.name for file in files} == {"postroad.rules.yml", "alertmanager.yml", "grafana"}
    volumes = {mount.partition(":")[0] for mount in mounts if not mount.startswith("./")}
    assert volumes == COMPOSE["volumes"].keys()


def test_grafana_shows_the_dashboards_from_prometheus() -> None:
    [source] = yaml.safe_load(COMPOSE["configs"]["grafana_source"]["content"])["datasources"]
    [provider] = yaml.safe_load(COMPOSE["configs"]["grafana_dashboards"]["content"])["providers"]
    assert source["type"] == "prometheus"
    assert COMPOSE["services"][urlsplit(source["url"]).hostname]["ports"] == ["127.0.0.1:9090:9090"]
    assert f"./grafana:{provider['options']['path']}:ro" in COMPOSE["services"]["grafana"]["volumes"]
    dashboards = [json.loads(file.read_text()) for file in (DEPLOY / "grafana").iterdir()]
    assert len({dashboard["uid"] for dashboard in dashboards}) == 2
    for dashboard in dashboards:
        [variable] = [one for one in dashboard["templating"]["list"] if one["type"] == "datasource"]
        assert variable["query"] == source["type"]  # so it selects the default source by itself


def test_the_settings_are_consistent(tmp_path: Path) -> None:
    settings = read_settings(environment=variables(make_secrets(tmp_path)), file=None)
    assert (settings.acceptance, settings.index, len(settings.secret)) == ("shared", "postgres", 64)
    assert read_master_keys("", settings.master_key_file, "") is not None
    assert settings.metrics_listen == "0.0.0.0:9470"


@pytest.mark.req("O7")
def test_the_server_starts_with_these_settings_and_secrets(tmp_path: Path, postgres_database: str) -> None:
    secrets = make_secrets(tmp_path)
    address = secrets / "postgres_address"
    address.chmod(0o600)
    address.write_text(postgres_database + "\n")  # the database of this test
    given = variables(secrets) | {"POSTROAD_METRICS_LISTEN": "127.0.0.1:0"}  # several tests run at a time
    with ServerProcess(tmp_path / "data", environment=given) as server:
        assert check_health(server, POSTROAD_ACCEPTANCE="shared") == 0


def check_health(server: ServerProcess, **variables: str) -> int:
    command = [sys.executable, str(DEPLOY / "container" / "healthy.py")]
    given = {"POSTROAD_PORT": str(server.port), "PATH": "/usr/bin:/bin"} | variables
    return subprocess.run(command, env=given, check=False).returncode


def test_a_single_node_is_healthy_while_its_disk_is_nearly_full(tmp_path: Path) -> None:
    """Swarm restarts an unhealthy container, and proxies stop sending it the acknowledgments that free space."""
    with ServerProcess(tmp_path / "data", environment={"POSTROAD_LEAST_FREE_BYTES": str(1 << 62)}) as server:
        assert (check_health(server), check_health(server, POSTROAD_ACCEPTANCE="shared")) == (0, 1)

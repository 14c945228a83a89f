"""Push settings that cannot work are refused or warned of when they are saved, and doctor reports them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from postroad.bootstrap.pushes import find_unreachable_services
from postroad.bootstrap.secrets import open_operator_secrets
from postroad.bootstrap.settings import Settings
from postroad.client import Access, Client
from postroad.core.model.directory import DeliveryMode, Push, PushAuthentication, Service
from postroad.errors import Refused
from tests.samples.served_network import json_lines, postroad, served, succeeded


def document(folder: Path, url: str, **push: Any) -> Path:
    service = {"delivery": "push", "push": {"url": url, "authentication": "none"} | push}
    file = folder / "network.yaml"
    file.write_text(json.dumps({"postroad": 1, "organizations": {"Acme": {"services": {"Supply": service}}}}))
    return file


@pytest.mark.req("N4")
def test_push_settings_are_checked_before_a_message_depends_on_them(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        data = ("--data", network.data)
        for url in ("https://2130706433/in", "http://acme.example/in", "https://10.0.0.1/in"):
            for how in ("--dry-run", "--yes"):
                refused = postroad("apply", document(tmp_path, url), how, *data)
                assert refused.returncode == 3, refused.stderr
                assert "/organizations/Acme/services/Supply/push/url" in refused.stderr
        signed = document(tmp_path, "https://acme.example/in", authentication="signature", secretFrom="file:supply")
        said = succeeded("apply", signed, "--yes", *data)
        assert "warning: /organizations/Acme/services/Supply/push/secretFrom: file:supply" in said
        [planned] = json_lines(
            postroad("apply", document(tmp_path, "https://acme.example/"), "--dry-run", "--json", *data).stdout
        )
        assert planned["warnings"] == []
        key = (network.data / "operator.key").read_text().strip()
        with Client(access=Access.with_key(network.url, key)) as operator:
            push = {"url": "https://10.0.0.1/", "authentication": "none"}
            wish = {"organization": "Acme", "name": "Other", "delivery": "push", "push": push}
            with pytest.raises(Refused) as failure:
                operator.change("POST", "/v1/services", wish)
            assert failure.value.code == "value.invalid"
            problems = operator.get("/v1/services/Acme/Supply/push")["problems"]
            assert [one.partition(":")[0] for one in problems] == ["push/secretFrom"]
        assert "# Problem: push/secretFrom" in succeeded("services", "show", "Acme/Supply", *data)
    told = postroad("doctor", "--data", tmp_path / "data").stdout
    assert "secrets: Acme/Supply: file:supply" in told
    assert "pushes: " in told


async def test_doctor_names_services_that_cannot_be_reached() -> None:
    push = Push(url="https://127.0.0.1/in", authentication=PushAuthentication.NONE)
    service = Service(gcid="0" * 16, organization="Acme", name="Supply", delivery=DeliveryMode.PUSH, push=push)
    [(found, told)] = await find_unreachable_services(Settings(), open_operator_secrets(Settings()), [service])
    assert found is service
    assert told.startswith("push/url: 127.0.0.1 cannot be pushed to")
    allowing = Settings(push_allow_private=("127.0.0.0/8",))
    assert await find_unreachable_services(allowing, open_operator_secrets(allowing), [service]) == []

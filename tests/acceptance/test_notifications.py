"""Notifications of a served network: command line, API, configuration as code, and e-mail by a real mail server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import yaml

from postroad.client import Access, Client
from tests.samples.mail_server import RunningMailServer, mail_server
from tests.samples.push_receiver import receiver
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded
from tests.waiting import eventually

NEW_PASSWORD = "seven quiet herons wading"
FORGOTTEN = {"email": "owner@acme.example"}


@contextmanager
def mailing(tmp_path: Path) -> Iterator[tuple[Served, RunningMailServer]]:
    """A served network with a mail server and push destinations on this machine, and the organization Acme."""
    with mail_server() as server:
        mail = ("--set", f"smtp_url={server.url}", "--set", "smtp_from=hub@hub.example")
        allowed = ("--set", "push_allow_private=127.0.0.0/8")
        with served(tmp_path / "data", *mail, *allowed) as network:
            network.register("Acme/Supply", "Globex/Buyer")
            with operator(network) as client:
                client.change(
                    "POST", "/v1/organizations/Acme/members", {"email": "owner@acme.example", "role": "owner"}
                )
            yield network, server


def operator(network: Served) -> Client:
    return Client(access=Access.with_key(network.url, (network.data / "operator.key").read_text().strip()))


def cli(network: Served, *arguments: str) -> str:
    return succeeded("notifications", *arguments, "--data", network.data)


@pytest.mark.req("O8")
def test_a_dead_letter_reaches_its_owners_by_email_and_webhook(tmp_path: Path) -> None:
    with receiver() as hooks, mailing(tmp_path) as (network, server):
        assert "No one is notified" in cli(network, "list", "--organization", "Acme")
        added = cli(
            network, "add", "ops", "--email", "ops@acme.example", "--event", "dead-letter", "--organization", "Acme"
        )
        assert "ops: dead-letter by email to ops@acme.example" in added
        hook = cli(network, "add", "hook", "--webhook", hooks.url("/hook"), "--organization", "Acme", "--json")
        assert json.loads(hook)["secret"].startswith("whsec_")
        assert "the test was sent" in cli(network, "test", "ops", "--organization", "Acme")
        assert server.boxes.wait_for("ops@acme.example")["subject"] == "[postroad] Test: ops"

        with network.client("Globex/Buyer") as buyer:
            buyer.post(to="Acme/Supply", document="<order/>")
        with network.client("Acme/Supply") as supply:
            for _ in range(20):
                [delivered] = supply.poll(wait_s=10)
                supply.give_back(delivered)
            assert supply.poll() == []
        letter = server.boxes.wait_for("ops@acme.example", 2)
        assert letter["subject"] == "[postroad] Dead letters: Acme/Supply, not-acknowledged"
        [pushed] = hooks.wait_for("/hook")
        assert json.loads(pushed.body)["event"] == "dead-letter"

        def was_sent() -> bool:
            return all(
                one["state"]["sentAt"] for one in json_lines(cli(network, "list", "--organization", "Acme", "--json"))
            )

        eventually(was_sent, why="the state does not show what was sent")
        link = re.fullmatch(r"<(.*)>", letter["list-unsubscribe"])
        assert link is not None
        page = httpx2.get(link[1])
        assert "Send no more notifications" in page.text
        ended = httpx2.post(link[1], data={"List-Unsubscribe": "One-Click"})
        assert (ended.status_code, "receives no more notifications" in ended.text) == (200, True)
        assert "hook" in (listed := cli(network, "list", "--organization", "Acme"))
        assert "ops@acme.example" not in listed
        assert httpx2.post(link[1]).status_code == 404
        assert "removed" in cli(network, "remove", "hook", "--organization", "Acme")


def test_what_can_be_wrong_is_said(tmp_path: Path) -> None:
    with mailing(tmp_path) as (network, server):
        server.boxes.refused["gone@hub.example"] = "550 no such mailbox"
        cli(network, "add", "net", "--email", "gone@hub.example")
        failed = postroad("notifications", "test", "net", "--data", network.data)
        assert failed.returncode != 0
        assert "550 no such mailbox" in failed.stderr
        wrong = postroad(
            "notifications", "add", "x", "--email", "a@b.example", "--event", "dead-leter", "--data", network.data
        )
        assert "'dead-leter' does not exist" in wrong.stderr
        both = postroad(
            "notifications",
            "add",
            "x",
            "--email",
            "a@b.example",
            "--slack",
            "https://x.example",
            "--data",
            network.data,
        )
        assert "Choose one channel" in both.stderr
        foreign = postroad(
            "notifications", "add", "x", "--message", "Globex/Buyer", "--organization", "Acme", "--data", network.data
        )
        assert "not a service of this organization" in foreign.stderr
        assert "disk.low" in cli(network, "events")


def test_subscriptions_are_configuration_as_code(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        network.register("Acme/Supply")
        document = {
            "postroad": 1,
            "organizations": {
                "Acme": {
                    "services": {"Alerts": {}, "Supply": {"visibility": "public"}},
                    "notifications": {
                        "alerts": {"channel": "message", "address": "Acme/Alerts"},
                        "ops": {"channel": "email", "address": "ops@acme.example", "digestMinutes": 60},
                    },
                }
            },
            "notifications": {"net": {"channel": "slack", "address": "file:slack", "leastSeverity": "warning"}},
        }
        file = tmp_path / "network.yaml"
        file.write_text(json.dumps(document))
        succeeded("apply", file, "--yes", "--data", network.data)
        exported = yaml.safe_load(succeeded("export", "--data", network.data))
        assert exported["organizations"]["Acme"]["notifications"] == document["organizations"]["Acme"]["notifications"]  # type: ignore[index]
        assert exported["notifications"] == document["notifications"]
        again = tmp_path / "again.yaml"
        again.write_text(json.dumps(exported))
        assert "Nothing to change" in succeeded("apply", again, "--yes", "--prune", "--data", network.data)

        acme: dict[str, object] = document["organizations"]["Acme"]  # type: ignore[index]
        acme["notifications"] = {"ops": {"channel": "email", "address": "ops@acme.example"}}
        file.write_text(json.dumps(document))
        planned = succeeded("apply", file, "--yes", "--prune", "--reset", "--data", network.data)
        assert "Acme: notifications alerts" in planned
        assert "digestMinutes" in planned
        earlier = tmp_path / "earlier.yaml"  # as written before there were notifications
        exported["organizations"]["Acme"].pop("notifications")
        exported.pop("notifications")
        earlier.write_text(json.dumps(exported))
        succeeded("apply", earlier, "--yes", "--prune", "--data", network.data)
        assert "ops@acme.example" in cli(network, "list", "--organization", "Acme")

        acme["notifications"] = {"x": {"channel": "message", "address": "Globex/Desk"}}
        file.write_text(json.dumps(document))
        refused = postroad("apply", file, "--yes", "--data", network.data)
        assert "Globex/Desk is not a service of this organization" in refused.stderr + refused.stdout


def test_invitations_and_new_passwords_by_email(tmp_path: Path) -> None:
    with mailing(tmp_path) as (network, server):
        invitation = server.boxes.wait_for("owner@acme.example")
        key = re.search(r"/welcome\?key=(\S+)", invitation.get_content())
        assert key is not None
        with httpx2.Client(base_url=network.url) as browser:
            welcomed = browser.post("/welcome", data={"key": key[1], "password": "another long password"})
            assert welcomed.status_code == 303
            assert browser.get("/account").status_code == 200

            for email in ("owner@acme.example", "nobody@acme.example"):
                asked = httpx2.post(f"{network.url}/v1/password-reset", json={"email": email})
                assert (asked.status_code, asked.content) == (204, b"")
            mail = server.boxes.wait_for("owner@acme.example", 2)
            link = re.search(r"/password/reset\?key=(\S+)", mail.get_content())
            assert link is not None
            assert server.boxes.to("nobody@acme.example") == []
            authorized = httpx2.get(f"{network.url}/v1/account", headers={"Authorization": f"Bearer {link[1]}"})
            assert authorized.status_code == 401  # the link's key sets a password, and is good for nothing else

            assert (
                "Choose a new password for owner@acme.example"
                in httpx2.get(f"{network.url}/password/reset?key={link[1]}").text
            )
            wish = {"key": link[1], "password": NEW_PASSWORD}
            assert httpx2.post(f"{network.url}/v1/password-reset/password", json=wish).status_code == 204
            assert httpx2.post(f"{network.url}/v1/password-reset/password", json=wish).status_code == 401
            assert browser.get("/account").status_code == 303  # the old login has ended
        login = {"email": "owner@acme.example", "password": NEW_PASSWORD}
        assert httpx2.post(f"{network.url}/v1/login", json=login).status_code == 200


def test_requests_for_a_new_password_are_limited_and_need_a_mail_server(tmp_path: Path) -> None:
    with mailing(tmp_path) as (network, _):
        asked = [httpx2.post(f"{network.url}/v1/password-reset", json=FORGOTTEN).status_code for _ in range(11)]
        assert asked == [204] * 10 + [429]
        page = httpx2.get((network.data / "metrics-url").read_text().strip()).text
        assert 'postroad_rate_limited_total{what="mail"} 1\n' in page
    with served(tmp_path / "without") as network:
        refused = httpx2.post(f"{network.url}/v1/password-reset", json=FORGOTTEN)
        assert (refused.status_code, refused.json()["code"]) == (409, "mail.unavailable")
        assert "This network sends no e-mail" in httpx2.get(f"{network.url}/password/forgotten").text

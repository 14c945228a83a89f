"""A pause of pushes from a real server to a real receiver: seen on the command line and over HTTP, and ended by a try at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from postroad.errors import Refused
from tests.acceptance.test_store_and_forward import LOOPBACK, MYBIZ, OTHER, path_of, sent, stops
from tests.samples.push_receiver import Answer, receiver
from tests.samples.served_network import served, succeeded
from tests.waiting import eventually

ACME = "TheAcmeCompany/Supply"


@pytest.mark.req("D3")
def test_a_pause_is_shown_and_a_try_at_once_ends_it(tmp_path: Path) -> None:
    with receiver() as receiving, served(tmp_path / "data", *LOOPBACK) as network:
        network.register(MYBIZ, ACME, OTHER)
        push = {"url": receiving.url(path_of(ACME)), "authentication": "none", "tries": 50, "retryIntervalSeconds": 1}
        wish = {"visibility": "public", "delivery": "push", "push": push}
        file = tmp_path / "network.yaml"
        file.write_text(
            json.dumps({"postroad": 1, "organizations": {"TheAcmeCompany": {"services": {"Supply": wish}}}})
        )
        succeeded("apply", file, "--yes", "--reset", "--data", network.data)
        receiving.answers[path_of(ACME)] = lambda _: Answer(status=500)
        with network.client(MYBIZ) as mybiz, network.client(OTHER) as other:
            sessions = sent(mybiz, ACME, "1", "2", "3")
            eventually(lambda: stops(mybiz, sessions[0])[0].paused is not None)
            shown = succeeded("services", "show", ACME, "--data", network.data)
            assert "# Pushes are paused until " in shown
            assert "5 of the last 5 pushes failed" in shown
            assert "pushes are paused until " in succeeded("trace", sessions[2], "--data", network.data)
            assert "are paused because 5 of the last 5" in succeeded("find", sessions[2], "--data", network.data)
            said = succeeded("services", "try-push", ACME, "--data", network.data)
            assert said == f"{ACME}: the push of session {sessions[0]} failed: the receiver answered 500\n"
            for stranger in (mybiz, other):
                with pytest.raises(Refused):
                    stranger.change("POST", f"/v1/services/{ACME}/push/try")
            receiving.answers.pop(path_of(ACME))
            said = succeeded("services", "try-push", ACME, "--data", network.data)
            assert said == f"{ACME}: delivered session {sessions[0]}; the other waiting messages follow\n"
            eventually(lambda: all(stops(mybiz, one)[0].state == "delivered" for one in sessions))
            assert mybiz.trace(sessions[0]).messages[0].copies[0].stops[0].paused is None
        said = succeeded("services", "try-push", ACME, "--data", network.data)
        assert said == f"{ACME}: nothing was pushed: no message is waiting\n"

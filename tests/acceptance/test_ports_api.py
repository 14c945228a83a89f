"""Send ports and splitters through the API: made, read as they were written, and refused at the place that is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.acceptance.asking import Asked, asked_network

PORT: dict[str, Any] = {
    "sendsTo": "Aster/Out",
    "standard": "x12",
    "sender": "ASTER",
    "receiver": "BIRCH",
    "envelope": {"senderQualifier": "ZZ", "usage": "T"},
    "count": 100,
    "cron": ["0 18 * * 1-5"],
    "takes": {"not": {"equals": {"header": "topic", "value": "urgent"}}},
    "sortBy": [{"body": "$.total", "type": "number", "descending": True}],
}


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        made = await network.ask("developer of A", "POST", "/v1/services", {"organization": "Aster", "name": "Out"})
        assert made.status_code == 201
        yield network


def batcher(section: dict[str, Any]) -> dict[str, Any]:
    return {"organization": "Aster", "name": "Batches", "hosted": "batcher", "batching": section}


@pytest.mark.req("B1")
async def test_a_send_port_is_read_as_it_was_written_and_changed(asked: Asked) -> None:
    made = await asked.ask("developer of A", "POST", "/v1/services", batcher(PORT))
    assert made.status_code == 201, made.text
    read = (await asked.ask("viewer of A", "GET", "/v1/services/Aster/Batches")).json()
    assert (read["hosted"], read["batching"], read["splitting"]) == ("batcher", PORT, None)

    change = {"name": "Batches", "hosted": "batcher", "batching": PORT | {"count": 5}}
    changed = await asked.ask("developer of A", "PUT", "/v1/services/Aster/Batches", change, match=made.headers["etag"])
    assert changed.status_code == 200, changed.text
    assert changed.json()["batching"]["count"] == 5


@pytest.mark.req("B1")
async def test_everything_wrong_with_a_port_is_told_at_once(asked: Asked) -> None:
    wrong = PORT | {"sendsTo": "Aster/Nobody", "cron": ["never"], "standard": "runes"}

    refused = await asked.ask("developer of A", "POST", "/v1/services", batcher(wrong))

    assert (refused.status_code, refused.json()["code"]) == (422, "batching.invalid")
    places = [error["pointer"] for error in refused.json()["errors"]]
    assert places == ["/batching/sendsTo", "/batching/cron", "/batching/standard"]
    assert (await asked.ask("viewer of A", "GET", "/v1/services/Aster/Batches")).status_code == 404


@pytest.mark.req("B10")
async def test_a_splitter_is_read_as_it_was_written(asked: Asked) -> None:
    section = {"sendsTo": "Aster/Out", "standard": "x12", "onEnvelopeError": "repair", "options": {"answer": "999"}}
    wanted = {"organization": "Aster", "name": "In", "hosted": "splitter", "splitting": section}

    made = await asked.ask("developer of A", "POST", "/v1/services", wanted)

    assert made.status_code == 201, made.text
    assert made.json()["splitting"] == section
    form = await asked.ask("developer of A", "POST", "/v1/services", wanted | {"splitting": {}, "name": "Other"})
    assert (form.status_code, form.json()["errors"][0]["pointer"]) == (422, "/splitting/sendsTo")


@pytest.mark.req("B7")
async def test_a_backup_place_is_read_as_it_was_written(asked: Asked) -> None:
    place = {"authentication": "none", "username": "", "secretFrom": "", "tries": 2, "retryIntervalSeconds": 5}
    push = place | {"url": "https://a.example/in", "backup": place | {"url": "https://b.example/in"}}
    wanted = {"organization": "Aster", "name": "Pushed", "delivery": "push", "push": push}

    made = await asked.ask("developer of A", "POST", "/v1/services", wanted)

    assert made.status_code == 201, made.text
    assert made.json()["push"] == push
    same = push | {"backup": place | {"url": "https://a.example/in"}}
    refused = await asked.ask("developer of A", "POST", "/v1/services", wanted | {"name": "Other", "push": same})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/push")
    deeper = push | {"backup": push}
    refused = await asked.ask("developer of A", "POST", "/v1/services", wanted | {"name": "Other", "push": deeper})
    assert refused.json()["errors"][0]["pointer"] == "/push/backup/backup"

"""Assets over HTTP: files in, files out, compiled before they are saved, and every version on record."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import httpx2
import pytest

from postroad.api.application import build_application
from postroad.bootstrap.settings import Settings
from postroad.core.configuration.document import DocumentError
from postroad.core.model.asset import AssetDraft, Hosting
from tests.acceptance.asking import Asked, asked_network

TABLES = "/v1/services/Aster/Zip/assets/table"
CSV = "zip,zip4\r\n02138,02138-1234\r\n"


async def faults_in(draft: AssetDraft) -> Sequence[DocumentError]:
    """What a compiler would say."""
    bad = [number for number, line in enumerate(draft.asset.content.splitlines(), 1) if "?" in line]
    return [DocumentError(f"line {number}", "a question mark is no value") for number in bad]


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        await network.running.register("Aster/Zip", hosted=Hosting.LOOKUP)
        running = network.running
        app = build_application(
            running.network,
            running.authenticator,
            running.passwords,
            Settings(),
            requests_per_s=0,
            asset_faults=faults_in,
        )
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://network.example") as client:
            network.client = client
            yield network


async def put(
    asked: Asked, path: str, content: str | bytes = CSV, kind: str = "text/csv", who: str = "developer of A",
    **headers: str,
) -> httpx2.Response:  # fmt: skip
    given = {"Authorization": f"Bearer {asked.keys[who]}", "Content-Type": kind} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    return await asked.client.put(
        path, content=content if isinstance(content, bytes) else content.encode(), headers=given
    )


@pytest.mark.req("S2", "N13")
async def test_a_table_is_saved_read_replaced_and_removed(asked: Asked) -> None:
    made = await put(asked, f"{TABLES}/codes?description=all+of+them")
    assert (made.status_code, made.json()["bytes"], made.json()["description"]) == (201, len(CSV), "all of them")
    read = await asked.ask("viewer of A", "GET", f"{TABLES}/CODES")
    assert (read.text, read.headers["content-type"]) == (CSV, "text/csv; charset=utf-8")
    assert read.headers["content-disposition"] == "attachment"
    blind = await put(asked, f"{TABLES}/codes")
    assert (blind.status_code, blind.json()["code"]) == (428, "version.required")
    stale = await put(asked, f"{TABLES}/codes", If_None_Match="*")
    assert (stale.status_code, stale.json()["code"]) == (412, "version.conflict")
    changed = await put(asked, f"{TABLES}/codes", "zip,zip4\n", If_Match=read.headers["etag"])
    assert (changed.status_code, changed.json()["description"]) == (200, "all of them")
    again = await put(asked, f"{TABLES}/codes", If_Match=read.headers["etag"])
    assert (again.status_code, again.json()["code"]) == (412, "version.conflict")
    [listed] = (await asked.ask("viewer of A", "GET", "/v1/services/Aster/Zip/assets?kind=table")).json()["items"]
    assert listed == changed.json()
    removed = await asked.ask("developer of A", "DELETE", f"{TABLES}/codes", match=changed.headers["etag"])
    assert removed.status_code == 204
    assert (await asked.ask("viewer of A", "GET", f"{TABLES}/codes")).status_code == 404
    versions = (await asked.ask("viewer of A", "GET", f"{TABLES}/codes/versions")).json()["items"]
    assert [(item["version"], item["removed"]) for item in versions] == [(3, True), (2, False), (1, False)]
    assert versions[2]["value"]["digest"] == made.json()["digest"]
    assert (await put(asked, f"{TABLES}/codes")).json()["version"] == 4


async def test_an_asset_that_does_not_compile_is_not_saved_and_every_fault_is_named(asked: Asked) -> None:
    refused = await put(asked, f"{TABLES}/codes", "zip\n?\nfine\n?\n")
    assert (refused.status_code, refused.json()["code"]) == (422, "value.invalid")
    assert [fault["detail"][:7] for fault in refused.json()["errors"]] == ["line 2:", "line 4:"]
    assert (await asked.ask("viewer of A", "GET", "/v1/services/Aster/Zip/assets")).json()["items"] == []


@pytest.mark.req("N13")
async def test_a_document_whose_assets_do_not_compile_changes_nothing(asked: Asked) -> None:
    tables = {"good": {"content": CSV}, "bad": {"content": "?"}}
    document = {
        "postroad": 1,
        "organizations": {"Aster": {"services": {"Zip": {"hosted": "lookup", "tables": tables}}}},
    }
    refused = await asked.ask("owner of A", "POST", "/v1/configuration/plan", {"document": document})
    assert refused.status_code == 409
    assert [fault["pointer"] for fault in refused.json()["errors"]] == [
        "/organizations/Aster/services/Zip/tables/bad/content"
    ]
    assert asked.running.network.directory.assets == {}


@pytest.mark.parametrize(
    ("path", "content", "kind", "status", "code"),
    [
        ("/v1/services/Aster/Zip/assets/stylesheet/s", "<x/>", "application/xslt+xml", 409, "configuration.conflict"),
        ("/v1/services/Aster/Zip/assets/table/t", b"\xff\xfe", "text/csv", 422, "value.invalid"),
        ("/v1/services/Aster/Zip/assets/table/t", "a", "application/pdf", 415, "wire.unsupported"),
        ("/v1/services/Aster/Zip/assets/table/_", "a", "text/csv", 422, "name.invalid"),
        ("/v1/services/Aster/Zip/assets/picture/t", "a", "text/csv", 422, "value.invalid"),
        ("/v1/services/Aster/Zip/assets/list/t", "{", "application/json", 400, "request.malformed"),
    ],
)
async def test_what_cannot_be_an_asset(
    asked: Asked, path: str, content: str | bytes, kind: str, status: int, code: str
) -> None:
    refused = await put(asked, path, content, kind)
    assert (refused.status_code, refused.json()["code"]) == (status, code)


async def test_a_service_takes_its_assets_with_it(asked: Asked) -> None:
    await put(asked, f"{TABLES}/codes")
    assert (await asked.ask("owner of A", "DELETE", "/v1/services/Aster/Zip", match="*")).status_code == 204
    assert asked.running.network.directory.assets == {}

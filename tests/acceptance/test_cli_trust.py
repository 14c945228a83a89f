"""Provisionings and cookies from the command line, and from the SDK both ways, against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from postroad.client import Access, AsyncClient, Client, ProvisioningRedirect, Refused
from tests.samples.served_network import Served, json_lines, postroad, served, succeeded

OWNER, PASSWORD = "owner@mybiz.example", "seven quiet herons wading"
PAGE = "https://parcels.example/join"


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("trust") / "data") as running:
        running.register("Parcels/Dispatch")
        with Client(running.url, key_file=running.data / "operator.key") as operator:
            here = f"/v1/services/{operator.get('/v1/services/Parcels/Dispatch')['gcid']}"
            profile = {"name": "Dispatch", "visibility": "public", "provisioningUrl": PAGE, "accepts": "provisioned"}
            operator.change("PUT", here, profile, version="*")
        registration = {"organization": "MyBiz", "email": OWNER, "password": PASSWORD}
        assert httpx2.post(f"{running.url}/v1/register", json=registration).status_code == 201
        login = httpx2.post(f"{running.url}/v1/login", json={"email": OWNER, "password": PASSWORD}).json()
        running.key("owner").write_text(login["key"])
        yield running


def mine(network: Served, *arguments: str, **how: str) -> str:
    return succeeded(*arguments, "--url", network.url, "--key-file", network.key("owner"), **how)


@pytest.mark.req("N8", "N10", "K2")
def test_a_provisioning_from_the_beginning_to_its_end(network: Served) -> None:
    [begun] = json_lines(mine(network, "provision", "begin", "Parcels/Dispatch", "Shipping", "--json"))
    assert begun["redirect"].startswith(f"{PAGE}?serviceID={begun['gcid']}&token=")
    visit = ProvisioningRedirect.from_query(urlsplit(begun["redirect"]).query, network.url)
    assert visit.return_url == f"{network.url}/provisioned/{begun['gcid']}"
    assert "pending" in mine(network, "provision", "list")
    with network.client("Parcels/Dispatch") as provider:
        with pytest.raises(Refused) as refused:
            provider.confirm_provisioning(visit.gcid, "0" * 16)
        assert refused.value.code == "provisioning.invalid"
        provider.confirm_provisioning(visit.gcid, visit.token, cookie="account 7")
    [listed] = json_lines(mine(network, "provision", "list", "--organization", "MyBiz", "--json"))
    assert (listed["state"], listed["provider"]) == ("active", "Parcels/Dispatch")
    assert "revoked" in mine(network, "provision", "revoke", "MyBiz/Shipping")
    again = postroad("provision", "revoke", "MyBiz/Shipping", "--url", network.url, "--key-file", network.key("owner"))
    assert (again.returncode, "provisioning.unknown" in again.stderr) == (3, True)
    shown = mine(network, "provision", "begin", "Parcels/Dispatch", "Shipping")
    assert f"{PAGE}?serviceID={begun['gcid']}" in shown
    assert "only once" in shown


@pytest.mark.req("N8", "K2")
def test_an_operator_says_for_whom(network: Served) -> None:
    unsaid = postroad("provision", "list", "--data", network.data)
    assert (unsaid.returncode, "--organization" in unsaid.stderr) == (2, True)
    assert succeeded("provision", "list", "--organization", "Parcels", "--data", network.data) == "No provisionings.\n"


@pytest.mark.req("N9", "K2")
def test_cookies_are_listed_set_and_removed(network: Served, tmp_path: Path) -> None:
    with httpx2.Client(
        base_url=network.url, headers={"Authorization": f"Bearer {network.key('owner').read_text()}"}
    ) as owner:
        assert owner.post("/v1/services", json={"organization": "MyBiz", "name": "Office"}).status_code == 201
    file = tmp_path / "cookie.xml"
    file.write_text("<customer>9</customer>\n")
    assert mine(network, "cookies", "list", "MyBiz/Office") == "No cookies.\n"
    arguments = ("cookies", "set", "MyBiz/Office", "Parcels/Dispatch", str(file), "--type", "application/xml")
    [saved] = json_lines(mine(network, *arguments, "--json"))
    assert (saved["content"], saved["contentType"]) == ("<customer>9</customer>\n", "application/xml")
    assert saved["sender"] in mine(network, "cookies", "list", "MyBiz/Office")
    assert "characters are sent with" in mine(network, "cookies", "set", "MyBiz/Office", "0" * 16, "-", stdin="text")
    assert "any more" in mine(network, "cookies", "remove", "MyBiz/Office", "0" * 16)
    assert [one["sender"] for one in json_lines(mine(network, "cookies", "list", "MyBiz/Office", "--json"))] == [
        saved["sender"]
    ]
    file.write_bytes(b"\xff")
    refused = postroad(*arguments, "--url", network.url, "--key-file", network.key("owner"))
    assert (refused.returncode, "cookie.invalid" in refused.stderr) == (3, True)


@pytest.mark.req("N8", "N9", "N10", "K1")
async def test_the_asynchronous_client_says_the_same(network: Served) -> None:
    owner = AsyncClient(access=Access.with_key(network.url, network.key("owner").read_text()))
    provider = AsyncClient(access=network.access("Parcels/Dispatch"))
    async with owner, provider:
        begun = await owner.begin_provisioning("MyBiz", "Parcels/Dispatch", "Second", return_path="/services")
        visit = ProvisioningRedirect.from_query(urlsplit(begun["redirect"]).query, network.url)
        await provider.confirm_provisioning(visit.gcid, visit.token)
        await provider.register_cookie(visit.gcid, {"account": 7})
        states = {one["service"]: one["state"] for one in await owner.provisionings("MyBiz")}
        assert states["MyBiz/Second"] == "active"
        await provider.revoke_provisioning(visit.gcid)
        with pytest.raises(Refused):
            await owner.end_provisioning(visit.gcid)
        await owner.set_cookie("MyBiz/Second", "Parcels/Dispatch", "x")
        assert [one["content"] for one in await owner.cookies("MyBiz/Second")] == ["x"]
        await owner.remove_cookie("MyBiz/Second", "Parcels/Dispatch")
        assert await owner.cookies("MyBiz/Second") == []

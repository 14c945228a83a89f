"""The provisioning example, as somebody runs it who reads its page, and with a browser that does what it should not."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from postroad.client import Client, Refused
from tests.samples.served_network import clean_environment
from tests.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "provisioning"


@pytest.mark.req("N7", "N8", "N9", "K1")
def test_the_example_prints_what_its_page_shows(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLE / "run.py"],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^```text\n(.*?)^```$", (EXAMPLE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert done.stdout == shown[1]


class ProvisioningExample:
    """The example's network with both providers open for business, and MyBiz registered."""

    def __init__(self, run: ModuleType, folder: Path, stack: ExitStack) -> None:
        self.run = run
        self.books, self.parcels = run.Books(), run.Parcels()
        self.url: str = stack.enter_context(run.network(folder / "data"))
        run.register_providers(folder, self.books, self.parcels)
        for provider, name in ((self.books, "books"), (self.parcels, "parcels")):
            provider.open(self.url, (folder / f"{name}.key").read_text().strip())
            stack.callback(provider.close)
        self.office: Client = stack.enter_context(run.register_mybiz(self.url))
        self.browser = run.Browser({self.url: (run.OWNER, run.PASSWORD)})
        stack.callback(self.browser.close)
        with Client(self.url, "none") as anybody:
            login = anybody.change("POST", "/v1/login", {"email": run.OWNER, "password": run.PASSWORD})
        self.owner: Client = stack.enter_context(Client(self.url, login["key"]))

    def states(self) -> dict[str, str]:
        return {item["service"]: item["state"] for item in self.owner.provisionings("MyBiz")}


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProvisioningExample]:
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import run  # type: ignore[import-not-found]  # the example's own

    with ExitStack() as stack:
        yield ProvisioningExample(run, tmp_path, stack)


@pytest.mark.req("N7", "N8", "N10", "Z5")
def test_a_browser_goes_the_whole_way_and_the_parties_stay_hidden(example: ProvisioningExample) -> None:
    browser = example.browser
    browser.open(example.parcels.site.url)
    browser.follow()
    assert browser.page.fields["service"] == "Dispatch"
    browser.submit(service="Shipping")
    assert example.states() == {"MyBiz/Shipping": "pending"}
    assert "MyBiz/Shipping wants to use your account" in browser.text
    visited = urlsplit(browser.visited[-1])
    assert f"http://{visited.netloc}" == example.parcels.site.url
    told = {name: values[0] for name, values in parse_qs(visited.query).items()}
    assert set(told) == {"serviceID", "token", "returnURL"}
    assert told["returnURL"] == f"{example.url}/provisioned/{told['serviceID']}"

    browser.submit(customer="mybiz", password="guessed")
    assert (browser.status, example.states()) == (403, {"MyBiz/Shipping": "pending"})
    browser.open(browser.visited[-2])
    assert browser.page.fields["token"] == told["token"]
    browser.submit(customer="mybiz", password="open sesame, parcels")
    assert browser.visited[-1] == told["returnURL"]
    assert "Connected" in browser.text
    assert example.states() == {"MyBiz/Shipping": "active"}

    browser.open(f"{example.parcels.site.url}/provisioning?{visited.query}")  # the same once more
    browser.submit(customer="mybiz", password="open sesame, parcels")
    assert browser.status == 400

    example.run.connect_from_the_directory(browser, example.url)
    answer = example.books.have_picked_up("MyBiz/Shipping", {"parcel": "a table"})
    assert answer.sender == "MyBiz/Shipping"
    [seen] = example.parcels.seen
    assert seen.cookie is not None
    known = repr(seen) + repr(example.parcels.client.trace(seen.session))
    assert "Books" not in known
    assert "Parcels" not in repr(answer) + repr(example.books.client.trace(answer.session))

    example.parcels.client.revoke_provisioning(told["serviceID"])
    assert example.states()["MyBiz/Shipping"] == "revoked"
    assert "No longer connected" in httpx2.get(told["returnURL"], auth=(example.run.OWNER, example.run.PASSWORD)).text
    with pytest.raises(Refused) as refused:
        example.run.asked(example.office, "MyBiz/Shipping", "a bed")
    assert refused.value.code == "recipient.not-provisioned"


@pytest.mark.req("Z4", "N8")
def test_a_providers_page_sends_nobody_to_an_address_that_a_stranger_gives(example: ProvisioningExample) -> None:
    page = f"{example.parcels.site.url}/provisioning"
    login = {"customer": "mybiz", "password": "open sesame, parcels"}
    for address in (
        "https://evil.example/",
        "//evil.example",
        f"{example.url}@evil.example",
        f"{example.url}.evil.example/",
    ):
        query = {"serviceID": "0" * 16, "token": "1" * 16, "returnURL": address}
        assert httpx2.get(page, params=query).status_code == 400
        assert httpx2.post(page, data=query | login).status_code == 400
    unknown = {"serviceID": "0" * 16, "token": "1" * 16, "returnURL": f"{example.url}/provisioned/{'0' * 16}"}
    assert httpx2.get(page, params=unknown).status_code == 400

"""Plays both ways in which a service that stands for an account is used, in a network of its own, and prints what each party saw.

python examples/provisioning/run.py
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from books import Books
from browser import Browser
from parcels import Parcels

from postroad.client import Client, Received, Selector

HERE = Path(__file__).parent
POSTROAD = [sys.executable, "-c", "from postroad.cli.main import main; main()"]
OWNER, PASSWORD = "owner@mybiz.example", "seven quiet herons wading"


@contextmanager
def network(data: Path) -> Iterator[str]:
    """A network that runs as long as the block; its address."""
    command = [*POSTROAD, "serve", "--json", "--data", str(data), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout is not None
            yield json.loads(serving.stdout.readline())["url"]
        finally:
            serving.send_signal(signal.SIGTERM)


def register_providers(folder: Path, books: Books, parcels: Parcels) -> None:
    """What the providers do once: register their services, with the addresses of the pages where customers log in."""
    text = (HERE / "network.yaml").read_text()
    text = text.replace("http://127.0.0.1:8481", books.site.url).replace("http://127.0.0.1:8482", parcels.site.url)
    (folder / "network.yaml").write_text(text)
    apply = [*POSTROAD, "apply", str(folder / "network.yaml"), "--yes", "--make-keys", "--data", str(folder / "data")]
    subprocess.run(apply, check=True, stdout=subprocess.DEVNULL)


def register_mybiz(url: str) -> Client:
    """The enterprise user registers, and makes the service that MyBiz sends from; a client for that service."""
    with Client(url, "unused") as anyone:
        anyone.change("POST", "/v1/register", {"organization": "MyBiz", "email": OWNER, "password": PASSWORD})
        key = anyone.change("POST", "/v1/login", {"email": OWNER, "password": PASSWORD})["key"]
    with Client(url, key) as owner:
        office = owner.change("POST", "/v1/services", {"organization": "MyBiz", "name": "Office"})
        made = owner.change("POST", f"/v1/services/{office['gcid']}/credentials", {"kind": "key", "label": "office"})
    return Client(url, made["key"])


def connect_from_the_directory(browser: Browser, url: str) -> None:
    """MyBiz has found Books in the directory, asks the network to be connected, and is sent to Books' site."""
    with Client(url, "unused") as anyone:
        key = anyone.change("POST", "/v1/login", {"email": OWNER, "password": PASSWORD})["key"]
    with Client(url, key) as owner:
        begun = owner.begin_provisioning("MyBiz", "Books/Ledger", "Accounts")
    browser.open(begun["redirect"])
    browser.submit(customer="mybiz", password="open sesame, ledger")


def connect_from_the_site(browser: Browser, parcels: Parcels) -> None:
    """MyBiz is at Parcels' own site, follows its link to the network, agrees there, and is sent back to log in."""
    browser.open(parcels.site.url)
    browser.follow()
    browser.submit(service="Shipping")
    browser.submit(customer="mybiz", password="open sesame, parcels")


def asked(office: Client, service: str, parcel: str) -> Received:
    posted = office.post(to=service, type="request", topic="pick-up", document={"parcel": parcel})
    [answer] = office.poll(1, wait_s=20, select=Selector(transaction=posted.transaction))
    office.acknowledge(answer)
    return answer


def told(who: str, message: Received) -> None:
    cookie = f", with the cookie {message.cookie.content}" if message.cookie else ""
    print(f"  {who} sees a {message.type.value} from {message.sender}{cookie}: {message.document}")


def play(stack: ExitStack) -> None:
    folder = Path(stack.enter_context(TemporaryDirectory()))
    books, parcels = Books(), Parcels()
    url = stack.enter_context(network(folder / "data"))
    register_providers(folder, books, parcels)
    for provider, name in ((books, "books"), (parcels, "parcels")):
        provider.open(url, (folder / f"{name}.key").read_text().strip())
        stack.callback(provider.close)
    office = stack.enter_context(register_mybiz(url))
    browser = Browser({url: (OWNER, PASSWORD)})
    stack.callback(browser.close)

    print("MyBiz connects with Books, beginning at the network, and with Parcels, beginning at Parcels' own site.")
    connect_from_the_directory(browser, url)
    print(f"  back at the network: {'Connected' if 'Connected' in browser.text else browser.text}")
    connect_from_the_site(browser, parcels)
    print(f"  back at the network: {'Connected' if 'Connected' in browser.text else browser.text}")

    print("MyBiz writes to its own service MyBiz/Shipping, which stands for its account with Parcels.")
    answer = asked(office, "MyBiz/Shipping", "a chair")
    told("Parcels/Dispatch", parcels.seen[-1])
    told("MyBiz/Office", answer)

    print("Books writes to MyBiz/Shipping on MyBiz's behalf. Neither provider learns of the other.")
    answer = books.have_picked_up("MyBiz/Shipping", {"parcel": "a table"})
    told("Parcels/Dispatch", parcels.seen[-1])
    told("Books/Ledger", answer)
    print(f"Parcels has put both on one bill: {parcels.bills}")


if __name__ == "__main__":
    with ExitStack() as everything:
        play(everything)

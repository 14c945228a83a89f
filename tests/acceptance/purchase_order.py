"""The network of the purchase-order scenario on a real server, and what an order looks like at each stop of its way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from lxml import etree

from postroad.client import Client, Delivered, Part
from tests.samples.served_network import Served, served, succeeded
from tests.source_tree import ROOT

EXAMPLE = ROOT / "examples" / "purchase-order"
ORDER = (EXAMPLE / "purchase-order.xml").read_bytes()
MYBIZ, ACME, SPAMCO = "MyBiz/Purchasing", "TheAcmeCompany/Supply", "SpamCo/Offers"
WAIT_S = 60.0

Values = dict[str, str]
AS_POSTED = {"CustomerNumber": "3489", "Address": "123 Main Street, Springfield, 62701"}
SPLIT = {"CustomerNumber": "3489", "Street": "123 Main Street", "City": "Springfield", "Zip": "62701"}
NINE_DIGITS = SPLIT | {"Zip": "62701-1234"}
AS_ACME_WANTS_IT = NINE_DIGITS | {"CustomerNumber": "BX0045012"}
STOPS: list[tuple[str, Values]] = [
    ("Transmatics/xslt", AS_POSTED),
    ("XpandiCo/zipPlus4", SPLIT),
    ("Transmatics/replaceElement", NINE_DIGITS),
    ("KeepEmOut/filter", AS_ACME_WANTS_IT),
    (ACME, AS_ACME_WANTS_IT),
]


def values_in(order: bytes) -> Values:
    """What an order says of its customer: every element with text of its own, but the items."""
    root = etree.fromstring(order)
    for item in root.findall("Item"):
        root.remove(item)
    return {str(found.tag): found.text for found in root.iter() if found.text and found.text.strip()}


def network_document() -> dict[str, Any]:
    """The scenario's configuration, with the paths of its files."""
    document: dict[str, Any] = yaml.safe_load((EXAMPLE / "network.yaml").read_text())
    for house in document["organizations"].values():
        for service in house["services"].values():
            for section in ("stylesheets", "tables", "lists", "maps"):
                for asset in service.get(section, {}).values():
                    asset["file"] = str(EXAMPLE / asset["file"])
    return document


def apply(network: Served, document: dict[str, Any], keys: Iterable[str] = (MYBIZ, ACME, SPAMCO)) -> None:
    variables = {}
    for address in keys:
        succeeded("keys", "make", "--output", network.key(address))
        variables[address.replace("/", "_").upper() + "_KEY"] = network.key(address).read_text().strip()
    file = network.data.parent / "network.yaml"
    file.write_text(yaml.safe_dump(document))
    succeeded("apply", file, "--yes", "--data", network.data, environment=variables)


def relate_customers(mybiz: Client) -> None:
    """MyBiz says which customer it is with Acme."""
    posted = mybiz.post(
        to="Transmatics/replaceElement", type="request", arguments={
            "operation": "relate", "map": "customers", "keyName": "CustomerNumber", "keyValue": "3489",
            "otherService": ACME, "otherKeyName": "CustomerNumber", "otherKeyValue": "BX0045012",
        },
    )  # fmt: skip
    assert arrived(mybiz, posted.transaction).status is None


@contextmanager
def scenario(folder: Path, *arguments: str) -> Iterator[Served]:
    with served(folder / "data", *arguments) as running:
        apply(running, network_document())
        with running.client(MYBIZ) as mybiz:
            relate_customers(mybiz)
        yield running


def arrived(at: Client, transaction: str) -> Delivered:
    """What comes of this transaction, acknowledged."""
    delivered = taken(at, transaction)
    at.acknowledge(delivered)
    return delivered


def taken(at: Client, transaction: str) -> Delivered:
    [delivered] = at.poll(1, wait_s=WAIT_S)
    assert delivered.transaction == transaction
    return delivered


def stops_of(viewer: Client, session: str) -> list[tuple[str, tuple[Part, ...]]]:
    """The stops of a message with one recipient, each with what it was given; as far as the viewer may see them."""
    history = viewer.trace(session)
    contents = viewer.contents(history)
    [message] = [message for message in history.messages if message.session == session]
    return [(stop.service, contents[stop.delivery]) for stop in message.copies[0].stops]

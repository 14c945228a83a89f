"""The demo's play: a network starts, five organizations join, MyBiz orders, Acme answers, and the trace shows it all.

Everything goes over real HTTP through the SDK, as it would from other machines; the demo is therefore a test as well.
"""

from __future__ import annotations

import asyncio
import dataclasses
import os
import shlex
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import click

from postroad.api.serve import serve
from postroad.bootstrap import open_network
from postroad.bootstrap.settings import Settings
from postroad.cli.commands.keys import made_key
from postroad.cli.connection import OPERATOR_KEY_FILE
from postroad.cli.output import Output
from postroad.cli.references import read_documents
from postroad.cli.running import address_left_in
from postroad.cli.trace_view import trace_tree
from postroad.client import AsyncClient, Delivered
from postroad.errors import Unavailable

SCENE = Path(str(files("postroad.cli.purchase_order")))
BUYER, SELLER = "MyBiz/Purchasing", "TheAcmeCompany/Supply"
CONFIRMATION = '<PurchaseOrderConfirmation order="PO-1001" status="accepted" shipping="2 days"/>'
PATIENCE_S = 10.0


async def demonstrated(out: Output, settings: Settings, *, once: bool) -> None:
    begun = time.monotonic()
    async with listening(_on_a_free_port(settings)) as (url, server):
        with address_left_in(settings.data) as leave_address:
            leave_address(url)
            session = await shown(out, settings, url)
            out.value({"url": url, "session": session, "seconds": round(time.monotonic() - begun, 2)})
            out.say(f"\nThat took {time.monotonic() - begun:.1f} s. Try next:")
            for line in next_commands(settings.data, session):
                out.say(f"  {line}")
            if once:
                out.say(f"\nThe network stops here; `{program()} serve --data {settings.data}` starts it again.")
            else:
                out.say("\nThe network keeps running; stop it with Ctrl-C.")
                await server


async def shown(out: Output, settings: Settings, url: str) -> str:
    """The play from the curtain to the trace; returns the order's session."""
    keys = made_keys(settings.data)
    out.say(f"{click.style(f'network on {url}', bold=True)} (data in {settings.data})")
    out.say(await configured(url, settings.data, keys))
    session = await played(out, url, keys)
    await traced(out, url, settings.data, session)
    return session


@asynccontextmanager
async def listening(settings: Settings) -> AsyncIterator[tuple[str, asyncio.Task[None]]]:
    """A served network: its address, and the task that ends only when it fails or is cancelled."""
    async with open_network(settings) as running:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.get_running_loop().create_task(serve(running, address.set_result))
        try:
            await asyncio.wait((server, address), return_when=asyncio.FIRST_COMPLETED)
            if server.done():
                await server
            yield address.result(), server
        finally:
            server.cancel()
            await asyncio.gather(server, return_exceptions=True)


async def configured(url: str, data: Path, keys: dict[str, Path]) -> str:
    """Apply the scene's configuration, as ``postroad apply`` would; returns what there is to say about it."""
    variables = {variable(address): path.read_text().strip() for address, path in keys.items()}
    document = read_documents([str(SCENE / "network.yaml")], str, variables)
    async with AsyncClient(url, (data / OPERATOR_KEY_FILE).read_text().strip()) as operator:
        plan = await operator.plan(document)
        if plan.steps:
            await operator.apply(document, version=plan.version)
    organizations = document["organizations"]
    services = sum(len(organization["services"]) for organization in organizations.values())
    return f"{len(organizations)} organizations with {services} services are registered"


async def played(out: Output, url: str, keys: dict[str, Path]) -> str:
    """Post, poll, reply, acknowledge: returns the order's session."""
    async with (
        AsyncClient(url, keys[BUYER].read_text().strip()) as buyer,
        AsyncClient(url, keys[SELLER].read_text().strip()) as seller,
    ):
        order = (SCENE / "purchase-order.xml").read_bytes()
        posted = await buyer.post(
            to=SELLER, type="request", topic="purchase-order", handle="PO-1001", document=order,
            arguments={"operation": "ProcessPurchaseOrder"},
        )  # fmt: skip
        out.say(f"MyBiz posted purchase order PO-1001 ({len(order)} bytes)")
        request = await arrived(seller, posted.transaction)
        out.say(f"Acme received it from {request.sender} and answers")
        await seller.reply(request, CONFIRMATION)
        response = await arrived(buyer, posted.transaction)
        await buyer.acknowledge(response)
        out.say(f"MyBiz received the confirmation from {response.sender}\n")
        return posted.session


async def arrived(receiver: AsyncClient, transaction: str) -> Delivered:
    """The message of this transaction; others, which an earlier run may have left, are given back."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for message in await receiver.poll(1, wait_s=PATIENCE_S):
            if message.transaction == transaction:
                return message
            await receiver.give_back(message, delay_s=PATIENCE_S, reason="not what the demo waits for")
    raise Unavailable("demo.incomplete", "The message did not arrive; remove the demo's folder and try again")


async def traced(out: Output, url: str, data: Path, session: str) -> None:
    async with AsyncClient(url, (data / OPERATOR_KEY_FILE).read_text().strip()) as operator:
        out.show(trace_tree(await operator.trace(session)))


def made_keys(data: Path) -> dict[str, Path]:
    """A key file for each of the two players, made at the first run."""
    paths = {address: data / "keys" / f"{address.replace('/', '-')}.key" for address in (BUYER, SELLER)}
    for path in paths.values():
        if not path.exists():
            made_key(path)
    return paths


def variable(address: str) -> str:
    """The variable by which the scene's configuration asks for a service's key."""
    return address.replace("/", "_").upper() + "_KEY"


def program() -> str:
    """How this very program is called in this shell."""
    return "postroad" if shutil.which("postroad") else sys.argv[0]


def next_commands(data: Path, session: str) -> list[str]:
    keys = {address: str(path) for address, path in made_keys(data).items()}
    order = min(str(SCENE / "purchase-order.xml"), os.path.relpath(SCENE / "purchase-order.xml"), key=len)
    return [
        shlex.join([program(), *words, "--data", str(data)])
        for words in (
            ["trace", session],
            ["post", order, "--to", SELLER, "--type", "request", "--key-file", keys[BUYER]],
            ["poll", "--wait", "5", "--ack", "--key-file", keys[SELLER]],
        )
    ]


def _on_a_free_port(settings: Settings) -> Settings:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError:
            return dataclasses.replace(settings, port=0)
    return settings

"""Runs the demo: starts a network, registers six organizations, plays the purchase order and shows the trace.

Afterwards the network and Acme's application keep running, so that the user can try more.
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
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import click

from postroad.api.serve import serve
from postroad.bootstrap import open_network
from postroad.bootstrap.settings import Settings
from postroad.cli.demo import play
from postroad.cli.demo.play import BUYER, SCENARIO_FOLDER, SELLER, UNWELCOME, PlayedMessage
from postroad.cli.demo.soap_client import SoapClient
from postroad.cli.framework.connection import METRICS_URL_FILE, OPERATOR_KEY_FILE
from postroad.cli.framework.key_files import write_new_key_file
from postroad.cli.framework.output import Output
from postroad.cli.framework.server_process import published_address
from postroad.cli.input.configuration import read_configuration_files
from postroad.cli.views.traces import trace_tree
from postroad.client import AsyncClient
from postroad.console import console
from postroad.console.login_link import login_link


async def run_demo(out: Output, settings: Settings, *, once: bool) -> None:
    begun = time.monotonic()
    async with serve_network(_on_a_free_port(settings)) as (url, server, link):
        with published_address(settings.data) as leave_address:
            leave_address(url)
            keys = make_keys(settings.data)
            out.print(f"{click.style(f'network on {url}', bold=True)} (data in {settings.data})")
            if not once:
                out.print(f"console {click.style(link, bold=True)} (logs you in as operator, once)")
            out.print(await apply_configuration(url, settings.data, keys))
            async with AsyncClient(url, _key(keys[SELLER])) as seller:
                selling = asyncio.get_running_loop().create_task(play.confirm_orders(seller))
                try:
                    await show_play(out, settings.data, url, keys, begun)
                    await _run_until_stopped(out, settings.data, server, once=once)
                finally:
                    await play.raise_if_ended(selling)


async def _run_until_stopped(out: Output, data: Path, server: asyncio.Task[None], *, once: bool) -> None:
    if once:
        out.print(f"\nThe network stops here; `{program_name()} serve --data {data}` starts it again.")
    else:
        out.print("\nThe network keeps running, and Acme keeps responding; stop both with Ctrl-C.")
        await server


async def show_play(out: Output, data: Path, url: str, keys: dict[str, Path], begun: float) -> None:
    """Play the scenario scene by scene, and print how to continue."""
    async with AsyncExitStack() as stack:
        buyer, unwelcome = [
            await stack.enter_async_context(AsyncClient(url, _key(keys[who]))) for who in (BUYER, UNWELCOME)
        ]
        soap = await stack.enter_async_context(SoapClient(url, _key(keys[BUYER])))
        await play.register_customer(buyer)
        out.print(f"MyBiz linked its account at Acme: customer {play.CUSTOMER} is {play.CUSTOMER_AT_SELLER} there")
        by_json = await play.send_order(buyer)
        first_s = time.monotonic() - begun
        await _show_order(out, buyer, by_json)
        by_soap = await play.send_order_by_soap(soap)
        _show_scene(out, "The same order over SOAP", by_soap)
        stopped = await play.send_order(unwelcome)
        _show_scene(out, f"The same order from {UNWELCOME}", stopped)
    out.value(
        {"url": url, "session": by_json.session, "answer": by_json.answered, "soapSession": by_soap.session,
         "soapAnswer": by_soap.answered, "stoppedSession": stopped.session, "stoppedAnswer": stopped.answered,
         "firstAnswerSeconds": round(first_s, 2), "seconds": round(time.monotonic() - begun, 2)}
    )  # fmt: skip
    out.print(f"\nThat took {time.monotonic() - begun:.1f} s, {first_s:.1f} s to the first response. Try next:")
    for line in next_commands(data, keys, by_soap.session):
        out.print(f"  {line}")


async def _show_order(out: Output, buyer: AsyncClient, order: PlayedMessage) -> None:
    _show_scene(out, "MyBiz's purchase order over JSON", order)
    history = await buyer.trace(order.session)
    contents = await buyer.contents(history)
    out.print("\nIts route, and what each service changed:\n")
    out.show(trace_tree(history, contents))
    out.print("\nWhy it took this route, as far as MyBiz may see:\n")
    out.print(str(await buyer.explanation(order.session, "text")))


def _show_scene(out: Output, what: str, played: PlayedMessage) -> None:
    out.print(f"{click.style(what, bold=True)} was answered: {played.answered}")


@asynccontextmanager
async def serve_network(settings: Settings) -> AsyncIterator[tuple[str, asyncio.Task[None], str]]:
    """Serve the network: yields its address, its task, and a login link to its console."""
    with published_address(settings.data, METRICS_URL_FILE) as leave_metrics:
        async with open_network(settings) as running:
            loop = asyncio.get_running_loop()
            address: asyncio.Future[str] = loop.create_future()
            server = loop.create_task(
                serve(running, address.set_result, partial(console, running), on_metrics=leave_metrics)
            )
            try:
                await asyncio.wait((server, address), return_when=asyncio.FIRST_COMPLETED)
                if server.done():
                    await server
                yield address.result(), server, await login_link(running)
            finally:
                server.cancel()
                await asyncio.gather(server, return_exceptions=True)


async def apply_configuration(url: str, data: Path, keys: dict[str, Path]) -> str:
    """Apply the scenario's configuration like ``postroad apply``; returns what to print about it."""
    variables = {key_variable(address): _key(path) for address, path in keys.items()}
    document = read_configuration_files([str(SCENARIO_FOLDER / "network.yaml")], str, variables)
    async with AsyncClient(url, _key(data / OPERATOR_KEY_FILE)) as operator:
        plan = await operator.plan(document)
        if plan.steps:
            await operator.apply(document, version=plan.version)
    services = [one for organization in document["organizations"].values() for one in organization["services"].values()]
    rules = sum(len(service.get("rules", ())) for service in services)
    hosted = sum("hosted" in service for service in services)
    return (
        f"{len(document['organizations'])} organizations with {len(services)} services are registered; "
        f"{hosted} of them are run by the network, and {rules} rules route the messages"
    )


def make_keys(data: Path) -> dict[str, Path]:
    """Make a key file for each service of the scenario, at the first run."""
    paths = {address: data / "keys" / f"{address.replace('/', '-')}.key" for address in (BUYER, SELLER, UNWELCOME)}
    for path in paths.values():
        if not path.exists():
            write_new_key_file(path)
    return paths


def _key(path: Path) -> str:
    return path.read_text().strip()


def key_variable(address: str) -> str:
    """Return the environment variable that holds a service's key in the scenario's configuration."""
    return address.replace("/", "_").upper() + "_KEY"


def program_name() -> str:
    """Return the command that starts this program in this shell."""
    return "postroad" if shutil.which("postroad") else sys.argv[0]


def next_commands(data: Path, keys: dict[str, Path], session: str) -> list[str]:
    order = min(
        str(SCENARIO_FOLDER / "purchase-order.xml"), os.path.relpath(SCENARIO_FOLDER / "purchase-order.xml"), key=len
    )
    asking = ["--key-file", str(keys[BUYER]), "--data", str(data)]
    return [
        shlex.join([program_name(), *words, *asking])
        for words in (
            ["trace", session, "--documents"],
            ["post", order, "--to", SELLER, "--type", "request"],
            ["poll", "--wait", "5", "--ack"],
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

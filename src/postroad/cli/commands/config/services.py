"""The command ``postroad services``: list and show services, and register their certificates."""

from __future__ import annotations

from pathlib import Path

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.errors import Misconfigured


@click.group()
def services() -> None:
    """List services, and register their certificates."""


@command
@click.option("--all", "everyone", is_flag=True, help="Also list public services of other organizations.")
@with_connection
def list_(out: Output, everyone: bool, connection: NetworkConnection) -> None:
    """List the services of your organization."""
    with connection.client() as client:
        found = client.every("/v1/directory" if everyone else "/v1/services")
    found = sorted(found, key=lambda service: service["address"].casefold())
    for service in found:
        out.value(service)
    if not found:
        out.print("No services.")
        return
    rows = [[one["address"], one["gcid"], one["visibility"], one["category"], one["description"]] for one in found]
    out.table(["ADDRESS", "GCID", "VISIBILITY", "CATEGORY", "DESCRIPTION"], rows)


@command
@click.argument("service")
@with_connection
def show(out: Output, service: str, connection: NetworkConnection) -> None:
    """Print one service as YAML: completely if it is yours, otherwise as in the directory."""
    from urllib.parse import quote

    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        found = client.get(f"/v1/services/{quote(service)}")
        is_pushed = found.get("delivery") == "push"
        state = client.get(f"/v1/services/{quote(found['address'])}/push") if is_pushed else {}
    out.value(found | {name: state[name] for name in ("paused", "problems") if name in state})
    out.print(as_yaml(found).rstrip())
    for problem in state.get("problems", ()):
        out.print(f"# Problem: {problem}.")
    if (paused := state.get("paused")) is not None:
        out.print(f"# Pushes are paused until {paused['until']}: {paused['reason']}.")
        out.print(f"# To push at once: postroad services try-push {found['address']}")


@command
@click.argument("service")
@click.option(
    "--certificate",
    "certificate_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The client certificate, in PEM.",
)
@click.option(
    "--certificate-key",
    "private_key_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Its private key, in PEM; signs a challenge locally and is not sent.",
)
@click.option("--label", default="certificate", help="Label.", show_default=True)
@with_connection
def add_certificate(
    out: Output, service: str, certificate_file: Path, private_key_file: Path, label: str, connection: NetworkConnection
) -> None:
    """Register a client certificate for the authentication of a service."""
    from postroad.cli.commands.config.apply import read_private_key_pem

    key = read_private_key_pem(private_key_file)
    try:
        certificate = certificate_file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured([f"{certificate_file}: {error}"]) from None
    with connection.client() as client:
        added = client.certificates.add(service, label, certificate, key)
    out.value(added)
    out.print(f"{service} can authenticate with certificate {label!r} from now on.")


@command
@click.argument("service")
@with_connection
def try_push(out: Output, service: str, connection: NetworkConnection) -> None:
    """Push the oldest waiting message of a service at once.

    It is pushed even during a pause and before its retry is due, but not outside delivery windows. A success ends the
    pause, and the other waiting messages follow.
    """
    from urllib.parse import quote

    with connection.client() as client:
        tried = client.change("POST", f"/v1/services/{quote(service)}/push/try")
    out.value(tried)
    match tried["outcome"]:
        case "delivered":
            out.print(f"{tried['service']}: delivered session {tried['session']}; the other waiting messages follow")
        case "failed":
            out.print(f"{tried['service']}: the push of session {tried['session']} failed: {tried['reason']}")
        case _:
            out.print(f"{tried['service']}: nothing was pushed: {tried['reason']}")


for below in (list_, show, add_certificate, try_push):
    services.add_command(below)

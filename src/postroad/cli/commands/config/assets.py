"""The command ``postroad assets``: stylesheets, tables, lists, maps and schemas of services, as files."""

from __future__ import annotations

from pathlib import Path

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.core.model.asset import AssetKind

KINDS = click.Choice([kind.value for kind in AssetKind])


@click.group()
def assets() -> None:
    """Manage stylesheets, tables, lists, maps, schemas and other assets."""


@command
@click.argument("service")
@click.option("--kind", type=KINDS, default=None, help="Only of this kind.")
@with_connection
def list_(out: Output, service: str, kind: str | None, connection: NetworkConnection) -> None:
    """List the assets of a service."""
    with connection.client() as client:
        found = client.assets(service, kind or "")
    for asset in found:
        out.value(asset)
    if not found:
        out.print("No assets.")
        return
    rows = [[one.kind, one.name, str(one.bytes), str(one.version), one.digest, one.description] for one in found]
    out.table(["KIND", "NAME", "BYTES", "VERSION", "DIGEST", "DESCRIPTION"], rows)


@command
@click.argument("service")
@click.argument("kind", type=KINDS)
@click.argument("name")
@with_connection
def show(out: Output, service: str, kind: str, name: str, connection: NetworkConnection) -> None:
    """Print the content of an asset."""
    with connection.client() as client:
        content = client.asset(service, kind, name)
    out.value({"kind": kind, "name": name, "content": content})
    if not out.as_json:
        click.echo(content, nl=not content.endswith("\n"))


@command
@click.argument("service")
@click.argument("kind", type=KINDS)
@click.argument("file")
@click.option("--name", default="", help="Name of the asset; default: the file's name without its extension.")
@click.option("--description", default=None, help="Description; default: unchanged.")
@with_connection
def add(
    out: Output, service: str, kind: str, file: str, name: str, description: str | None, connection: NetworkConnection
) -> None:
    """Save an asset, or replace the one with the same name.

    It is compiled first, and all errors are shown. A FILE named - is standard input.
    """
    from postroad.cli.input.messages import read_text

    if file == "-" and not name:
        raise click.UsageError("an asset from standard input needs a --name")
    content = read_text(file)
    with connection.client() as client:
        saved = client.save_asset(service, kind, name or Path(file).stem, content, description=description)
    out.value(saved)
    out.print(f"{saved['name']}: saved as version {saved['version']} ({saved['bytes']} bytes)")


@command
@click.argument("service")
@click.argument("kind", type=KINDS)
@click.argument("name")
@with_connection
def remove(out: Output, service: str, kind: str, name: str, connection: NetworkConnection) -> None:
    """Remove an asset; its versions stay stored."""
    with connection.client() as client:
        client.remove_asset(service, kind, name)
    out.value({"removed": name})
    out.print(f"{name}: removed")


for below in (list_, show, add, remove):
    assets.add_command(below)

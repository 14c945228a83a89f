"""The command ``postroad provision``: link services of an organization with those of providers, and end the link."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output

if TYPE_CHECKING:
    from postroad.client import Client

ORGANIZATION = click.option(
    "--organization", default="", help="Organization; default: your own.", metavar="ORGANIZATION"
)


@click.group()
def provision() -> None:
    """Connect services with providers (account linking)."""


@command
@click.argument("provider")
@click.argument("service")
@ORGANIZATION
@click.option("--return-path", default="", help="Page of this network to return to afterwards, such as /services.")
@with_connection
def begin(
    out: Output, provider: str, service: str, organization: str, return_path: str, connection: NetworkConnection
) -> None:
    """Create a service that represents your account with a provider.

    Prints the page of the PROVIDER on which you log in there. The provider confirms from its side, within 24 hours.
    """
    with connection.client() as client:
        name = organization_of(client, organization)
        begun = client.begin_provisioning(name, provider, service, return_path=return_path)
    out.value(begun)
    out.print(
        f"{begun['service']} ({begun['gcid']}) waits until {begun['expiresAt']} for {begun['provider']} to confirm."
    )
    out.print("Open this address now and log in as a customer; it is shown only once:")
    out.print(begun.redirect)


@command
@ORGANIZATION
@with_connection
def list_(out: Output, organization: str, connection: NetworkConnection) -> None:
    """List the provisionings that your organization has begun, or confirmed as a provider."""
    with connection.client() as client:
        found = client.provisionings(organization_of(client, organization))
    for one in found:
        out.value(one)
    if not found:
        out.print("No provisionings.")
        return
    rows = [[one.state, one.service, one.gcid, one.provider, one.expires_at or ""] for one in found]
    out.table(["STATE", "SERVICE", "GCID", "PROVIDER", "CONFIRM UNTIL"], rows)


@command
@click.argument("service")
@with_connection
def revoke(out: Output, service: str, connection: NetworkConnection) -> None:
    """End a provisioning, as either party; SERVICE is the one that represents the account."""
    with connection.client() as client:
        client.end_provisioning(service)
    out.value({"revoked": service})
    out.print(f"{service}: revoked")


def organization_of(client: Client, given: str) -> str:
    """The organization that was named, or the caller's own."""
    own: str = given or client.get("/v1/account")["organization"]
    if not own:
        raise click.UsageError("your key does not belong to an organization; use --organization")
    return own


for below in (begin, list_, revoke):
    provision.add_command(below)

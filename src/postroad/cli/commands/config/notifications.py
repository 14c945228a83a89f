"""The command ``postroad notifications``: who is notified of dead letters, failing pushes, expiring certificates and so on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output, strip_controls
from postroad.client import Client
from postroad.core.model.subscription import DIGEST_MINUTES, Channel, Severity
from postroad.core.resources.notifications import SubscriptionView
from postroad.errors import Refused

SEVERITIES = click.Choice([one.value for one in Severity])


@click.group()
def notifications() -> None:
    """Manage notifications: their subscribers, events and channels."""


def with_organization(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose whose subscriptions are meant."""
    named = click.option(
        "--organization",
        default="",
        help="Organization; default: your own; for operators, the operators' own subscriptions.",
    )
    return named(with_connection(function))


@command
@with_organization
def list_(out: Output, organization: str, connection: NetworkConnection) -> None:
    """List the subscriptions, and the status of their channels."""
    with connection.client() as client:
        found = client.notifications.list(_resolve(client, organization))
    for one in found:
        out.value(one)
    if not found:
        out.print("No one is notified. Add a subscription: postroad notifications add ops --email ops@example.com")
        return
    rows = [
        [one.name, one.channel, strip_controls(one.address), ", ".join(one.events) or "all", describe_state(one)]
        for one in found
    ]
    out.table(["NAME", "CHANNEL", "ADDRESS", "EVENTS", "STATE"], rows)


@command
@with_connection
def events(out: Output, connection: NetworkConnection) -> None:
    """List the events for which notifications are available."""
    with connection.client() as client:
        found = client.notifications.events()
    for one in found:
        out.value(one)
    out.table(
        ["EVENT", "SEVERITY", "FOR", "MEANING"], [[one.name, one.severity, one.audience, one.meaning] for one in found]
    )


@command
@click.argument("name")
@click.option("--email", default="", metavar="ADDRESS", help="Send e-mail to this address.")
@click.option("--message", default="", metavar="SERVICE", help="Send messages to this service of the organization.")
@click.option("--webhook", default="", metavar="URL", help="Post signed JSON to this URL, or to the one in a secret.")
@click.option("--slack", default="", metavar="URL", help='Post {"text": …} to this URL, or to the one in a secret.')
@click.option("--event", "chosen", multiple=True, help="Only this event; repeat it for more. Default: all.")
@click.option(
    "--least",
    type=click.Choice([one.value for one in Severity]),
    default="info",
    help="Minimum severity.",
    show_default=True,
)
@click.option(
    "--digest",
    type=int,
    default=DIGEST_MINUTES,
    help="Minutes between two notifications of an event.",
    show_default=True,
)
@with_organization
def add(
    out: Output,
    name: str,
    chosen: tuple[str, ...],
    least: str,
    digest: int,
    organization: str,
    connection: NetworkConnection,
    **addresses: str,
) -> None:
    """Add the subscription NAME, or replace it. Owners only."""
    channel, address = _choose_channel(addresses)
    with connection.client() as client:
        saved = client.notifications.save(
            _resolve(client, organization),
            name,
            channel=channel,
            address=address,
            events=list(chosen),
            least_severity=least,
            digest_minutes=digest,
        )
    out.value(saved)
    out.print(f"{saved.name}: {', '.join(saved.events) or 'all events'} by {saved.channel} to {saved.address}")
    if saved.secret:
        out.print(f"Check the signatures with this secret: {saved.secret}")
    where = f" --organization {organization}" if organization else ""
    out.print(f"Try it: postroad notifications test {saved.name}{where}")


@command
@click.argument("name")
@with_organization
def remove(out: Output, name: str, organization: str, connection: NetworkConnection) -> None:
    """Remove the subscription NAME; what has not been sent is dropped. Owners only."""
    with connection.client() as client:
        client.notifications.remove(_resolve(client, organization), name)
    out.value({"removed": name})
    out.print(f"{name}: removed")


@command
@click.argument("name")
@with_organization
def test(out: Output, name: str, organization: str, connection: NetworkConnection) -> None:
    """Send a test notification to the subscription NAME now. Owners only."""
    with connection.client() as client:
        result = client.notifications.test(_resolve(client, organization), name)
    out.value(result)
    if not result.sent:
        raise Refused("notification.failed", f"The test could not be sent: {result.fault}")
    out.print(f"{name}: the test was sent")


def describe_state(one: SubscriptionView) -> str:
    """Return how sending to a subscription goes, in words."""
    state = one.state
    if state.failures:
        return f"failing ({state.failures} attempts), tried again at {state.retry_at}: {strip_controls(state.fault)}"
    return f"last sent {state.sent_at}" if state.sent_at else "nothing sent yet"


def _resolve(client: Client, organization: str) -> str:
    """Return the organization that is meant; '' means the operators."""
    return organization or str(client.get("/v1/account")["organization"])


def _choose_channel(addresses: dict[str, str]) -> tuple[str, str]:
    given = [(channel, addresses[channel.value]) for channel in Channel if addresses[channel.value]]
    if len(given) != 1:
        raise Refused("value.invalid", "Choose one channel: --email, --message, --webhook or --slack")
    return given[0][0].value, given[0][1]


for below in (list_, events, add, remove, test):
    notifications.add_command(below)

"""The command ``postroad support``: ask the network's operators, and read their answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output, strip_controls


@click.group()
def support() -> None:
    """Contact the network's operators, and read their replies."""


@command
@with_connection
def list_(out: Output, connection: NetworkConnection) -> None:
    """List the requests of your organization; for operators, those of all."""
    with connection.client() as client:
        found = client.every("/v1/support")
    for one in found:
        out.value(one)
    if not found:
        out.print("There are no support requests.")
        return
    rows = [
        [one["id"], one["organization"], one["state"], one["changedAt"], strip_controls(one["subject"])]
        for one in found
    ]
    out.table(["ID", "ORGANIZATION", "STATE", "LAST WORD", "SUBJECT"], rows)


@command
@click.argument("subject")
@click.argument("text")
@click.option("--session", default="", help="Session ID of the message concerned.")
@with_connection
def open_(out: Output, subject: str, text: str, session: str, connection: NetworkConnection) -> None:
    """Open a request, optionally about a message, whose trace the operators then see."""
    with connection.client() as client:
        show_request(out, client.change("POST", "/v1/support", {"subject": subject, "text": text, "session": session}))


@command
@click.argument("request")
@with_connection
def show(out: Output, request: str, connection: NetworkConnection) -> None:
    """Show a request with all its comments."""
    with connection.client() as client:
        show_request(out, client.get(_request_path(request)))


@command
@click.argument("request")
@click.argument("text")
@with_connection
def write(out: Output, request: str, text: str, connection: NetworkConnection) -> None:
    """Add a comment to a support request."""
    with connection.client() as client:
        show_request(out, client.change("POST", f"{_request_path(request)}/notes", {"text": text}))


@command
@click.argument("request")
@click.argument("text", default="")
@with_connection
def close(out: Output, request: str, text: str, connection: NetworkConnection) -> None:
    """Close a request, optionally with a comment."""
    with connection.client() as client:
        show_request(out, client.change("POST", f"{_request_path(request)}/notes", {"text": text, "close": True}))


def _request_path(request: str) -> str:
    return f"/v1/support/{quote(request, safe='')}"


def show_request(out: Output, request: Any) -> None:
    out.value(request)
    about = f", about message {request['session']}" if request["session"] else ""
    out.print(
        f"{request['id']} {click.style(strip_controls(request['subject']), bold=True)} ({request['state']}{about})"
    )
    for note in request["notes"]:
        who = f"{note['by']} (operator)" if note["operator"] else note["by"]
        out.print("\n  ".join([f"\n{who}, {note['at']}", *map(strip_controls, note["text"].splitlines())]))


for name, one in {"list": list_, "open": open_, "show": show, "write": write, "close": close}.items():
    support.add_command(one, name)

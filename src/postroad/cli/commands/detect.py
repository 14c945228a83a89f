"""``postroad detect``: in which format messages are, found by looking at their bytes, as the network does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from postroad.cli.command import command
from postroad.cli.output import Output
from postroad.cli.wire_files import wire_in
from postroad.core.codecs.media import media_type_of
from postroad.core.documents.sniff import document_kind
from postroad.core.mediation.looking import look
from postroad.core.mediation.nouns import Wire
from postroad.core.mediation.translating import take
from postroad.core.model.formats import Format
from postroad.core.model.message import Part
from postroad.errors import Refused

SHOWN = 4  # parts of a message in the table


@command
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--content-type", default="", help="The content type under which they came.")
@click.option(
    "--headers", "headers_file", default="", help="File of header lines under which they came.", metavar="FILE"
)
def detect(out: Output, files: tuple[str, ...], content_type: str, headers_file: str) -> None:
    """Say in which format messages are, by looking at their bytes.

    What is known of their headers is a hint: the options say it, a file beside the message (order.dime.content-type), or the
    message itself, if it was captured with its head. A FILE named - is standard input; of a folder all files are looked at.
    """
    inside = [file for name in files for file in _files(name)]
    found = [_found(file, wire_in(file, content_type, headers_file)) for file in inside]
    for one in found:
        out.value(one)
    out.table(["FILE", "FORMAT", "CONTENT TYPE", "PARTS"], [_row(one) for one in found])
    for one in found:
        for note in one["notes"]:
            out.say(f"{one['file']}: {note}")


def _files(name: str) -> list[str]:
    """The file itself, or the files in a folder and below."""
    folder = Path(name)
    return sorted(str(file) for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else [name]


def _found(file: str, wire: Wire) -> dict[str, Any]:
    shown = look(wire)
    notes = [shown.note] if shown.note else []
    parts: tuple[Part, ...] = ()
    try:
        taken = take(wire)
        parts, notes = taken.parts, list(taken.notes)
    except Refused as refused:
        notes.append(f"cannot be taken apart: {refused.detail} [{refused.code}]")
    return {
        "file": file,
        "format": shown.format.value,
        "contentType": shown.content_type,
        "kind": document_kind(parts[0].data).value if parts else "",
        "parts": [_part(part) for part in parts],
        "notes": notes,
    }


def _part(part: Part) -> dict[str, Any]:
    kind = document_kind(part.data).value
    return {
        "id": part.id,
        "contentType": part.content_type,
        "kind": kind,
        "bytes": len(part.data),
        "attachment": part.attachment,
    }


def _row(found: dict[str, Any]) -> list[str]:
    parts = [f"{part['kind'] or media_type_of(part['contentType'])} ({part['bytes']} bytes)" for part in found["parts"]]
    more = [f"and {len(parts) - SHOWN} more"] if len(parts) > SHOWN else []
    return [found["file"], _shown_format(found), media_type_of(found["contentType"]), ", ".join(parts[:SHOWN] + more)]


def _shown_format(found: dict[str, Any]) -> str:
    """The message's format, or the kind of document for a file that is one document without a wrapper."""
    wrapped = found["contentType"].startswith(("multipart/", "message/"))
    is_bare = found["format"] == Format.MIME.value and len(found["parts"]) == 1 and not wrapped
    return found["kind"] or "unknown" if is_bare else found["format"]

"""The commands ``postroad detect`` and ``postroad convert``: find the format of messages, and translate between formats."""

from __future__ import annotations

import sys
from binascii import b2a_base64
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.input.messages import read_wire
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.native_formats import FORMS
from postroad.core.documents.detection import document_kind
from postroad.core.mediation.format_detection import detect_format
from postroad.core.mediation.formats import decode_wire, encode_message, message_of
from postroad.core.mediation.model import EncodedMessage, OutgoingMessage, Wire
from postroad.core.model.formats import OWN, PLAIN, Format
from postroad.core.model.message import Part
from postroad.errors import Refused

SHOWN = 4  # parts of a message in the table


@command
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--content-type", default="", help="Content type of the files.")
@click.option(
    "--headers", "headers_file", default="", help="File with the header lines of the messages.", metavar="FILE"
)
def detect(out: Output, files: tuple[str, ...], content_type: str, headers_file: str) -> None:
    """Detect the format of messages from their bytes.

    Headers are a hint: they come from the options, a file beside the message (order.dime.content-type), or the
    message itself, if it was captured with its head. A FILE named - is standard input; of a folder all files are
    examined.
    """
    inside = [file for name in files for file in _files(name)]
    found = [_detect_message(file, read_wire(file, content_type, headers_file)) for file in inside]
    for one in found:
        out.value(one)
    out.table(["FILE", "FORMAT", "CONTENT TYPE", "PARTS"], [_format_row(one) for one in found])
    for one in found:
        for note in one["notes"]:
            out.print(f"{one['file']}: {note}")


def _files(name: str) -> list[str]:
    """The file itself, or the files in a folder and below."""
    folder = Path(name)
    return sorted(str(file) for file in folder.rglob("*") if file.is_file()) if folder.is_dir() else [name]


def _detect_message(file: str, wire: Wire) -> dict[str, Any]:
    shown = detect_format(wire)
    notes = [shown.note] if shown.note else []
    parts: tuple[Part, ...] = ()
    try:
        taken = decode_wire(wire)
        parts, notes = taken.parts, list(taken.notes)
    except Refused as refused:
        notes.append(f"cannot be decoded: {refused.detail} [{refused.code}]")
    return {
        "file": file,
        "format": shown.format.value,
        "contentType": shown.content_type,
        "kind": document_kind(parts[0].data).value if parts else "",
        "parts": [_part_value(part) for part in parts],
        "notes": notes,
    }


def _part_value(part: Part) -> dict[str, Any]:
    kind = document_kind(part.data).value
    return {
        "id": part.id,
        "contentType": part.content_type,
        "kind": kind,
        "bytes": len(part.data),
        "attachment": part.attachment,
    }


def _format_row(found: dict[str, Any]) -> list[str]:
    parts = [f"{part['kind'] or media_type_of(part['contentType'])} ({part['bytes']} bytes)" for part in found["parts"]]
    more = [f"and {len(parts) - SHOWN} more"] if len(parts) > SHOWN else []
    return [found["file"], _shown_format(found), media_type_of(found["contentType"]), ", ".join(parts[:SHOWN] + more)]


def _shown_format(found: dict[str, Any]) -> str:
    """The message's format, or the kind of document for a file that is one document without a wrapper."""
    wrapped = found["contentType"].startswith(("multipart/", "message/"))
    is_bare = found["format"] == Format.MIME.value and len(found["parts"]) == 1 and not wrapped
    return found["kind"] or "unknown" if is_bare else found["format"]


FORMATS = click.Choice([format.value for format in (*PLAIN, *OWN)])


@command
@click.argument("file")
@click.option("--to", "wanted", required=True, type=FORMATS, help="Target format.")
@click.option("--out", "target", default="", help="File to write to; default: standard output.", metavar="FILE")
@click.option("--content-type", default="", help="Content type of the message.")
@click.option(
    "--headers", "headers_file", default="", help="File with the header lines of the message.", metavar="FILE"
)
@click.option("--with-headers", is_flag=True, help="Write its headers and an empty line first.")
@click.option("--whole-only", is_flag=True, help="Fail if the format cannot carry everything.")
def convert(
    out: Output, file: str, wanted: str, target: str, content_type: str, headers_file: str, with_headers: bool,
    whole_only: bool,
) -> None:  # fmt: skip
    """Convert a message to another format, as the network would.

    Reports on standard error what the format cannot carry. The network's native formats are written as the message
    would be posted in them; as2 is the entity that is then signed. A FILE named - is standard input.
    """
    given = _encode_message(read_wire(file, content_type, headers_file), Format(wanted))
    for sentence in given.dropped:
        click.echo(f"omitted: {sentence}", err=True)
    if given.dropped and whole_only:
        out.error("mediation.lossy", f"{wanted} cannot carry all of it; omit --whole-only to convert it anyway")
        sys.exit(ExitCode.ERROR)
    data = given.entity_head + b"\r\n" + given.data if with_headers or wanted == Format.AS2 else given.data
    _write(out, target, data, given)


def _encode_message(wire: Wire, format: Format) -> EncodedMessage:
    """Encode the message; the boundaries depend only on the input, so the same file gives the same bytes."""
    taken = decode_wire(wire)
    message = message_of(wire, taken)
    if format in FORMS:
        return EncodedMessage(media_type=FORMS[format].media_type, body=[FORMS[format].encode_post(message)])
    outgoing = OutgoingMessage(
        parts=message.parts,
        wrapper=taken.wrapper,
        seed=sha256(wire.body).digest(),
        sender=message.sender,
        topic=message.topic,
        handle=message.handle,
        properties=message.properties,
    )
    return encode_message(outgoing, format)


def _write(out: Output, target: str, data: bytes, given: EncodedMessage) -> None:
    said = {
        "contentType": given.media_type,
        "headers": dict(given.headers),
        "dropped": given.dropped,
        "bytes": len(data),
    }
    if target:
        Path(target).write_bytes(data)
        out.value(said)
        out.print(f"{target}: {given.media_type} ({len(data)} bytes)")
    elif out.as_json:
        out.value(said | {"base64": b2a_base64(data, newline=False).decode()})
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

"""``postroad convert``: a message in another format, as the network would hand it out."""

from __future__ import annotations

import sys
from binascii import b2a_base64
from hashlib import sha256
from pathlib import Path

import click

from postroad.cli.command import command
from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.cli.wire_files import wire_in
from postroad.core.codecs.detect import FORMS
from postroad.core.mediation.nouns import Given, Outgoing, Wire
from postroad.core.mediation.translating import give, message_of, take
from postroad.core.model.formats import OWN, PLAIN, Format

FORMATS = click.Choice([format.value for format in (*PLAIN, *OWN)])


@command
@click.argument("file")
@click.option("--to", "wanted", required=True, type=FORMATS, help="The format that is wanted.")
@click.option("--out", "target", default="", help="File to write to; standard output otherwise.", metavar="FILE")
@click.option("--content-type", default="", help="The content type under which the message came.")
@click.option("--headers", "headers_file", default="", help="File of header lines under which it came.", metavar="FILE")
@click.option("--with-headers", is_flag=True, help="Write the headers that go with it, and an empty line, before it.")
@click.option("--whole-only", is_flag=True, help="Fail when the format has no place for something.")
def convert(
    out: Output, file: str, wanted: str, target: str, content_type: str, headers_file: str, with_headers: bool,
    whole_only: bool,
) -> None:  # fmt: skip
    """Put a message into another format, as the network would.

    Says on standard error what the format has no place for. The network's own forms are written as the message would
    be posted in them; as2 is the entity that is then signed. A FILE named - is standard input.
    """
    given = _given(wire_in(file, content_type, headers_file), Format(wanted))
    for sentence in given.dropped:
        click.echo(f"left out: {sentence}", err=True)
    if given.dropped and whole_only:
        out.error(
            "mediation.lossy", f"{wanted} has no place for all of it; leave --whole-only out to convert it anyway"
        )
        sys.exit(Exit.ERROR)
    data = given.entity_head + b"\r\n" + given.data if with_headers or wanted == Format.AS2 else given.data
    _write(out, target, data, given)


def _given(wire: Wire, format: Format) -> Given:
    """The same file makes the same bytes: boundaries follow from it."""
    taken = take(wire)
    message = message_of(wire, taken)
    if format in FORMS:
        return Given(media_type=FORMS[format].media_type, body=[FORMS[format].encode_post(message)])
    outgoing = Outgoing(
        parts=message.parts,
        setting=taken.setting,
        seed=sha256(wire.body).digest(),
        sender=message.sender,
        topic=message.topic,
        handle=message.handle,
        properties=message.properties,
    )
    return give(outgoing, format)


def _write(out: Output, target: str, data: bytes, given: Given) -> None:
    said = {
        "contentType": given.media_type,
        "headers": dict(given.headers),
        "dropped": given.dropped,
        "bytes": len(data),
    }
    if target:
        Path(target).write_bytes(data)
        out.value(said)
        out.say(f"{target}: {given.media_type} ({len(data)} bytes)")
    elif out.as_json:
        out.value(said | {"base64": b2a_base64(data, newline=False).decode()})
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

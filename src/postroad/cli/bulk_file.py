"""Posting a file of JSON lines, one message a line in the JSON form, with a bar that shows how far it has come."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.client import Client, Message, Refused
from postroad.client.chunk_posting import Answer
from postroad.core.codecs.json_form import JSON_FORM, write_result


def post_lines(out: Output, client: Client, files: tuple[str, ...]) -> None:
    """One line of output for each message, in order; exit code 3 when some were refused."""
    if not files:
        raise click.UsageError("--bulk needs a FILE of JSON lines, or - for standard input")
    lines = [line for file in files for line in _lines(file)]
    with out.progress("posting", len(lines)) as advance:
        answers = client.post_many(_messages(lines), advance)
    for number, answer in enumerate(answers, 1):
        _report(out, number, answer)
    refused = sum(isinstance(answer, Refused) for answer in answers)
    out.say(f"{len(answers) - refused} of {len(answers)} messages accepted")
    if refused:
        sys.exit(Exit.REFUSED)


def _lines(file: str) -> list[bytes]:
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    return [line for line in data.split(b"\n") if line.strip()]


def _messages(lines: list[bytes]) -> Iterator[Message]:
    for number, line in enumerate(lines, 1):
        try:
            yield JSON_FORM.decode_post(line)
        except Refused as refused:
            raise Refused(refused.code, f"line {number}: {refused.detail}", pointer=refused.pointer) from refused


def _report(out: Output, number: int, answer: Answer) -> None:
    if isinstance(answer, Refused):
        out.value({"line": number, "code": answer.code, "detail": answer.detail, "session": answer.session})
        out.say(f"line {number}: {answer.detail} [{answer.code}]")
    else:
        out.value(write_result(answer))

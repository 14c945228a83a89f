"""Posting a file of JSON lines, one message a line in the JSON form, with a bar that shows how far it has come.

Kept rules: all lines are read before the first is posted, so that a fault in one of them leaves nothing half done; and what was
answered is told whatever happens next, because whoever posts the rest must know where it begins.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click

from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.client import Client, Message, Refused
from postroad.client.chunk_posting import Answer
from postroad.client.chunks import chunks
from postroad.core.codecs.json_form import JSON_FORM, write_result


class Line(NamedTuple):
    file: str
    number: int
    data: bytes

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}" if self.file else f"line {self.number}"


def post_lines(out: Output, client: Client, files: tuple[str, ...]) -> None:
    """One line of output for each message, in order; exit code 3 when some were refused."""
    if not files:
        raise click.UsageError("--bulk needs a FILE of JSON lines, or - for standard input")
    lines = [line for file in files for line in _lines(file, is_named=len(files) > 1)]
    messages = [_message(line) for line in lines]
    answers: list[Answer] = []
    try:
        with out.progress("posting", len(lines)) as advance:
            for chunk in chunks(messages):
                answers += client.post_many(chunk)
                _print(out, lines, answers[-len(chunk) :], begin=len(answers) - len(chunk))
                advance(len(answers))
    finally:
        _tell(out, lines, answers)
    if any(isinstance(answer, Refused) for answer in answers):
        sys.exit(Exit.REFUSED)


def _lines(file: str, *, is_named: bool) -> Iterator[Line]:
    """Those that are not empty, by the number that editors show."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield Line(file if is_named else "", number, line)


def _message(line: Line) -> Message:
    try:
        return JSON_FORM.decode_post(line.data)
    except Refused as refused:
        detail = f"{line}: {refused.detail}; nothing was posted"
        raise Refused(refused.code, detail, pointer=refused.pointer) from refused


def _print(out: Output, lines: list[Line], answers: list[Answer], begin: int) -> None:
    for line, answer in zip(lines[begin:], answers, strict=False):
        if isinstance(answer, Refused):
            place = {"file": line.file, "line": line.number} if line.file else {"line": line.number}
            out.value(place | {"code": answer.code, "detail": answer.detail, "session": answer.session})
        else:
            out.value(write_result(answer))


def _tell(out: Output, lines: list[Line], answers: list[Answer]) -> None:
    for line, answer in zip(lines, answers, strict=False):
        if isinstance(answer, Refused):
            out.say(f"{line}: {answer.detail} [{answer.code}]")
    accepted = sum(not isinstance(answer, Refused) for answer in answers)
    unknown = f"; no answer came for {lines[len(answers)]} and after it" if len(answers) < len(lines) else ""
    out.say(f"{accepted} of {len(lines)} messages accepted{unknown}")

"""A delivered message on the terminal: its header, and those of its documents that are text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from postroad.cli.framework.output import strip_controls
from postroad.core.codecs.lexical import write_time
from postroad.core.model.message import Delivered, Part

MAX_TEXT = 4000


def delivered_lines(message: Delivered) -> Iterator[Text]:
    yield Text(f"{message.type.value} from {message.sender}", style="bold").append(
        f"  {write_time(message.posted_at_us)}", style="dim"
    )
    for name, value in _facts(message):
        yield Text(f"  {name:<9}", style="dim").append(value)
    for part in message.parts:
        yield from _part_lines(part, message.session)


def _facts(message: Delivered) -> Iterator[tuple[str, str]]:
    yield "session", message.session
    yield "token", message.token
    if message.topic:
        yield "topic", message.topic
    if message.handle:
        yield "handle", message.handle
    if message.reference:
        yield "answers", message.reference.session
    if message.status:
        yield "status", f"{message.status.code} {message.status.text}".rstrip()
    for entry in message.properties:
        yield "property", f"{entry.name} = {entry.value}"
    for stop in message.trace:
        yield "passed", f"{stop.service}  {write_time(stop.at_us)}" + (f"  {stop.status.code}" if stop.status else "")
    if message.cookie:
        yield "cookie", strip_controls(message.cookie.content)
    if message.attempt > 1:
        yield "attempt", str(message.attempt)


def _part_lines(part: Part, session: str) -> Iterator[Text]:
    kind = "attachment" if part.attachment else "document"
    yield Text(f"  {kind} {part.id} ({part.content_type}, {len(part.data)} bytes)", style="dim")
    try:
        text = part.data.decode()
    except UnicodeDecodeError:
        yield Text("    not text; use --json to get it", style="dim")
        return
    for line in text[:MAX_TEXT].splitlines():
        yield Text("    " + strip_controls(line))
    if len(text) > MAX_TEXT:
        more = f"    … and {len(text) - MAX_TEXT} characters more; --json prints all, now or "
        yield Text(f"{more}with `postroad trace {session} --documents`", style="dim")

"""The server's log on standard error: text for people, or one JSON object per line.

Each message begins with the name of its event, ``index.rebuilt: …``; ``docs/reference/log-events.md`` lists them. Rule:
the ``extra`` fields of a record become fields of the JSON line; an exception is logged completely, since it is a
programming error or an outage, and neither contains a payload. Rule: a line that repeats an earlier one within ten
seconds is counted, and reported once.
"""

from __future__ import annotations

import logging
import re
import threading
from datetime import UTC, datetime
from typing import TextIO

import msgspec

WORDS = "%(asctime)s %(levelname)s %(name)s: %(message)s"
REPEATED_WITHIN_S = 10.0
MAX_REMEMBERED = 1_000
EVENT = re.compile(r"([a-z][a-z0-9_]*\.[a-z0-9_]+): ")
PRIORITIES = {"DEBUG": "<7>", "INFO": "<6>", "WARNING": "<4>", "ERROR": "<3>", "CRITICAL": "<2>"}  # of syslog
USUAL = frozenset(
    logging.LogRecord(name="", level=0, pathname="", lineno=0, msg="", args=(), exc_info=None).__dict__
) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        text = record.getMessage()
        event = EVENT.match(text)
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **({"event": event[1]} if event else {}),
            "message": text[event.end() :] if event else text,
        }
        line |= {name: value for name, value in record.__dict__.items() if name not in USUAL}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


class RepeatedLine:
    """A line that was written, and how often it came again since; no reference to the objects it was made of is kept."""

    __slots__ = ("count", "record", "since_s")

    def __init__(self, record: logging.LogRecord) -> None:
        self.record = _copy_text_of(record)
        self.since_s = record.created
        self.count = 0


class OperatorLog(logging.StreamHandler[TextIO]):
    """Writes to standard error; ``with_priorities`` puts the syslog priority first, as systemd reads it."""

    def __init__(self, stream: TextIO | None = None, *, with_priorities: bool = False) -> None:
        super().__init__(stream)
        self._with_priorities = with_priorities
        self._lines: dict[tuple[str, str], RepeatedLine] = {}
        self._timer: threading.Timer | None = None

    def emit(self, record: logging.LogRecord) -> None:
        key = (record.name, record.getMessage())
        earlier = self._lines.get(key)
        if earlier is not None and record.created - earlier.since_s < REPEATED_WITHIN_S:
            earlier.count += 1
            self._plan_report()
            return
        self._report_due(record.created)
        if len(self._lines) < MAX_REMEMBERED:
            self._lines[key] = RepeatedLine(record)
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return PRIORITIES.get(record.levelname, "") + text if self._with_priorities else text

    def close(self) -> None:
        """Report what was repeated, and close."""
        if self._timer is not None:
            self._timer.cancel()
        self.acquire()
        try:
            self._report_due(float("inf"))
        finally:
            self.release()
        super().close()

    def _plan_report(self) -> None:
        if self._timer is None:
            self._timer = threading.Timer(REPEATED_WITHIN_S, self._report_now)
            self._timer.daemon = True
            self._timer.start()

    def _report_now(self) -> None:
        self.acquire()
        try:
            self._timer = None
            self._report_due(float("inf"))
        finally:
            self.release()

    def _report_due(self, now_s: float) -> None:
        due = [key for key, line in self._lines.items() if now_s - line.since_s >= REPEATED_WITHIN_S]
        for key in due:
            line = self._lines.pop(key)
            if line.count:
                super().emit(_summary_of(line))


def _copy_text_of(record: logging.LogRecord) -> logging.LogRecord:
    """Return the record as text: without its arguments and its exception, whose frames refer to bodies and secrets."""
    text = {"msg": record.getMessage(), "args": (), "exc_info": None, "exc_text": None, "stack_info": None}
    return logging.makeLogRecord(record.__dict__ | text)


def _summary_of(line: RepeatedLine) -> logging.LogRecord:
    """Return the record that reports how often a line was repeated; an exception is not written again."""
    first = line.record
    return logging.makeLogRecord(
        first.__dict__ | {"msg": f"{first.msg} (repeated: {line.count})", "repeated": line.count}
    )

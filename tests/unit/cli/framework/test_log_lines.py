"""A log line is one JSON object, whatever is in it."""

from __future__ import annotations

import io
import json
import logging
import sys
import weakref
from pathlib import Path

from postroad.cli.framework.operator_log import JsonLines, OperatorLog


def formatted(message: str, *arguments: object, **extra: object) -> dict[str, object]:
    record = logging.LogRecord("postroad.http", logging.WARNING, __file__, 1, message, arguments, None)
    record.__dict__.update(extra)
    text = JsonLines().format(record)
    assert "\n" not in text
    found: dict[str, object] = json.loads(text)
    return found


def test_words_and_attached_fields_are_kept() -> None:
    line = formatted("%s left\nearly", "somebody", status=404, path=Path("a"))
    assert line.pop("at")
    assert line == {
        "level": "warning",
        "logger": "postroad.http",
        "message": "somebody left\nearly",
        "status": 404,
        "path": "a",
    }


def test_an_exception_is_told_whole() -> None:
    try:
        raise ValueError("wrong")
    except ValueError:
        line = formatted("it failed", exc_info=sys.exc_info())
    assert "ValueError: wrong" in str(line["exception"])


def test_the_event_is_a_field_of_its_own() -> None:
    line = formatted("index.rebuilt: up to entry %d", 7)
    assert (line["event"], line["message"]) == ("index.rebuilt", "up to entry 7")


def log_of(*records: tuple[float, int, str], with_priorities: bool = False) -> list[str]:
    """The lines for records at these seconds; the log is closed afterwards."""
    stream = io.StringIO()
    lines = OperatorLog(stream, with_priorities=with_priorities)
    lines.setFormatter(logging.Formatter("%(message)s"))
    for at_s, level, text in records:
        record = logging.LogRecord("postroad", level, __file__, 1, text, (), None)
        record.created = at_s
        lines.handle(record)
    lines.close()
    return stream.getvalue().splitlines()


def test_a_line_that_comes_again_is_counted_and_told_once() -> None:
    warning = logging.WARNING
    storm = [(100.0 + number / 100, warning, "postgres.unavailable: away") for number in range(413)]
    other = (103.0, warning, "index.waiting: away")
    later = (111.0, warning, "postgres.unavailable: away")
    assert log_of(*storm, other, later) == [
        "postgres.unavailable: away",
        "index.waiting: away",
        "postgres.unavailable: away (repeated: 412)",
        "postgres.unavailable: away",
    ]


def test_what_was_repeated_is_told_at_the_end_too() -> None:
    assert log_of((1.0, logging.INFO, "a.b: c"), (2.0, logging.INFO, "a.b: c")) == ["a.b: c", "a.b: c (repeated: 1)"]


def test_the_count_is_a_field_in_json() -> None:
    stream = io.StringIO()
    lines = OperatorLog(stream)
    lines.setFormatter(JsonLines())
    for _ in range(3):
        lines.handle(logging.makeLogRecord({"msg": "a.b: c", "levelname": "INFO", "name": "postroad"}))
    lines.close()
    assert [json.loads(line).get("repeated") for line in stream.getvalue().splitlines()] == [None, 2]


def test_systemd_gets_priorities() -> None:
    records = [(1.0, level, f"a.b: {level}") for level in (logging.INFO, logging.WARNING, logging.ERROR)]
    assert log_of(*records, with_priorities=True) == ["<6>a.b: 20", "<4>a.b: 30", "<3>a.b: 40"]


def test_a_remembered_line_keeps_nothing_that_it_was_made_of() -> None:
    class Body:
        pass

    def fail(body: Body) -> None:
        raise ValueError("wrong")

    stream = io.StringIO()
    lines = OperatorLog(stream)
    lines.setFormatter(logging.Formatter("%(message)s"))
    body = Body()
    is_kept = weakref.ref(body)
    try:
        fail(body)
    except ValueError:
        lines.handle(logging.LogRecord("postroad", logging.ERROR, __file__, 1, "a.b: %s %%", (body,), sys.exc_info()))
    text = f"a.b: {body} %"
    del body
    assert is_kept() is None
    lines.handle(logging.LogRecord("postroad", logging.ERROR, __file__, 1, text.replace("%", "%%"), (), None))
    lines.handle(logging.makeLogRecord({"name": "postroad", "levelname": "ERROR", "msg": text}))
    lines.close()
    assert stream.getvalue().splitlines()[-1] == f"{text} (repeated: 1)"
    assert "ValueError: wrong" in stream.getvalue()

"""A log line is one JSON object, whatever is in it."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from postroad.cli.framework.server_process import JsonLines


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

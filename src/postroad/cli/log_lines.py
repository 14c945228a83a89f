"""What the server logs, a line at a time on standard error: words for people, or one JSON object for programs.

Kept rule: what was attached to a record (``extra``) becomes fields of the JSON line; an exception is told whole, since it is a
programming mistake or an outage, and neither carries a payload.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import msgspec

WORDS = "%(asctime)s %(levelname)s %(name)s: %(message)s"
USUAL = frozenset(logging.LogRecord("", 0, "", 0, "", (), None).__dict__) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in record.__dict__.items() if name not in USUAL}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def log_to_stderr(level: str, *, as_json: bool) -> None:
    lines = logging.StreamHandler()
    lines.setFormatter(JsonLines() if as_json else logging.Formatter(WORDS))
    logging.basicConfig(level=level.upper(), handlers=[lines], force=True)
    logging.getLogger("httpx2").setLevel("WARNING")  # it would log every request of the demo's own clients

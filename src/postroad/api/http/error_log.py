"""Logs a programming error that occurred while a request was served.

Rule: the log has the location and type of the error, never the data. An exception's text may quote a payload or a
password, so it is not logged; the lines of code are.
"""

from __future__ import annotations

import logging
import traceback

log = logging.getLogger("postroad.http")


def log_error(method: bytes, path: bytes, error: BaseException) -> None:
    places = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    log.error(
        "http.failed: %s %s failed with %s\n%s",
        method.decode("latin-1"),
        path.decode("latin-1"),
        type(error).__qualname__,
        places,
    )

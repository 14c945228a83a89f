"""Locates an error in the code for logs, which must not quote messages."""

from __future__ import annotations

import traceback


def locate_error(error: Exception) -> str:
    """Return the error's type and file:line; never its text, which may quote a message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"

"""Where in the code something failed, for logs, which never say what a message says."""

from __future__ import annotations

import traceback


def place_of(error: Exception) -> str:
    """What kind of fault it was and where in the code; not its text, which may quote the message."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" in {frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{where}"

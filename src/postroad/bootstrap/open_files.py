"""Raises the limit of open files: each push in progress and each client needs one.

Rule: what the operator has set as the most (the hard limit) stays. Only what a shell hands out by default, often 1,024, is
too little for a node that pushes to hundreds of servers at a time.
"""

from __future__ import annotations

import resource


def allow_open_files() -> None:
    """Raise the process's soft limit of open files to its hard limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (ValueError, OSError):  # some systems name a most that they do not grant; then what is there must do
        return

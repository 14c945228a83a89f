"""Raises the limit of open files: each push in progress and each client needs one.

Rule: the operator's maximum (the hard limit) stays. Only the shell's default, often 1,024, is raised, since it is too
small for a node that pushes to hundreds of servers at a time.
"""

from __future__ import annotations

import resource


def allow_open_files() -> None:
    """Raise the process's soft limit of open files to its hard limit."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    except (ValueError, OSError):  # some systems report a hard limit that they do not grant; the current limit stays
        return

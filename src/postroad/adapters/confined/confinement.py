"""Restrictions that a worker process puts on itself; the operating system enforces them.

Rule: after confinement the process can open nothing: its limit of file descriptors is 0, so it can open no file,
socket or pipe, and only existing descriptors work. This needs no privilege and can never be undone, since limits can
only be lowered. Everything that must be loaded is loaded before.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import sys
from pathlib import Path

from postroad.errors import Misconfigured

NOBODY = 65_534
CPU_SLACK_S = 2  # the server's deadline is the one that counts; this one is for a server that is gone
_PR_SET_NO_NEW_PRIVS = 38
_CAP_SYS_RESOURCE = 24


def limit_resources(memory_bytes: int) -> None:
    """Before the engine is loaded. RLIMIT_AS would be of no use: the engine reserves address space by the dozen gigabytes."""
    memory_bytes = _at_most(resource.RLIMIT_DATA, memory_bytes)
    resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_cpu(seconds: float) -> None:
    """Limit the CPU time of the next call. The limit covers the process's whole life, so it is raised for each call."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = math.ceil(used.ru_utime + used.ru_stime + seconds) + CPU_SLACK_S
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (_at_most(resource.RLIMIT_CPU, allowed), hard))


def _at_most(limit: int, wanted: int) -> int:
    """The wanted limit, or the server's own if that is lower."""
    _, hard = resource.getrlimit(limit)
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def close_doors() -> None:
    """After the engine is loaded and has worked once."""
    _give_up_privileges()
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    _check_closed()


def _give_up_privileges() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):  # a container may not have the user
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        if os.geteuid() == 0 and may_raise_limits(_status()):
            raise Misconfigured(
                [
                    "the worker stays root and could open files again: it can neither become nobody (user 65534) nor is it "
                    "without CAP_SYS_RESOURCE; run the server as another user, or in a container with that user or without "
                    "that capability"
                ]
            )


def may_raise_limits(status: str) -> bool:
    """Whether a process with this /proc/self/status may raise its limits; where that is not known, it may."""
    line = next((line for line in status.splitlines() if line.startswith("CapEff:")), "")
    return not line or bool(int(line.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)


def _status() -> str:
    try:
        return Path("/proc/self/status").read_text()
    except OSError:
        return ""


def _check_closed() -> None:
    with contextlib.suppress(OSError):
        os.close(os.open(os.devnull, os.O_RDONLY))
        raise Misconfigured(["the transform worker can still open files; this system does not keep RLIMIT_NOFILE"])

"""Free ports for servers that tests start, stop and restart.

Rule: ports are below the system's ephemeral range. Otherwise another process could get the port of a server that is being
restarted, and a client that connects during the restart could connect to itself.
"""

from __future__ import annotations

import itertools
import os
import socket

PORTS = range(20_000, 32_000)  # ephemeral ports start at 32768 on Linux, at 49152 on macOS

# Parallel test runs start at different ports; a run reuses a port only after all others.
_steps = itertools.count(os.getpid() * 997)


def free_port() -> int:
    for _ in PORTS:
        port = PORTS[next(_steps) % len(PORTS)]
        if _is_free(port):
            return port
    raise OSError(f"no port from {PORTS.start} to {PORTS.stop - 1} is free on 127.0.0.1")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True

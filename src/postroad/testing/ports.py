"""Free ports for servers that tests start, stop and restart.

Rule: below the ports that the system hands out by itself, or another process would be given the port of a server that is
just being restarted, and a client that knocks there meanwhile could be connected to itself.
"""

from __future__ import annotations

import itertools
import os
import socket

PORTS = range(20_000, 32_000)  # Linux hands out those from 32768, macOS those from 49152

# Test runs side by side begin at different places; in one run a port comes again only after all others.
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

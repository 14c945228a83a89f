"""Resolves names with the machine's resolver, in separate threads, so that slow name servers delay nothing else.

Rule: one query per name at a time. However many pushes wait for a name whose servers do not answer, they occupy one
thread.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

AT_ONCE = 32


class SystemResolver:
    """Resolves names with ``getaddrinfo``, which uses the hosts file and the machine's name servers."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="resolver")
        self._asking: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """Return all addresses of the name, best first; empty if it has none."""
        asking = self._asking.get(host)
        if asking is None:
            asking = asyncio.get_running_loop().run_in_executor(self._threads, _ask, host)
            self._asking[host] = asking
            asking.add_done_callback(lambda _: self._asking.pop(host, None))
        return await asyncio.shield(asking)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _ask(host: str) -> list[str]:
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))

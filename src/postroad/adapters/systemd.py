"""The protocol of the service manager (systemd): sockets that it has opened, and messages about the state of this process.

Both are a few lines each, so no package is needed: sockets are file descriptors from 3 on (``LISTEN_FDS``), and a message
is one datagram to the socket in ``NOTIFY_SOCKET``. Without these variables nothing is done.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import MutableMapping

FIRST_FD = 3
LISTENING = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES")
HTTP = "http"  # FileDescriptorName= of the sockets that HTTP is served on
UNNAMED = frozenset({"unknown", "postroad.socket", ""})  # what systemd calls sockets without a name


def take_listening_sockets(environment: MutableMapping[str, str], pid: int) -> dict[str, list[socket.socket]]:
    """Return the listening sockets that were passed to this process, by name; processes started later do not get them."""
    found: dict[str, list[socket.socket]] = {}
    if environment.get("LISTEN_PID") == str(pid):
        count = int(environment.get("LISTEN_FDS", "0"))
        names = environment.get("LISTEN_FDNAMES", "").split(":")
        for place in range(count):
            name = names[place] if place < len(names) else ""
            os.set_inheritable(FIRST_FD + place, False)
            found.setdefault(HTTP if name in UNNAMED else name, []).append(socket.socket(fileno=FIRST_FD + place))
    for variable in LISTENING:
        environment.pop(variable, None)
    return found


class SystemdNotifier:
    """Tells the service manager that this process is ready, still responds, and is stopping."""

    def __init__(self, environment: MutableMapping[str, str], pid: int) -> None:
        self._address = environment.pop("NOTIFY_SOCKET", "")
        self._watchdog_s = 0.0
        if environment.pop("WATCHDOG_PID", str(pid)) == str(pid):
            self._watchdog_s = int(environment.pop("WATCHDOG_USEC", "0")) / 1_000_000
        self._task: asyncio.Task[None] | None = None

    def report_ready(self) -> None:
        """Report readiness; from now on, report at half the watchdog's interval that the event loop responds."""
        self._send("READY=1")
        if self._watchdog_s and self._address:
            self._task = asyncio.get_running_loop().create_task(self._respond(), name="watchdog")

    def stopping(self) -> None:
        """Report that this process is stopping."""
        self._send("STOPPING=1")
        if self._task is not None:
            self._task.cancel()

    async def _respond(self) -> None:
        while True:
            self._send("WATCHDOG=1")
            await asyncio.sleep(self._watchdog_s / 2)

    def _send(self, state: str) -> None:
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address  # @: an abstract name
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.setblocking(False)
            sending.sendto(state.encode(), address)

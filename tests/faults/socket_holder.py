"""Holds the listening socket of a server and starts the server again whenever it ends, as systemd does with a socket unit.

    python socket_holder.py COMMAND …       listens on POSTROAD_PORT, and appends the server's notices to ``notices``

SIGHUP restarts the server (SIGTERM, then a new process); SIGTERM ends both.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
from pathlib import Path

WATCHDOG_USEC = "400000"
restarting: list[bool] = []
ending: list[bool] = []


def main(command: list[str]) -> int:
    listener = socket.create_server(("127.0.0.1", int(os.environ["POSTROAD_PORT"])), backlog=1024)
    notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    address = str(Path(os.environ["POSTROAD_DATA"]).with_name("notify"))
    Path(address).unlink(missing_ok=True)
    notices.bind(address)
    signal.signal(signal.SIGHUP, lambda *_: restarting.append(True))
    signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
    while True:
        child = start(command, listener, address)
        code = supervise(child, notices)
        if ending:
            return code


def start(command: list[str], listener: socket.socket, notify: str) -> int:
    """Start the server with the socket as file descriptor 3."""
    child = os.fork()
    if not child:
        become(command, listener, notify)
    return child


def become(command: list[str], listener: socket.socket, notify: str) -> None:
    os.dup2(listener.fileno(), 3)
    os.set_inheritable(3, True)  # which ``dup2`` does not do if it is 3 already
    names = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1", "LISTEN_FDNAMES": "postroad.socket"}
    os.environ.update(names, NOTIFY_SOCKET=notify, WATCHDOG_USEC=WATCHDOG_USEC, WATCHDOG_PID=str(os.getpid()))
    os.execv(command[0], command)


def supervise(child: int, notices: socket.socket) -> int:
    """Note what the server reports until it has ended; returns its exit code."""
    told = False
    with Path("notices").open("a") as file:
        while True:
            if (restarting or ending) and not told:
                os.kill(child, signal.SIGTERM)
                told = True
            while select.select([notices], [], [], 0.01)[0]:
                file.write(f"{child} {notices.recv(1024).decode()}\n")
                file.flush()
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                restarting.clear()
                return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

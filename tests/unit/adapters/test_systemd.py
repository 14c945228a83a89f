"""The protocol of systemd: listening sockets are taken once and by name, and states are sent as datagrams."""

from __future__ import annotations

import asyncio
import os
import select
import socket
import time
from pathlib import Path

import pytest

from postroad.adapters import systemd
from postroad.adapters.systemd import SystemdNotifier, take_listening_sockets
from tests.waiting import eventually_async


@pytest.fixture
def passed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two listening sockets with neighbouring descriptors, as systemd passes them; returns their ports."""
    listening = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    first = 700
    for place, one in enumerate(listening):
        os.dup2(one.fileno(), first + place)
        one.close()
    monkeypatch.setattr(systemd, "FIRST_FD", first)
    return [port_of(first + place) for place in range(2)]


def port_of(descriptor: int) -> int:
    with socket.socket(fileno=os.dup(descriptor)) as found:
        return int(found.getsockname()[1])


def take(environment: dict[str, str], pid: int = 7) -> dict[str, list[int]]:
    """The ports of the sockets that were taken, by name."""
    found = take_listening_sockets(environment, pid)
    ports = {name: [int(one.getsockname()[1]) for one in sockets] for name, sockets in found.items()}
    for one in (one for sockets in found.values() for one in sockets):
        assert not one.get_inheritable()
        one.close()
    return ports


def test_sockets_are_taken_by_name(passed: list[int]) -> None:
    environment = {"LISTEN_PID": "7", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "metrics:http", "PATH": "/bin"}
    assert take(environment) == {"metrics": [passed[0]], "http": [passed[1]]}
    assert environment == {"PATH": "/bin"}, "processes that are started later do not take them again"


@pytest.mark.parametrize("names", [{}, {"LISTEN_FDNAMES": "unknown:postroad.socket"}])
def test_sockets_without_a_name_are_for_http(passed: list[int], names: dict[str, str]) -> None:
    assert take({"LISTEN_PID": "7", "LISTEN_FDS": "2", **names}) == {"http": passed}


@pytest.mark.parametrize("environment", [{}, {"LISTEN_PID": "8", "LISTEN_FDS": "1"}])
def test_sockets_for_another_process_are_left_alone(environment: dict[str, str]) -> None:
    assert take(environment) == {}
    assert environment == {}


async def test_states_are_sent_until_the_process_stops(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.bind(str(tmp_path / "notify"))
        receiving.settimeout(30)
        environment = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "20000", "WATCHDOG_PID": "7"}
        notifier = SystemdNotifier(environment, 7)
        notifier.report_ready()
        states = [await asyncio.to_thread(receiving.recv, 100) for _ in range(4)]
        notifier.stopping()
        while (state := await asyncio.to_thread(receiving.recv, 100)) == b"WATCHDOG=1":
            pass
    assert states == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    assert state == b"STOPPING=1"
    assert environment == {}


async def test_without_a_service_manager_nothing_is_sent() -> None:
    notifier = SystemdNotifier({}, 7)
    notifier.report_ready()
    notifier.stopping()


async def test_a_service_manager_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    SystemdNotifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}, 7).report_ready()


async def test_an_event_loop_that_hangs_sends_no_sign_of_life(tmp_path: Path) -> None:
    """systemd kills the process then, and starts it again."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiving:
        receiving.bind(str(tmp_path / "notify"))
        notifier = SystemdNotifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "40000"}, 7)
        notifier.report_ready()
        await asyncio.sleep(0)  # the first sign of life
        assert read_all(receiving)[:2] == ["READY=1", "WATCHDOG=1"]
        time.sleep(0.4)  # sleeps: the event loop hangs for ten intervals
        assert read_all(receiving) == []
        await eventually_async(lambda: read_all(receiving)[:1] == ["WATCHDOG=1"])  # the loop runs again
        notifier.stopping()


def read_all(receiving: socket.socket) -> list[str]:
    """Return the states that have been sent and not been read yet."""
    found = []
    while select.select([receiving], [], [], 0)[0]:
        found.append(receiving.recv(100).decode())
    return found

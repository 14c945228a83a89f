"""A port that a test asks for is free, and not the one that another test has just had."""

from __future__ import annotations

import socket
from contextlib import suppress

from postroad.testing.ports import PORTS, free_port


def test_a_port_that_is_taken_is_passed_over() -> None:
    first = free_port()
    following = PORTS[(first + 1 - PORTS.start) % len(PORTS)]
    with socket.socket() as other:
        with suppress(OSError):  # then somebody else has it
            other.bind(("127.0.0.1", following))
        assert free_port() != following


def test_ports_do_not_come_again_soon() -> None:
    ports = [free_port() for _ in range(200)]
    assert len(set(ports)) == 200
    assert all(port in PORTS for port in ports)

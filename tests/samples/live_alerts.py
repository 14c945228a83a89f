"""Which alerts would fire in a running network, and a stranger that tries keys there."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from postroad.core.metrics.alerts import ALERTS
from tests.samples.served_network import json_lines, postroad

QUICK = ("--seconds", "0.5")


def find_firing(data: Path, *arguments: str) -> list[str]:
    """Return the names of the alerts that ``postroad doctor --live`` reports, and check its exit code."""
    done = postroad("doctor", "--live", "--json", "--data", data, *(arguments or QUICK))
    [states] = json_lines(done.stdout)
    assert [state["alert"] for state in states] == [alert.name for alert in ALERTS]
    names = [state["alert"] for state in states if state["state"] == "fires"]
    assert done.returncode == (1 if names else 0)
    return names


@contextmanager
def repeating(work: Callable[[], None]) -> Iterator[Callable[[], None]]:
    """Call ``work`` again and again in a thread; yields a function that ends it, and raises what it has raised."""
    over = threading.Event()
    errors: list[Exception] = []

    def repeat() -> None:
        try:
            while not over.is_set():
                work()
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=repeat)
    thread.start()

    def end() -> None:
        over.set()
        thread.join()
        if errors:
            raise errors.pop()

    try:
        yield end
    finally:
        end()


@contextmanager
def guessing(url: str) -> Iterator[Callable[[], None]]:
    """Someone tries keys, as fast as they are refused."""

    def guess() -> None:
        asked = urllib.request.Request(f"{url}/v1/status", headers={"Authorization": "Bearer pr_no_such_key"})
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(asked, timeout=30)

    with repeating(guess) as end:
        yield end

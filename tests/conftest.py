"""What every test may ask for, and the check that a requirement claimed by a test exists."""

from __future__ import annotations

import gc
import itertools
import os
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import HealthCheck, settings

from postroad.testing.postgres import PostgresServer
from postroad.testing.server import ServerProcess
from tests.architecture.requirement_claims import false_claims
from tests.preloaded import Preloaded

_database_numbers = itertools.count(1)

# Else each of the many programs that tests start would compile the whole package again: a fifth of the time of its start.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

ServerProcess.popen = Preloaded  # else importing the package would be most of the work of many tests

# A shell makes what it starts in the background deaf to Ctrl-C, and programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How fast a busy machine runs an example says nothing about the code; a hanging one is ended by the test's time-out.
settings.register_profile("postroad", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("postroad")
FEW = "few"  # pytest --hypothesis-profile=few: where it is the interpreter that is tried, and not the code
settings.register_profile(FEW, settings.get_profile("postroad"), max_examples=30)
OWN_SETTINGS = "_hypothesis_internal_use_settings"  # of a test that sets its number of examples itself


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: Python need not look for what may go in thousands of tests and parsed modules."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--hypothesis-profile") == FEW:
        most = settings.get_profile(FEW).max_examples
        for function in {getattr(item, "function", None) for item in items}:
            own = getattr(function, OWN_SETTINGS, None)
            if own is not None and own.max_examples > most:
                setattr(function, OWN_SETTINGS, settings(own, max_examples=most))
    faults = false_claims((item.nodeid, marker.args) for item in items for marker in item.iter_markers("req"))
    if faults:
        raise pytest.UsageError("tests claim requirements that do not exist:\n  " + "\n  ".join(faults))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One real PostgreSQL for the whole run. A test that stops a server starts a ``PostgresServer`` of its own.

    It does not wait for the disk: that matters only when the machine loses power, which it does in none of these tests.
    """
    with PostgresServer(fsync=False) as server:
        yield server


@pytest.fixture(scope="session")
def emptied_databases() -> list[str]:
    """Databases of tests that are over, to be given to others: making and removing one costs more than most tests."""
    return []


@pytest.fixture
def postgres_database(postgres: PostgresServer, emptied_databases: list[str]) -> Iterator[str]:
    """The dsn of an empty database, under a name that no other test has had, so that none can still write to it."""
    name = f"test_{next(_database_numbers)}"
    if emptied_databases:
        postgres.execute(f"ALTER DATABASE {emptied_databases.pop()} RENAME TO {name}")
    else:
        postgres.create_database(name)
    yield postgres.dsn(name)
    postgres.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    postgres.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public", database=name)
    emptied_databases.append(name)

"""What every test may ask for, and the check that a requirement claimed by a test exists."""

from __future__ import annotations

import gc
import itertools
import os
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

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
# Tests that set a number of examples themselves: make test repeats their proof less often, make soak more often.
FEW, FEW_EXAMPLES = (
    "few",
    30,
)  # pytest --hypothesis-profile=few: where it is the interpreter that is tried, and not the code
MAX_EXAMPLES = 250
TIMES = int(os.environ.get("POSTROAD_TEST_EXAMPLES", "0"))  # of make soak
OWN_NUMBERS = Path(__file__).with_name("property") / "routing"
settings.register_profile(FEW, settings.get_profile("postroad"), max_examples=FEW_EXAMPLES)
OWN_SETTINGS = "_hypothesis_internal_use_settings"  # of a test that sets its number of examples itself


def limit_examples(items: list[pytest.Item], *, few: bool) -> None:
    for function in {getattr(item, "function", None) for item in items}:
        own = getattr(function, OWN_SETTINGS, None)
        if own is not None:
            most = FEW_EXAMPLES if few else MAX_EXAMPLES
            examples = own.max_examples * TIMES or min(own.max_examples, most)
            setattr(function, OWN_SETTINGS, settings(own, max_examples=examples))


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
    few = config.getoption("--hypothesis-profile") == FEW
    limit_examples([one for one in items if few or not one.path.is_relative_to(OWN_NUMBERS)], few=few)
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

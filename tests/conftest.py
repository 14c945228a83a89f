"""What every test may ask for, and the check that a requirement claimed by a test exists."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from postroad.testing.postgres import PostgresServer
from tests.architecture.requirement_claims import false_claims

_database_numbers = itertools.count(1)

# How fast a busy machine runs an example says nothing about the code; a hanging one is ended by the test's time-out.
settings.register_profile("postroad", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("postroad")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    faults = false_claims((item.nodeid, marker.args) for item in items for marker in item.iter_markers("req"))
    if faults:
        raise pytest.UsageError("tests claim requirements that do not exist:\n  " + "\n  ".join(faults))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One real PostgreSQL for the whole run. A test that stops a server starts a ``PostgresServer`` of its own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture
def postgres_database(postgres: PostgresServer) -> Iterator[str]:
    """The dsn of a fresh, empty database of this test's own."""
    name = f"test_{next(_database_numbers)}"
    yield postgres.create_database(name)
    postgres.drop_database(name)

"""The one-time link that logs the first operator in to the console without a password."""

from __future__ import annotations

from postroad.bootstrap import RunningNetwork
from postroad.bootstrap.first_start import OPERATOR
from postroad.flow.administration.accounts import make_link
from postroad.flow.administration.base import Administration


async def login_link(running: RunningNetwork) -> str:
    """Return address and key for readers of the server's output; the operator of the first start logs in with it."""
    person = running.network.directory.person(OPERATOR)
    if person is None:  # the operators have replaced this account by another one, which has a password
        return f"{running.own_address.url}/login"
    key = await make_link(Administration(running.network, running.passwords), person)
    return f"{running.own_address.url}/login/link?once={key}"

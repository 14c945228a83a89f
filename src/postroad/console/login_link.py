"""A link by which the operator who starts a network gets into its console without a password, once."""

from __future__ import annotations

from postroad.bootstrap import RunningNetwork
from postroad.bootstrap.first_start import OPERATOR
from postroad.flow.administration import Administration
from postroad.flow.administration_accounts import make_link


async def login_link(running: RunningNetwork) -> str:
    """Address and key, for whoever may read what the server prints; the operator of the first start is logged in by it."""
    person = running.network.directory.person(OPERATOR)
    if person is None:  # the operators have put somebody else in their place, who has a password
        return f"{running.own_address.url}/login"
    key = await make_link(Administration(running.network, running.passwords), person)
    return f"{running.own_address.url}/login/link?once={key}"

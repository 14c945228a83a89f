"""What every page about a provisioning says and makes sure of, whoever draws it.

Kept rule: a form is good for the person who was shown it, for the provider and the site they have read of, and for a while.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.trust import ProvisioningState
from postroad.errors import Refused
from postroad.flow.network import Network

WORDS = {
    ProvisioningState.PENDING: ("Not confirmed yet", "has not confirmed yet. Load this page again in a moment"),
    ProvisioningState.EXPIRED: ("Not confirmed in time", "did not confirm within 24 hours. Begin again"),
    ProvisioningState.ACTIVE: ("Connected", "has confirmed. Messages can go both ways"),
    ProvisioningState.REVOKED: ("Not connected any more", "is not connected with you any more"),
}


def proof_for(network: Network, caller: Caller, provider: Service) -> str:
    """What the form carries that this person is shown."""
    return network.tokens.forms.make(caller.name, _subject(provider.gcid, provider), network.clock.now_us())


def check_shown(network: Network, caller: Caller, provider: Service, form: Mapping[str, str]) -> None:
    """Refuse a form that this person was not shown, to the letter, or that speaks of another site by now."""
    subject = _subject(form.get("provider", ""), provider)
    if not network.tokens.forms.holds(form.get("proof", ""), caller.name, subject, network.clock.now_us()):
        raise Refused("permission.denied", "This form was not shown to you, or a while ago; open the page again")


def _subject(gcid: str, provider: Service) -> str:
    """What the person has read: whom they would be connected with, and where they would be sent."""
    return f"{gcid} {provider.provisioning_url}"

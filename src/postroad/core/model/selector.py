"""Selectors: which messages of a mailbox a poll requests."""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.journal import MessagePosted
from postroad.core.model.message import MessageType


class Selector(Struct, frozen=True, kw_only=True):
    """The conditions of a poll; all must hold, and an empty field is not a condition.

    ``sender`` is a GCID or address in a poll; it is replaced by the GCID before messages are compared with it.
    """

    sender: str = ""
    type: MessageType | None = None
    topic: str = ""
    session: str = ""
    transaction: str = ""
    properties: tuple[tuple[str, str], ...] = ()  # name equals value, compared as text

    @property
    def by_pseudonym(self) -> bool:
        """Whether session and transaction are pseudonyms, as shown to a party from which others are hidden."""
        return False

    @property
    def selects_all(self) -> bool:
        return self == EVERYTHING

    def matches(self, message: MessagePosted, shown_sender: str = "", *, is_asker_hidden: bool = False) -> bool:
        """True if a message matches; ``shown_sender`` is the sender shown to the receiver, empty for the real one.

        A selector never matches values that are hidden from the receiver. A receiver that may not see the sender knows
        the message by pseudonyms, and one that may not see the requester, the transaction of the response.
        """
        return (
            (not self.sender or (shown_sender or message.shown_sender or message.sender) == self.sender)
            and (not self.session or self.by_pseudonym == bool(shown_sender))
            and (not self.transaction or self.by_pseudonym == (bool(shown_sender) or is_asker_hidden))
            and (self.type is None or message.type is self.type)
            and (not self.topic or message.topic == self.topic)
            and (not self.session or message.session == self.session)
            and (not self.transaction or message.transaction == self.transaction)
            and (not self.properties or self._properties_match(message))
        )

    def _properties_match(self, message: MessagePosted) -> bool:
        present = {(item.name, item.value) for item in message.properties}
        return all(pair in present for pair in self.properties)


class PseudonymSelector(Selector, frozen=True, kw_only=True):
    """A selector whose session and transaction are pseudonyms; made by the network only."""

    @property
    def by_pseudonym(self) -> bool:
        return True


EVERYTHING = Selector()

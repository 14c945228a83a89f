"""Which of a mailbox's messages a poll asks for."""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.journal import MessagePosted


class Selector(Struct, frozen=True, kw_only=True):
    """Every field that is set must match; an empty selector matches everything. ``sender`` is a GCID by the time it gets here."""

    sender: str = ""
    type: str = ""
    topic: str = ""
    session: str = ""
    transaction: str = ""
    properties: tuple[tuple[str, str], ...] = ()

    def matches(self, message: MessagePosted) -> bool:
        return (
            (not self.sender or message.sender == self.sender)
            and (not self.type or message.type == self.type)
            and (not self.topic or message.topic == self.topic)
            and (not self.session or message.session == self.session)
            and (not self.transaction or message.transaction == self.transaction)
            and (not self.properties or self._properties_match(message))
        )

    def _properties_match(self, message: MessagePosted) -> bool:
        present = {(item.name, item.value) for item in message.properties}
        return all(pair in present for pair in self.properties)


EVERYTHING = Selector()

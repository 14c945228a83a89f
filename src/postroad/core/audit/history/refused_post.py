"""Builds the history of a rejected post: recipients and reasons, without stops."""

from __future__ import annotations

from postroad.core.model.history import CopyHistory, History, MessageHistory
from postroad.core.model.journal import MessageRefused
from postroad.core.model.route import Copy
from postroad.core.model.sizes import content_size, wire_size
from postroad.core.model.snapshot import Directory


def refused_copies(entry: MessageRefused) -> tuple[Copy, ...]:
    """Return a copy for each recipient, with the code it was refused with: its own, or that of the whole post."""
    return entry.copies or tuple([Copy(name, (), entry.code, entry.detail) for name in entry.named])


def refused_history(seq: int, entry: MessageRefused, directory: Directory) -> History:
    """Return the history of a rejected post as its sender may read it."""
    message = MessageHistory(
        seq=seq,
        session=entry.session,
        at_us=entry.at_us,
        type=entry.type,
        sender=directory.address_of(entry.sender),
        topic=entry.topic,
        handle=entry.handle,
        size=content_size(entry),
        wire_size=wire_size(entry),
        form=entry.form,
        directory=entry.directory,
        answers="",
        code=entry.code,
        detail=entry.detail,
        copies=[
            CopyHistory(recipient=copy.named, code=copy.code, detail=copy.detail, route=[])
            for copy in refused_copies(entry)
        ],
    )
    return History(transaction=entry.session, messages=[message], asked=entry.session)

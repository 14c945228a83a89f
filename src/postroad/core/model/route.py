"""The route of a message, as journal entries contain it: its copies, their hops, and the context of each hop.

Rule: fields are only added at the end, with a default, because entries are stored by position.
"""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.message import Argument


class Context(Struct, gc=False, frozen=True, array_like=True):
    """The context of one invocation of a copy, numbered by ``id``; ``parent`` is the number of its invoker, 0 the sender."""

    id: int
    parent: int = 0
    topic: str = ""  # as this service sees it; empty: as posted
    payer: str = ""  # GCID of the service that pays; empty: as the price plan specifies
    shown_sender: str = ""  # GCID shown as the sender, if an invoker isolates the services it includes
    absorbs: bool = False  # its errors do not end the route
    rule: str = ""  # the key of the rule that included it; empty: named by the sender
    dynamic: bool = False  # its rules are evaluated when the message reaches it
    through: tuple[str, ...] = ()  # the services that redirected to it, nearest last; responses return through them
    isolated: bool = False  # its invoker hides the wider route from it


class Hop(Struct, gc=False, frozen=True, array_like=True):
    """One service on an itinerary, with its arguments and the service that included it."""

    service: str  # GCID
    arguments: tuple[Argument, ...] = ()
    invoker: str = ""  # GCID
    context: Context | None = None  # None for a service that the sender named, without special settings

    @property
    def isolated_by(self) -> str:
        """Return the GCID of the service that isolates this one and is shown as the sender; empty if none does."""
        return self.context.shown_sender if self.context is not None else ""


class Copy(Struct, gc=False, frozen=True, array_like=True):
    """One recipient of a message: the services to pass, the recipient last; or the code with which it was refused."""

    named: str  # as the poster wrote it
    hops: tuple[Hop, ...] = ()
    code: str = ""
    detail: str = ""
    logical: tuple[Hop, ...] = ()  # services that took part only by their rules

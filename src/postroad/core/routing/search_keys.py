"""Extracts the search keys of a message that its sender and receivers have declared.

Rules: nothing is read or parsed if no party declares a key. A document that rules have parsed is not parsed again. A
document that cannot be read has no keys, and its message is delivered. The number of keys and the cost of finding
them are limited: each organization has its own share, as for its rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from postroad.core.admission.admit import Admitted
from postroad.core.model.directory import Service
from postroad.core.model.route import Copy
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.message_subject import posted_subject
from postroad.core.routing.conditions.places import lookup_of
from postroad.core.routing.conditions.subject import Subject

MAX_KEYS = 20  # of one message
MAX_KEY_CHARS = 200  # of one value

Keys = tuple[tuple[str, str], ...]


class PostedSubject:
    """A posted message as rules and keys see it, parsed on first use.

    ``at_once`` limits the work before ``TooMuchAtOnce`` is raised.
    """

    __slots__ = ("_admitted", "_at_once", "_directory", "_form", "_made")

    def __init__(self, admitted: Admitted, directory: Directory, form: str, at_once: int | None = None) -> None:
        self._admitted, self._directory, self._form, self._at_once = admitted, directory, form, at_once
        self._made: Subject | None = None

    @property
    def left_at_once(self) -> int:
        """Return how many steps of ``at_once`` are left."""
        left = self._at_once if self._made is None else self._made.budget.left_at_once
        return max(left or 0, 0)

    def __call__(self) -> Subject:
        if self._made is None:
            self._made = posted_subject(self._admitted, self._directory, self._form, Budget(self._at_once))
        return self._made


def collect_search_keys(
    sender: Service, copies: Iterable[Copy], directory: Directory, subject: Callable[[], Subject]
) -> Keys:
    """Return search keys (name, value), each once, in the order of their declarations; the sender's first."""
    declaring = [sender] if sender.indexes else []
    for copy in copies:
        receiver = directory.services.get(copy.hops[-1].service) if copy.hops else None
        if receiver is not None and receiver.indexes and receiver not in declaring:
            declaring.append(receiver)
    if not declaring:
        return ()
    found = dict.fromkeys(pair for service in declaring for pair in _declared_by(service, subject()))
    return tuple(found)[:MAX_KEYS]


def _declared_by(service: Service, subject: Subject) -> Iterator[tuple[str, str]]:
    view = subject.seen_by(service.gcid, role=RuleRole.ANY, topic="", owner=service.organization.casefold())
    for key in service.indexes:
        for text in view.find_content(lookup_of(key.place)).texts[:MAX_KEYS]:
            # Blanks and line ends around and within a value are the writer's layout.
            if value := " ".join(text[: 2 * MAX_KEY_CHARS].split())[:MAX_KEY_CHARS]:
                yield key.name, value

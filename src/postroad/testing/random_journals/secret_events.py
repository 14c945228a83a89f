"""Random journal events of secrets for property tests.

Rule: each version of a secret is used once.
"""

from __future__ import annotations

from hypothesis import strategies as st

from postroad.core.model.journal import Entry
from postroad.core.model.secret_entries import REMOVED, SET, SecretChanged
from postroad.testing.random_journals.state import JournalState
from postroad.testing.random_journals.values import SERVICES, Draw, times, words


def change_secret(draw: Draw, story: JournalState) -> Entry:
    """Draw a secret that is set or removed; its version is the number of the entry, so it grows."""
    what = draw(st.sampled_from([SET, REMOVED]))
    return SecretChanged(
        at_us=draw(times),
        by=draw(words),
        what=what,
        organization=draw(st.sampled_from(["Acme", "acme", "Straße"])),
        service=draw(st.sampled_from(["", SERVICES[0]])),
        name=draw(st.sampled_from(["hook", "Hook", "as2.key"])),
        version=story.next_seq,
        digest="" if what == REMOVED else "ab" * 32,
    )

"""How many waiting bytes each organization has in the backlog of the group commit, and which organization has the most.

Rule: exact at every moment. Adding and removing take constant time; the largest share is searched for only when it is asked
for after its organization's bytes have decreased, so at most once for each group.
"""

from __future__ import annotations


class WaitingShares:
    __slots__ = ("_bytes", "_largest")

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._largest = ""  # empty: unknown

    def add(self, organization: str, size: int) -> None:
        held = self._bytes[organization] = self._bytes.get(organization, 0) + size
        if self._largest and held > self._bytes[self._largest]:
            self._largest = organization

    def remove(self, organization: str, size: int) -> None:
        left = self._bytes[organization] - size
        if left:
            self._bytes[organization] = left
        else:
            del self._bytes[organization]
        if organization == self._largest:
            self._largest = ""

    def would_be_largest(self, organization: str, size: int) -> bool:
        """Whether no other organization would have more waiting bytes, if these were added."""
        if not self._largest and self._bytes:
            self._largest = max(self._bytes, key=self._bytes.__getitem__)
        return self._bytes.get(organization, 0) + size >= self._bytes.get(self._largest, 0)

    def of(self, organization: str) -> int:
        return self._bytes.get(organization, 0)

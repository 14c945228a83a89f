"""Keys of tree positions as bytes that sort depth first.

A node's key is its parent's and one step more; a step is the child's number, preceded by its length, so that no step
is a prefix of another. The key of an attachment is its node's key, a zero, and a number: it sorts behind its node and
before the node's children. So everything below a node is contiguous, and comparing two positions is comparing two
short strings.

Rule: a key gives a position among all others without reading any of them; nothing is ever renumbered.
"""

from __future__ import annotations

ROOT = b""
OWN = b"\x00"  # where a step would have its length: what stands at the node itself
END = b"\xff"  # behind every step

Range = tuple[bytes, bytes]
EVERYTHING: Range = (ROOT, END)


def step(number: int) -> bytes:
    length = (number.bit_length() + 7) // 8 or 1
    return length.to_bytes() + number.to_bytes(length)


def place_at(node: bytes, group: bytes, arrival: int) -> bytes:
    """Return the key of an attachment at a node: by group, then in order of arrival."""
    return node + OWN + group + step(arrival)


def at(node: bytes) -> Range:
    """The key range of everything at the node itself."""
    return node + OWN, node + OWN + END


def beneath(node: bytes) -> Range:
    """The key range of the node, everything at it, and everything below it."""
    return node, node + END


def below(node: bytes) -> Range:
    """The key range of everything at the node and below it, without the node."""
    return node + OWN, node + END


def skip_below_depth(place: bytes, start: int, levels: int) -> bytes | None:
    """Return the key to continue at if a key is too many levels below the node whose key ends at ``start``, else None."""
    for _ in range(levels + 1):
        if place[start] == 0:
            return None
        start += 1 + place[start]
    return place[:start] + END


def among_peers(place: bytes) -> bytes:
    """Return a key that sorts by parent first, so that the children of a node are adjacent.

    All of them are ``at`` the parent there.
    """
    start = end = 0
    while end < len(place) and place[end]:
        start, end = end, end + 1 + place[end]
    return place[:start] + OWN + place[start:]

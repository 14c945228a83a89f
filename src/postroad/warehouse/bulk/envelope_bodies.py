"""Bodies of bulk posts in msgpack, one behind the other in a file, taken apart into envelopes.

Kept rule: only lengths are read here, payloads are passed over unread, so this costs the same for large messages as for small
ones; what an envelope says is the codec's affair.
"""

from __future__ import annotations

from collections.abc import Iterator

# After the first byte: bytes of the length that follows, and what is added to that length.
_BINARY = {0xC4: (1, 0), 0xC5: (2, 0), 0xC6: (4, 0), 0xC7: (1, 1), 0xC8: (2, 1), 0xC9: (4, 1),
           0xD9: (1, 0), 0xDA: (2, 0), 0xDB: (4, 0)}  # fmt: skip
_FIXED = {0xC0: 0, 0xC2: 0, 0xC3: 0, 0xCA: 4, 0xCB: 8, 0xCC: 1, 0xCD: 2, 0xCE: 4, 0xCF: 8, 0xD0: 1, 0xD1: 2, 0xD2: 4,
          0xD3: 8, 0xD4: 2, 0xD5: 3, 0xD6: 5, 0xD7: 9, 0xD8: 17}  # fmt: skip
_COUNTED = {
    0xDC: (2, 1),
    0xDD: (4, 1),
    0xDE: (2, 2),
    0xDF: (4, 2),
}  # arrays and maps: bytes of the count, values per item


class CutShort(ValueError):
    """The file is not what it should be from this position on."""

    def __init__(self, position: int, detail: str) -> None:
        super().__init__(detail)
        self.position = position


def envelopes_in(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every envelope with its offset; raises CutShort where arrays of envelopes do not go on or do not end."""
    position = 0
    while position < len(data):
        following, count = _array(data, position)
        for _ in range(count):
            end = _end(data, following)
            yield following, data[following:end]
            following = end
        position = following


def _array(data: bytes, position: int) -> tuple[int, int]:
    first = data[position]
    if first >> 4 == 0x9:
        return position + 1, first & 0x0F
    if first in (0xDC, 0xDD):
        width = _COUNTED[first][0]
        return position + 1 + width, int.from_bytes(data[position + 1 : position + 1 + width], "big")
    raise CutShort(position, "an array of envelopes should begin here, as bulk posts have them")


def _end(data: bytes, position: int) -> int:
    """The offset behind the value that begins here."""
    begin, values, size = position, 1, len(data)
    while values:
        if position >= size:
            raise CutShort(begin, "the file ends in the middle of an envelope")
        first = data[position]
        values -= 1
        position += 1
        if first < 0x80 or first >= 0xE0:
            continue
        if first < 0x90:
            values += 2 * (first & 0x0F)
        elif first < 0xA0:
            values += first & 0x0F
        elif first < 0xC0:
            position += first & 0x1F
        elif first in _FIXED:
            position += _FIXED[first]
        else:
            position, values = _long(data, position, first, values, begin)
    if position > size:
        raise CutShort(begin, "the file ends in the middle of an envelope")
    return position


def _long(data: bytes, position: int, first: int, values: int, begin: int) -> tuple[int, int]:
    """The offset behind a long value's length, or behind its bytes where it holds no others; and how many are still to come."""
    width, more = _BINARY.get(first) or _COUNTED.get(first) or (0, 0)
    if not width:
        raise CutShort(begin, "there is a byte that msgpack does not use")
    length = int.from_bytes(data[position : position + width], "big")
    position += width
    return (position + length + more, values) if first in _BINARY else (position, values + length * more)

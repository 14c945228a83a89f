"""Random choices read from bytes.

Drawing every detail of a network from hypothesis costs 30 ms a network; one draw of bytes for each service and each rule costs a
tenth of that, and still shrinks well: bytes get smaller, a rule or a service less, and nought is always the plainest choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Choices:
    """Bytes taken one by one; behind the last there are only noughts."""

    def __init__(self, data: bytes) -> None:
        self._data = iter(data)

    def number(self, below: int) -> int:
        return next(self._data, 0) * below // 256

    def one_of(self, options: Sequence[T]) -> T:
        return options[self.number(len(options))]

    def rarely(self, *, one_in: int) -> bool:
        return self.number(one_in) == one_in - 1

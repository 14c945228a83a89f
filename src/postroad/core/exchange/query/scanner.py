"""Scans a query word by word or symbol by symbol; skips white space and comments.

Rule: a scanner never goes back by itself. Callers that look ahead store ``at`` and restore it.
"""

from __future__ import annotations

import re
from decimal import Decimal

from postroad.core.exchange.query.syntax import Constant, UnreadableQuery

_SPACE = re.compile(r"[ \t\r\n]+")
_NC = r"[^\W\d][\w.·-]*"
NC_NAME = re.compile(_NC)
NAME = re.compile(rf"(?:(?P<prefix>{_NC}):)?(?P<local>{_NC})")
NAME_TEST = re.compile(rf"(?:(?P<prefix>{_NC}|\*):)?(?P<local>{_NC}|\*)")
_STRING = re.compile(r"\"((?:[^\"]|\"\")*)\"|'((?:[^']|'')*)'")
_NUMBER = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?(?![\w.])")
_REFERENCE = re.compile(r"&(?:(lt|gt|amp|quot|apos)|#([0-9]+)|#x([0-9a-fA-F]+));")
NUMBER_CHARS = 400
_ENTITIES = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


class Scanner:
    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.skip()

    def unreadable(self, reason: str) -> UnreadableQuery:
        return UnreadableQuery(reason, self.at)

    @property
    def ended(self) -> bool:
        return self.at >= len(self.text)

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def skip(self) -> None:
        while True:
            space = _SPACE.match(self.text, self.at)
            if space is not None:
                self.at = space.end()
            if not self.text.startswith("(:", self.at):
                return
            self._comment()

    def _comment(self) -> None:
        depth = 0
        for mark in re.finditer(r"\(:|:\)", self.text[self.at :]):
            depth += 1 if mark.group() == "(:" else -1
            if not depth:
                self.at += mark.end()
                return
        raise self.unreadable("a comment does not end")

    def take(self, symbol: str) -> bool:
        """Consume these characters; returns False if others follow."""
        if not self.text.startswith(symbol, self.at):
            return False
        self.at += len(symbol)
        self.skip()
        return True

    def expect(self, symbol: str) -> None:
        if not self.take(symbol):
            raise self.unreadable(f"{symbol!r} is expected")

    def word(self, word: str) -> bool:
        """Consume this whole word; returns False if something else follows."""
        if not self.text.startswith(word, self.at):
            return False
        found = NAME.match(self.text, self.at)
        if found is None or found.group() != word:
            return False
        self.at = found.end()
        self.skip()
        return True

    def words(self, *words: str) -> bool:
        """Consume these words in order, or nothing."""
        start = self.at
        if all(self.word(word) for word in words):
            return True
        self.at = start
        return False

    def looks_like(self, pattern: re.Pattern[str]) -> bool:
        return pattern.match(self.text, self.at) is not None

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self.unreadable(f"{what} is expected")
        self.at = found.end()
        self.skip()
        return found

    def string(self) -> str | None:
        found = _STRING.match(self.text, self.at)
        if found is None:
            return None
        inner = found[1].replace('""', '"') if found[1] is not None else found[2].replace("''", "'")
        try:
            text = _REFERENCE.sub(_character, inner)
        except (ValueError, OverflowError):
            raise self.unreadable("a string has a character that does not exist") from None
        if "&" in _REFERENCE.sub("", inner):
            raise self.unreadable("a string has an invalid &")
        self.at = found.end()
        self.skip()
        return text

    def number(self) -> Constant | None:
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            return None
        self.at = found.end()
        self.skip()
        written = found.group()
        if len(written) > NUMBER_CHARS:
            raise self.unreadable("the number is too long")
        if found["exponent"]:
            return float(written)
        return Decimal(written) if "." in written else int(written)


def _character(reference: re.Match[str]) -> str:
    name, decimal, hexadecimal = reference.groups()
    return _ENTITIES[name] if name else chr(int(decimal) if decimal else int(hexadecimal, 16))

"""Extracts a document from an envelope byte for byte, and makes it self-contained.

Rule: the bytes stay as posted. Only if a document depends on namespace declarations outside of it, exactly the
missing ones are added to its root's start tag; otherwise its names would be undefined for the receiver.
"""

from __future__ import annotations

import re

from postroad.core.codecs.soap.names import ENVELOPES
from postroad.core.codecs.xml import Scanner, new_scanner, run_scanner
from postroad.core.codecs.xml_escape import attribute_value

FEW_COLONS = 4  # for each prefix
_QNAME = re.compile(r"(?<![\w.-])([\w.-]++):(?=[^\W\d]|\*)")


def make_standalone(fragment: bytes, in_scope: dict[str, str]) -> bytes:
    """Return the fragment with the declarations it needs from ``in_scope`` (prefix → namespace, "" is the default)."""
    if not in_scope.get("") and not mentions_prefix(fragment, tuple(prefix.encode() for prefix in in_scope if prefix)):
        return fragment
    leaning = _Leaning(in_scope)
    leaning.read(fragment)
    if not leaning.needed:
        return fragment
    added = "".join(
        f' xmlns{":" if prefix else ""}{prefix}="{attribute_value(in_scope[prefix])}"'
        for prefix in sorted(leaning.needed)
    )
    return fragment[: leaning.root_name_end] + added.encode() + fragment[leaning.root_name_end :]


def mentions_prefix(fragment: bytes, prefixes: tuple[bytes, ...]) -> bool:
    """Return True if one of the prefixes precedes a colon, in a name or in content."""
    colon = fragment.find(b":") if prefixes else -1
    looks = FEW_COLONS * len(prefixes)
    while colon >= 0:
        if fragment.endswith(prefixes, 0, colon):
            return True
        looks -= 1
        if not looks:  # colons after its own prefixes: searching for ours is faster than checking each colon
            return any(prefix + b":" in fragment for prefix in prefixes)
        colon = fragment.find(b":", colon + 1)
    return False


class _Leaning:
    """Reads a fragment and records the prefixes that it uses but does not declare."""

    def __init__(self, in_scope: dict[str, str]) -> None:
        self._in_scope = {prefix: uri for prefix, uri in in_scope.items() if uri}
        self._declared: list[frozenset[str]] = [frozenset()]
        self._scanner: Scanner
        self.needed: set[str] = set()
        self.root_name_end = -1

    def read(self, fragment: bytes) -> None:
        self._scanner = new_scanner(namespaces=False)
        self._scanner.buffer_text = True
        self._scanner.buffer_size = max(len(fragment), 1)  # otherwise a name could be split
        self._scanner.StartElementHandler = self._start
        self._scanner.EndElementHandler = self._end
        self._scanner.CharacterDataHandler = self._content
        run_scanner(self._scanner, fragment)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if self.root_name_end < 0:
            self.root_name_end = self._scanner.CurrentByteIndex + 1 + len(name.encode())
        declarations = {key[6:] for key in attributes if key == "xmlns" or key.startswith("xmlns:")}
        self._declared.append(self._declared[-1] | declarations if declarations else self._declared[-1])
        self._use(name.rpartition(":")[0])
        for key, value in attributes.items():
            prefix = key.rpartition(":")[0]
            if prefix and prefix != "xmlns":
                self._use(prefix)
            if prefix != "xmlns" and key != "xmlns":
                self._content(value)

    def _end(self, _name: str) -> None:
        self._declared.pop()

    def _content(self, text: str) -> None:
        """Collect the prefixes in content, such as xsi:type="xs:string"; they need declarations too."""
        if ":" not in text:
            return
        for prefix in {found[1] for found in _QNAME.finditer(text)}:
            if self._in_scope.get(prefix) not in ENVELOPES:
                self._use(prefix)

    def _use(self, prefix: str) -> None:
        if prefix in self._in_scope and prefix not in self._declared[-1]:
            self.needed.add(prefix)

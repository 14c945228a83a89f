"""Names of organizations and services: what they are shown by, and trusted by, wherever somebody lists whom they accept.

Kept rule: one name is never taken for another. So none looks like a GCID, which stands in the same lists; none is written in
characters that are only other forms of usual ones; and no word mixes alphabets, of which some letters look alike.
"""

from __future__ import annotations

import re
import unicodedata

from postroad.core.model.ids import GCID, check_name
from postroad.errors import Refused

ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC"})  # whose letters are mistaken for each other
_WORD = re.compile(r"[^\W\d_]+")


def check_party_name(name: str, what: str) -> str:
    """The name itself, when it may name an organization or a service; ``what`` says which, as in "The service's"."""
    check_name(name, what)
    if fault := party_name_fault(name):
        raise Refused("name.invalid", f"{what} name {fault}")
    return name


def party_name_fault(name: str) -> str:
    """What is wrong with a name that is well-formed; empty when nothing is."""
    if GCID.match(name.casefold()):
        return "looks like a GCID, and would be taken for one; choose another"
    if unicodedata.normalize("NFKC", name) != name or "  " in name:
        return "is written in an unusual way, by which it looks like another; use plain letters and single spaces"
    if any(len(_alphabets(word)) > 1 for word in _WORD.findall(name)):
        return "mixes letters of several alphabets in one word, by which it looks like another; keep to one"
    return ""


def _alphabets(word: str) -> set[str]:
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & ALPHABETS

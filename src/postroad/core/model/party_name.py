"""Checks names of organizations and services, so that no name is mistaken for another.

Rule: no name looks like a GCID, since both are in the same lists; no name uses compatibility forms of ordinary
characters; and no word mixes alphabets, in which some letters look alike. A new organization is refused if its name,
with look-alikes replaced (``lookalike``), is that of another.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from postroad.core.model.ids import GCID, check_name
from postroad.errors import Refused

ALPHABETS = frozenset({"LATIN", "GREEK", "CYRILLIC"})  # alphabets with letters that look alike
# Letters of phonetic alphabets that look like usual letters; no language needs both.
PHONETIC = frozenset(
    "\u0251\u0261\u0269\u026a\u0274\u0280\u028f\u0299\u029c\u029f\u01c0\u01c3\u1d00\u1d04\u1d05\u1d07\u1d0a\u1d0b\u1d0d\u1d0f\u1d18\u1d1b\u1d1c\u1d20\u1d21\u1d22\ua731"
)
# Letters of other alphabets, in lower case, by the Latin letter that each (or its capital) looks like.
_SIMILAR = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d\u04cf\u0131"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2\u03f3"
    "\u0251\u0261",
    "abekmhopctyxsijhdqwli" "abezhikmnoptyxcj" "ag",
)  # fmt: skip
_ALIKE = str.maketrans("i10", "llo")  # characters that look alike in some typefaces
_WORD = re.compile(r"[^\W\d_]+")


def check_party_name(name: str, what: str) -> str:
    """Return the name if it is allowed; ``what`` names its owner in errors, as in "The service's"."""
    check_name(name, what)
    if fault := party_name_fault(name):
        raise Refused("name.invalid", f"{what} name {fault}")
    return name


def party_name_fault(name: str) -> str:
    """Return what is wrong with a well-formed name; empty if nothing is."""
    if GCID.match(name.casefold()):
        return "looks like a GCID; choose another"
    if unicodedata.normalize("NFKC", name) != name or "  " in name:
        return "has unusual characters, so that it looks like another; use plain letters and single spaces"
    if not PHONETIC.isdisjoint(name):
        return "has phonetic letters, so that it looks like another; use plain letters"
    if any(len(_alphabets(word)) > 1 for word in _WORD.findall(name)):
        return "mixes letters of several alphabets in one word, so that it looks like another; use one alphabet"
    return ""


@lru_cache(maxsize=1 << 16)
def lookalike(name: str) -> str:
    """Return a key that is equal for names that look alike; not meant to be shown."""
    folded = unicodedata.normalize("NFKC", name).casefold().translate(_SIMILAR).translate(_ALIKE)
    return re.sub(r"[\W_]+", " ", folded).strip().replace("rn", "m").replace("vv", "w")


def mixes_alphabets(text: str) -> bool:
    """Whether any word of a text mixes letters of alphabets that look alike."""
    return len(_alphabets("".join(_WORD.findall(text)))) > 1


def _alphabets(word: str) -> set[str]:
    return {unicodedata.name(letter, "").partition(" ")[0] for letter in word} & ALPHABETS

"""Which passwords people may choose: long ones, of any characters, but none that everybody tries first.

Length is what counts, so there are no rules about kinds of characters; what is refused is refused with its reason.
"""

from __future__ import annotations

from itertools import pairwise

from postroad.errors import Refused

LEAST = 15
MOST = 256
PASSWORDS_MOST = 2  # of one service: the one in use, and its successor; each costs whoever is asked a slow hash
# Long enough to pass, and among the first that are tried.
SILLY = frozenset(
    {
        "passwordpassword", "password12345678", "password123456789", "password1234567890", "123456789012345",
        "1234567890123456", "12345678901234567890", "qwertyuiopasdfgh", "qwertyuiopasdfghjkl", "qwertyqwertyqwerty",
        "letmeinletmeinletmein", "iloveyouiloveyou", "correcthorsebatterystaple", "correct horse battery staple",
        "thisisapassword", "thisismypassword", "thisismysecret!", "changemechangeme", "changemeplease123", "administrator123",
        "administratoradmin", "1q2w3e4r5t6y7u8i", "1qaz2wsx3edc4rfv", "zaq12wsxcde34rfv", "abcdefghijklmnop",
        "abcdefghijklmnopqrstuvwxyz", "abc123abc123abc123", "postroadpostroad", "welcomewelcome1", "welcome123456789",
    }
)  # fmt: skip


def check_password(password: str, *own_words: str) -> str:
    """The password itself, when it may be used; ``own_words`` (e-mail, names) must not be all there is to it."""
    if len(password) < LEAST:
        raise _refused(f"needs at least {LEAST} characters; a few unrelated words are easy to remember")
    if len(password) > MOST:
        raise _refused(f"has at most {MOST} characters")
    folded = password.casefold()
    if folded in SILLY or folded.strip("0123456789!.") in SILLY or _repeats(folded):
        raise _refused("is one of those that are tried first; choose another")
    rest = folded
    for word in sorted((word.casefold() for word in own_words if len(word) > 3), key=len, reverse=True):
        rest = rest.replace(word, "")
    if len(rest) < LEAST // 2:
        raise _refused("is little more than your own name or address; choose another")
    return password


def _repeats(text: str) -> bool:
    """Whether it is a short piece over and over, or a run such as 1234…"""
    if any(text == (text[:size] * len(text))[: len(text)] for size in range(1, 5)):
        return True
    steps = {ord(after) - ord(before) for before, after in pairwise(text)}
    return len(steps) == 1


def _refused(why: str) -> Refused:
    return Refused("value.invalid", f"The password {why}", pointer="/password")

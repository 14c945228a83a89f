"""Password rules: long, of any characters, and not easily guessed.

Length is what counts, so there are no rules about kinds of characters; what is refused is refused with its reason. Guessers try
common words, rows of the keyboard, sequences and repetitions first, so each of these counts as a character or two, however long
it is, and a password needs eight that count. ``NIST SP 800-63B`` asks for such a list and advises against rules of composition.
"""

from __future__ import annotations

import re

from postroad.errors import Refused

MIN_CHARS = 15
MIN_COUNTING_CHARS = 8
MAX_CHARS = 256
MAX_PASSWORDS = 2  # of one service: the one in use, and its successor; each needs a slow hash
# Long enough to pass, and among the first that are tried.
OBVIOUS = frozenset(
    {
        "passwordpassword", "password12345678", "password123456789", "password1234567890", "123456789012345",
        "1234567890123456", "12345678901234567890", "qwertyuiopasdfgh", "qwertyuiopasdfghjkl", "qwertyqwertyqwerty",
        "letmeinletmeinletmein", "iloveyouiloveyou", "correcthorsebatterystaple", "correct horse battery staple",
        "thisisapassword", "thisismypassword", "thisismysecret!", "changemechangeme", "changemeplease123", "administrator123",
        "administratoradmin", "1q2w3e4r5t6y7u8i", "1qaz2wsx3edc4rfv", "zaq12wsxcde34rfv", "abcdefghijklmnop",
        "abcdefghijklmnopqrstuvwxyz", "abc123abc123abc123", "postroadpostroad", "welcomewelcome1", "welcome123456789",
    }
)  # fmt: skip

# What passwords are commonly made of, in lower case and without digits in the place of letters.
COMMON = (
    "administrator", "changeme", "correcthorse", "batterystaple", "password", "passwort", "passwd", "football", "baseball",
    "iloveyou", "princess", "sunshine", "superman", "postroad", "business", "computer", "internet", "michael", "welcome",
    "letmein", "default", "company", "monkey", "dragon", "master", "shadow", "secret", "server", "service", "summer",
    "winter", "spring", "autumn", "please", "qwerty", "qwertz", "azerty", "batman", "hello", "login", "admin", "guest",
    "thisis", "trustno", "access", "love", "test", "user", "root", "pass", "demo", "word", "this", "that", "your", "mein",
)  # fmt: skip
ROWS = ("1234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm", "yxcvbnm", "1qaz2wsx3edc4rfv5tgb6yhn",
        "1q2w3e4r5t6y7u8i9o0p", "abcdefghijklmnopqrstuvwxyz", "0123456789")  # fmt: skip
MIN_RUN = 3  # neighbours in a row of the keyboard or the alphabet, forwards or backwards
IN_PLACE_OF_LETTERS = str.maketrans("@0134$57!", "aoieassti")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_RUNS = frozenset(
    way[start : start + MIN_RUN] for row in ROWS for way in (row, row[::-1]) for start in range(len(row) - MIN_RUN + 1)
)


def check_password(password: str, *own_words: str) -> str:
    """Return the password, or refuse it; ``own_words`` (e-mail, names) must not be all there is to it."""
    if len(password) < MIN_CHARS:
        raise _refused(f"needs at least {MIN_CHARS} characters; a few unrelated words are easy to remember")
    if len(password) > MAX_CHARS:
        raise _refused(f"has at most {MAX_CHARS} characters")
    folded = password.casefold()
    if folded in OBVIOUS or folded.strip("0123456789!.") in OBVIOUS or _repeats(folded):
        raise _refused("is one of the most common passwords; choose another")
    if _counting(folded) < MIN_COUNTING_CHARS:
        raise _refused(
            "is easy to guess (common words, keyboard rows, sequences, repetitions); use a few unrelated words instead"
        )
    rest = folded
    for word in sorted((word.casefold() for word in own_words if len(word) > 3), key=len, reverse=True):
        rest = rest.replace(word, "")
    if len(rest) < MIN_CHARS // 2:
        raise _refused("is too similar to your name or address; choose another")
    return password


def _repeats(text: str) -> bool:
    """Whether it is a short piece over and over."""
    return any(text == (text[:size] * len(text))[: len(text)] for size in range(1, len(text) // 2 + 1))


def _counting(text: str) -> int:
    """Return how many characters count: a common word as two; a run, year or repetition as one."""
    plain, at, counted = text.translate(IN_PLACE_OF_LETTERS), 0, 0
    while at < len(text):
        word = next((word for word in COMMON if plain.startswith(word, at) or text.startswith(word, at)), "")
        length = max(_run_at(text, at), _repetition_at(text, at), 4 if _YEAR.match(text, at) else 0)
        counted += 2 if len(word) > length else 1
        at += max(len(word), length, 1)
    return counted


def _run_at(text: str, at: int) -> int:
    """The length of the run of neighbours that begins here; 0 when there is none."""
    end = at
    while text[end : end + MIN_RUN] in _RUNS:
        end += 1
    return end - at + MIN_RUN - 1 if end > at else 0


def _repetition_at(text: str, at: int) -> int:
    """The length of the same character over and over; 0 when it comes less than three times."""
    length = len(text) - at - len(text[at:].lstrip(text[at]))
    return length if length >= 3 else 0


def _refused(why: str) -> Refused:
    return Refused("value.invalid", f"The password {why}", pointer="/password")

"""Content-IDs: with angle brackets in a header, without them everywhere else."""

from __future__ import annotations


def bare_id(text: str) -> str:
    """``<a@b>`` → ``a@b``; an id that came without brackets is taken as it is."""
    stripped = text.strip()
    return stripped[1:-1].strip() if stripped[:1] == "<" and stripped[-1:] == ">" else stripped

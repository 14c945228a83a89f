"""The W3C trace context: what is read, what is ignored, and what a hidden sender's receiver gets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.telemetry.trace_context import (
    MAX_STATE_CHARS,
    STATE_FROM,
    check_state,
    hide_context,
    pack_context,
    unpack_context,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
GOOD = f"00-{TRACE}-{SPAN}-01"


def test_a_valid_context_survives() -> None:
    found = unpack_context(pack_context(GOOD, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"))
    assert found is not None
    assert (found.trace_id.hex(), found.span_id.hex(), found.sampled) == (TRACE, SPAN, True)
    assert (found.traceparent, found.tracestate) == (GOOD, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
    assert len(pack_context(GOOD)) == STATE_FROM == 25


@pytest.mark.parametrize(
    ("given_text", "passed_on"),
    [
        (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
        (f"00-{TRACE}-{SPAN}-03", f"00-{TRACE}-{SPAN}-03"),
        (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-03"),  # flags that are not known are cleared
        (f"01-{TRACE}-{SPAN}-01", GOOD),  # a later version, passed on as version 00
        (f"cc-{TRACE}-{SPAN}-01-what-the-future-will-be-like", GOOD),
    ],
)
def test_versions_and_flags(given_text: str, passed_on: str) -> None:
    found = unpack_context(pack_context(given_text))
    assert found is not None
    assert found.traceparent == passed_on


@pytest.mark.parametrize(
    "text",
    [
        "", "00", GOOD + "\n", " " + GOOD, GOOD + "-", GOOD + "-more", GOOD.upper(), GOOD[:-1], GOOD.replace("-", "_"),
        f"ff-{TRACE}-{SPAN}-01", f"0-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01", f"00-{TRACE}-{SPAN}-1", f"00-{TRACE}-{SPAN}-zz", f"cc-{TRACE}-{SPAN}-01.",
        f"cc-{TRACE}-{SPAN}-01-\n", f"{GOOD},{GOOD}", "٠٠" + GOOD[2:], "00-" + "a" * 1_000_000,
    ],
)  # fmt: skip
def test_what_is_not_a_context_is_ignored(text: str) -> None:
    assert pack_context(text, "a=1") == b""


@given(st.text(max_size=80), st.text(max_size=600))
def test_hostile_text_never_raises(parent: str, state: str) -> None:
    for packed in (pack_context(parent, state), pack_context(GOOD, state)):
        found = unpack_context(packed)
        assert found is None or (found.tracestate.isascii() and found.tracestate.isprintable())


@pytest.mark.parametrize(
    ("state", "kept"),
    [
        ("a=1", "a=1"),
        (" a=1 ,\tb=2 , ", "a=1,b=2"),
        ("1t@sys=x y", "1t@sys=x y"),
        ("a=1,a=2", ""),
        ("A=1", ""),
        ("a=1,b", ""),
        ("a=", ""),
        ("a=1\r\nx: y", ""),
        ("a=é", ""),
        ("1a=1", ""),
        (",".join(f"k{number}=v" for number in range(32)), ",".join(f"k{number}=v" for number in range(32))),
        (",".join(f"k{number}=v" for number in range(33)), ""),
        ("a=" + "x" * MAX_STATE_CHARS, ""),
    ],
)
def test_a_state_is_kept_whole_or_not_at_all(state: str, kept: str) -> None:
    assert check_state(state) == kept
    found = unpack_context(pack_context(GOOD, state))
    assert found is not None
    assert (found.traceparent, found.tracestate) == (GOOD, kept)


def test_the_context_for_a_receiver_that_may_not_know_the_sender() -> None:
    shown = "f" + "1" * 31
    sampled, not_sampled = pack_context(GOOD, "a=1"), pack_context(GOOD[:-1] + "2")
    assert hide_context(sampled, shown).split("-")[1] == shown
    assert hide_context(sampled, shown)[:-1] == hide_context(not_sampled, shown)[:-1], "nothing else of the sender's"
    assert (hide_context(sampled, shown)[-2:], hide_context(not_sampled, shown)[-2:]) == ("01", "00")
    assert pack_context(hide_context(sampled, shown)) != b""
    assert hide_context(sampled, shown) != hide_context(sampled, "f" + "2" * 31)

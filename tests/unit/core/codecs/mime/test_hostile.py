"""MIME that was made to take long: each is read or refused in time that grows no faster than it does."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest

from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import encode_content, read_entity, read_multipart, read_parameters, read_related
from postroad.core.codecs.mime.transfer import Encoding
from postroad.errors import Refused

MIXED = "multipart/mixed; boundary=gap"
GENEROUS = WireLimits(
    body_bytes=1 << 30, mime_parts=1 << 30, mime_headers=1 << 30, mime_header_bytes=1 << 30, mime_parameters=1 << 30
)
ENOUGH_S = 0.02  # less is not measured well


def between(inside: bytes) -> bytes:
    return b"--gap\r\n\r\n" + inside + b"\r\n--gap--\r\n"


def multipart(make: Callable[[int], bytes]) -> Callable[[int], Callable[[], object]]:
    def prepared(size: int) -> Callable[[], object]:
        body = make(size)
        return lambda: read_multipart(MIXED, body, GENEROUS)

    return prepared


def header(make: Callable[[int], bytes]) -> Callable[[int], Callable[[], object]]:
    def prepared(size: int) -> Callable[[], object]:
        wire = make(size) + b"\r\n\r\nbody"
        return lambda: read_entity(wire, GENEROUS).headers()

    return prepared


def content(encoding: bytes, make: Callable[[int], bytes]) -> Callable[[int], Callable[[], object]]:
    def prepared(size: int) -> Callable[[], object]:
        entity = read_entity(b"Content-Transfer-Encoding: " + encoding + b"\r\n\r\n" + make(size), GENEROUS)
        return lambda: entity.data(GENEROUS)

    return prepared


def kind(make: Callable[[int], str]) -> Callable[[int], Callable[[], object]]:
    def prepared(size: int) -> Callable[[], object]:
        text = make(size)

        def read() -> None:
            read_parameters(text, GENEROUS)
            read_multipart(text, between(b""), GENEROUS)

        return read

    return prepared


ATTACKS: dict[str, Callable[[int], Callable[[], object]]] = {
    "beginnings of boundaries": multipart(lambda n: between(b"\r\n--ga" * (n // 6))),
    "longer boundaries": multipart(lambda n: between(b"\r\n--gapX" * (n // 8))),
    "boundaries with space behind them": multipart(lambda n: between(b"\r\n--gap " * (n // 8) + b"x")),
    "a boundary with much space": multipart(lambda n: between(b"\r\n--gap" + b" \t" * (n // 2) + b"x")),
    "dashes": multipart(lambda n: between(b"\n--" + b"-" * n)),
    "line ends": multipart(lambda n: between(b"\r\n" * (n // 2))),
    "empty parts": multipart(lambda n: b"--gap\r\n\r\n\r\n" * (n // 60) + b"--gap--"),
    "no parts": multipart(lambda n: b"--gap\r\n" * (n // 30) + b"--gap--"),
    "never closed": multipart(lambda n: b"--gap\r\n\r\n" + b"x" * n),
    "a name without an end": header(lambda n: b"x" * n),
    "spaces before a colon": header(lambda n: b"x" + b" " * n + b"x"),
    "spaces before a value": header(lambda n: b"x:" + b" " * n + b"\x00"),
    "spaces behind a value": header(lambda n: b"x: y" + b" " * n),
    "folded lines": header(lambda n: b"x: y" + b"\r\n z" * (n // 4)),
    "folded emptiness": header(lambda n: b"x: y" + b"\r\n " * (n // 3)),
    "carriage returns": header(lambda n: b"x: y" + b"\r" * n),
    "headers": header(lambda n: b"\r\n".join([b"x:"] * (n // 4))),
    "the same header": header(lambda n: b"\r\n".join([b"Content-Type: a"] * (n // 17))),
    "semicolons": kind(lambda n: MIXED + ";" * n),
    "an open quote and semicolons": kind(lambda n: MIXED + '; x="' + ";" * n),
    "open quotes": kind(lambda n: MIXED + '; x="a\\"' * (n // 8)),
    "backslashes": kind(lambda n: MIXED + '; x="' + "\\" * n),
    "spaces": kind(lambda n: MIXED + "; x" + " " * n),
    "parameters": kind(lambda n: MIXED + ";x=y" * (n // 4)),
    "names without values": kind(lambda n: MIXED + ";x" * (n // 2)),
    "base64 of nothing": content(b"base64", lambda n: b"\r\n" * (n // 2)),
    "base64 of padding": content(b"base64", lambda n: b"=" * n),
    "equals signs": content(b"quoted-printable", lambda n: b"=" * n),
    "soft line ends": content(b"quoted-printable", lambda n: b"=\r\n" * (n // 3)),
    "spaces to be removed": content(b"quoted-printable", lambda n: b" " * n),
    "spaces to be kept": content(b"quoted-printable", lambda n: b" " * n + b"x"),
    "line ends with spaces": content(b"quoted-printable", lambda n: b" \r\n" * (n // 3)),
}


def cpu_s(call: Callable[[], object]) -> float:
    """The least of three runs; a refusal is as good as an answer."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        with suppress(Refused):
            call()
        seconds.append(time.process_time() - started)
    return min(seconds)


@pytest.mark.req("Z2")
@pytest.mark.parametrize("attack", ATTACKS)
def test_time_grows_no_faster_than_the_input(attack: str) -> None:
    """Sixteen times the input may take 96 times the time, for caches that others use too; quadratic were 256 times."""
    small, large = ATTACKS[attack](20_000), ATTACKS[attack](320_000)
    assert cpu_s(large) <= max(96 * cpu_s(small), ENOUGH_S)


@pytest.mark.req("Z2")
def test_very_many_parts_are_refused_before_they_are_looked_at() -> None:
    body = b"--gap\r\n\r\n\r\n" * 200_000 + b"--gap--"
    tracemalloc.start()
    try:
        with pytest.raises(Refused) as refused:
            read_multipart(MIXED, body)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert refused.value.code == "wire.too-complex"


@pytest.mark.req("Z2")
def test_parts_are_not_copied() -> None:
    body = between(b"x" * (8 << 20))
    tracemalloc.start()
    try:
        assert len(read_related("multipart/related; boundary=gap", body).root.data()) == 8 << 20
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def test_a_deep_nest_of_multiparts_is_one_part() -> None:
    """Only one level is read at a time, so there is no depth that could be too much."""
    body = b"x"
    for depth in range(2_000):
        body = b"--%d\r\nContent-Type: multipart/mixed; boundary=%d\r\n\r\n%b\r\n--%d--" % (
            depth,
            depth - 1,
            body,
            depth,
        )
    (part,) = read_multipart("multipart/mixed; boundary=1999", body).parts
    assert part.content_type == "multipart/mixed; boundary=1998"


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable"])
def test_encoding_much_takes_time_in_proportion(encoding: Encoding) -> None:
    small, large = bytes(range(256)) * 200, bytes(range(256)) * 1600
    assert cpu_s(lambda: encode_content(large, encoding)) <= max(
        24 * cpu_s(lambda: encode_content(small, encoding)), ENOUGH_S
    )

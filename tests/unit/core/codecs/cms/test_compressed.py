"""Compressed messages: small ones unpacked whole, bombs refused while they are still small."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest

from postroad.core.codecs.cms import compress, content_kind, decompress, oids
from postroad.core.codecs.cms.content import wrap_content
from postroad.core.codecs.cms.der import OCTET_STRING, context_tag, element, sequence, small_integer
from postroad.core.codecs.limits import WireLimits
from postroad.errors import Refused
from tests.samples.cms_people import CONTENT
from tests.samples.crafted_cms import as_ber

pytestmark = pytest.mark.req("T7")
GENEROUS = WireLimits(body_bytes=1 << 30)


def compressed(stream: bytes, algorithm: bytes = oids.ZLIB, tag: int = OCTET_STRING) -> bytes:
    inside = sequence(oids.DATA, element(context_tag(0), element(tag, stream)))
    return wrap_content(oids.COMPRESSED_DATA, [small_integer(0), sequence(algorithm), inside])


def refusal(message: bytes, limits: WireLimits = GENEROUS) -> Refused:
    with pytest.raises(Refused) as caught:
        decompress(message, limits)
    return caught.value


@pytest.mark.parametrize("content", [b"", CONTENT, bytes(1 << 20), CONTENT * 9000], ids=len)
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_what_is_compressed_is_unpacked(content: bytes, level: int) -> None:
    message = compress([content[:5], memoryview(content)[5:]], level)
    assert content_kind(message) == "compressed"
    assert decompress(message) == decompress(as_ber(message, 1000)) == decompress(memoryview(message)) == content
    assert decompress(compress(content, level)) == content


def test_a_stream_that_stops_early_is_refused() -> None:
    stream = zlib.compress(CONTENT)
    for length in range(len(stream)):
        assert refusal(compressed(stream[:length])).code == "cms.decompression-failed"


@pytest.mark.parametrize("behind", [b"\0", zlib.compress(b"another")])
def test_something_behind_the_stream_is_refused(behind: bytes) -> None:
    message = compressed(zlib.compress(CONTENT) + behind)
    assert "follows" in str(refusal(message))
    assert "follows" in str(refusal(as_ber(message, len(zlib.compress(CONTENT)))))  # behind it, in a piece of its own


@pytest.mark.parametrize(
    "stream", [b"no zlib at all", zlib.compress(CONTENT)[2:], zlib.compress(CONTENT)[:-4] + b"1234"]
)
def test_a_damaged_stream_is_refused(stream: bytes) -> None:
    assert refusal(compressed(stream)).code == "cms.decompression-failed"


def test_other_algorithms_and_other_content_are_refused() -> None:
    assert refusal(compressed(b"", oids.RSA)).code == "cms.unsupported"
    assert refusal(compressed(b"", tag=0x0C)).code == "cms.malformed"


def test_a_bomb_is_refused_in_little_memory() -> None:
    packer = zlib.compressobj(9)
    stream = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    assert 190_000 < len(stream) < 220_000
    for message in (compressed(stream), as_ber(compressed(stream), 4000)):
        tracemalloc.start()
        found = refusal(message)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.code == "cms.too-large"
        assert peak < 3 * 200 * len(stream)  # 200 times larger is allowed, and joining may hold it twice


def test_the_limit_of_the_message_holds_for_what_is_unpacked() -> None:
    limits = WireLimits(body_bytes=10_000)
    message = compress(bytes(10_000))
    assert len(decompress(message, limits)) == 10_000
    assert refusal(compress(bytes(10_001)), limits).code == "cms.too-large"


def test_messages_may_grow_as_they_like_up_to_sixteen_megabytes() -> None:
    most = 16 << 20
    assert len(decompress(compress(bytes(most), 9), GENEROUS)) == most  # a thousand times larger
    assert refusal(compress(bytes(most + 1), 9)).code == "cms.too-large"


def test_cut_messages_are_refused() -> None:
    message = compress(CONTENT)
    for whole in (message, as_ber(message, 50)):
        for length in range(len(whole)):
            assert refusal(whole[:length]).code == "cms.malformed"

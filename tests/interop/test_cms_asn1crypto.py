"""asn1crypto takes our CMS messages apart by the grammar of the standards, and puts them together again to the same bytes.

It comes with the tests' own requirements (through pyas2lib); where it is not installed the tests say so.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from postroad.core.codecs.cms import compress, decompress, encrypt, sign
from tests.samples.cms_people import CONTENT, SIGNED_AT, clerk, notary, partner

cms: Any = pytest.importorskip("asn1crypto.cms", reason="needs asn1crypto, which is not installed")
pytestmark = pytest.mark.req("T7")
READERS = [clerk().certificate, partner().certificate]
OURS: dict[str, Callable[[], bytes]] = {
    "signed": lambda: sign([CONTENT], [clerk()], signed_at=SIGNED_AT),
    "signed by two, around": lambda: sign([CONTENT], [clerk(), notary()], detached=False, signed_at=SIGNED_AT),
    "signed with sha1": lambda: sign([CONTENT], [clerk()], digest="sha1", signed_at=None),
    "signed with pss": lambda: sign([CONTENT], [clerk()], digest="sha512", signed_at=SIGNED_AT, pss=True),
    "enveloped": lambda: encrypt(CONTENT, READERS, randomness=os.urandom),
    "enveloped with oaep": lambda: encrypt(CONTENT, READERS, oaep=True, randomness=os.urandom),
    "compressed": lambda: compress(CONTENT),
}


@pytest.mark.parametrize("name", OURS)
def test_our_messages_are_der_to_the_last_byte(name: str) -> None:
    message = OURS[name]()
    taken_apart = cms.ContentInfo.load(message, strict=True)
    taken_apart.native  # noqa: B018 - reads every field, by its type
    assert taken_apart.dump(force=True) == message


def test_what_we_sign_says_what_it_should() -> None:
    signed = cms.ContentInfo.load(OURS["signed"]())["content"]
    attributes = {one["type"].native: one["values"].native for one in signed["signer_infos"][0]["signed_attrs"]}
    assert attributes["content_type"] == ["data"]
    assert attributes["signing_time"] == [SIGNED_AT]
    assert [one.chosen.subject.native["common_name"] for one in signed["certificates"]] == ["Clerk"]


def test_asn1crypto_and_postroad_decompress_each_other() -> None:
    assert cms.ContentInfo.load(compress(CONTENT))["content"].decompressed == CONTENT
    theirs = cms.ContentInfo(
        {
            "content_type": "compressed_data",
            "content": cms.CompressedData(
                {
                    "version": "v0",
                    "compression_algorithm": cms.CompressionAlgorithm({"algorithm": "zlib"}),
                    "encap_content_info": {"content_type": "data", "content": zlib.compress(CONTENT)},
                }
            ),
        }
    )
    assert decompress(theirs.dump()) == CONTENT

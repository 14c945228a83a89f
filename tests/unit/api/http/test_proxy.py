"""Whom a proxy speaks for: the client, through as many proxies of ours as there are, and never whom the client names."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest

from postroad.api.http.proxy import ClientOrigin, TrustedProxies
from postroad.errors import Refused

PROXIES = TrustedProxies(["10.0.0.0/8", "192.0.2.9", "2001:db8:ffff::/48"])
CLIENT = "203.0.113.7"


def peer(*forwarded: bytes, direct: str = "10.0.0.1") -> str:
    return PROXIES.origin([(b"x-forwarded-for", one) for one in forwarded], ClientOrigin(direct, False, None)).peer


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        ([b"203.0.113.7"], CLIENT),
        ([b"6.6.6.6, 203.0.113.7"], CLIENT),  # the first is what the client wrote itself
        ([b"6.6.6.6, 203.0.113.7, 192.0.2.9"], CLIENT),  # one proxy behind another
        ([b"203.0.113.7, 192.0.2.9", b"10.1.2.3"], CLIENT),  # each in a header of its own
        ([b"10.6.6.6, 203.0.113.7"], CLIENT),  # a client that would like to be a proxy
        ([b"2001:db8::1, 2001:db8:ffff::5"], "2001:db8::1"),
        ([b"10.7.7.7"], "10.7.7.7"),  # somebody in our own network asks
        ([b"203.0.113.7, nonsense"], "10.0.0.1"),
        ([b"203.0.113.7, , 192.0.2.9"], "192.0.2.9"),
        ([b""], "10.0.0.1"),
        ([], "10.0.0.1"),
    ],
)
def test_the_last_who_is_no_proxy_of_ours_is_the_client(forwarded: list[bytes], expected: str) -> None:
    assert peer(*forwarded) == expected


def test_nobody_else_names_a_client() -> None:
    assert peer(b"203.0.113.7", direct="198.51.100.1") == "198.51.100.1"


def test_an_ipv4_proxy_is_known_where_addresses_are_written_as_ipv6() -> None:
    assert peer(b"203.0.113.7, ::ffff:192.0.2.9", direct="::ffff:10.0.0.1") == CLIENT
    assert peer(b"203.0.113.7", direct="::ffff:198.51.100.1") == "::ffff:198.51.100.1"


DER = bytes(range(256))
BASE64 = base64.b64encode(DER)
LINES = b"\n".join(BASE64[start : start + 64] for start in range(0, len(BASE64), 64))
ARMORED = b"-----BEGIN CERTIFICATE-----\n" + LINES + b"\n-----END CERTIFICATE-----\n"


def certificate(*values: bytes) -> bytes | None:
    said = [(b"client-cert", value) for value in values]
    return PROXIES.origin(said, ClientOrigin("10.0.0.1", False, None)).client_certificate_der


@pytest.mark.parametrize(
    "value",
    [
        b":" + BASE64 + b":",  # RFC 9440
        quote(ARMORED, safe="").encode(),  # nginx encodes everything but letters, digits and -._~
        quote(ARMORED, safe="+/=").encode(),
    ],
)
def test_a_certificate_is_read_in_both_forms_that_proxies_write(value: bytes) -> None:
    assert certificate(value) == DER


def test_no_header_is_no_certificate() -> None:
    assert certificate() is None


@pytest.mark.parametrize(
    "values",
    [
        (b"",),
        (b"::",),
        (b":",),
        (BASE64,),
        (b":no base64!:",),
        (ARMORED.replace(b"\n", b" "),),  # not encoded
        (quote(ARMORED * 2, safe="").encode(),),  # a chain is not one certificate
        (quote(ARMORED[:-10], safe="").encode(),),
        (quote(ARMORED.replace(LINES, b""), safe="").encode(),),
        (quote(ARMORED.replace(LINES, b"AAA"), safe="").encode(),),
        (b":" + BASE64 + b":", b":" + BASE64 + b":"),
    ],
)
def test_what_is_not_one_certificate_is_refused(values: tuple[bytes, ...]) -> None:
    with pytest.raises(Refused) as refused:
        certificate(*values)
    assert refused.value.code == "request.malformed"

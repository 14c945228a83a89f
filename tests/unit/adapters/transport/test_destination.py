"""Push URLs: what the good ones mean, and what is said about the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import NoAnswer


@pytest.mark.parametrize(
    ("url", "host", "port", "target", "authority"),
    [
        ("https://example.com", "example.com", 443, "/", "example.com"),
        ("HTTPS://Example.COM./In/Box?A=b%20c", "example.com", 443, "/In/Box?A=b%20c", "example.com"),
        ("https://example.com?x=1", "example.com", 443, "/?x=1", "example.com"),
        ("http://example.com:80/", "example.com", 80, "/", "example.com"),
        ("https://example.com:8443/", "example.com", 8443, "/", "example.com:8443"),
        ("https://xn--mller-kva.example/", "xn--mller-kva.example", 443, "/", "xn--mller-kva.example"),
        ("https://8.8.8.8/", "8.8.8.8", 443, "/", "8.8.8.8"),
        ("https://[2001:4860:4860:0::8888]:444/x", "2001:4860:4860::8888", 444, "/x", "[2001:4860:4860::8888]:444"),
        ("https://example.com//127.0.0.1/@x", "example.com", 443, "//127.0.0.1/@x", "example.com"),
        ("https://example.com/?next=http://user@host/", "example.com", 443, "/?next=http://user@host/", "example.com"),
    ],
)
def test_a_plain_url_is_taken_apart(url: str, host: str, port: int, target: str, authority: str) -> None:
    destination = Destination.of(url)
    assert (destination.host, destination.port, destination.target) == (host, port, target)
    assert destination.authority == authority


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("ftp://example.com/", "begin with https://"),
        ("example.com/in", "begin with https://"),
        ("https://me:secret@example.com/", "remove the user name"),
        ("https://müller.example/", "xn--"),
        ("https://example.com/a b", "a blank"),
        ("https://example.com\\in", "a backslash"),
        ("https://example.com/in#top", "from # on"),
        ("https://example.com:99999/", "between 1 and 65535"),
        ("https://0x7f.1/", "four decimal numbers"),
        ("https://[::g]/", "https://host/path"),
        ("https://a..b/", "not a name"),
    ],
)
def test_a_mistake_is_named_and_secrets_are_not_repeated(url: str, advice: str) -> None:
    with pytest.raises(NoAnswer, match="The push URL cannot be used") as refused:
        Destination.of(url)
    assert advice in str(refused.value)
    assert "secret" not in str(refused.value)


@given(st.text(alphabet=st.sampled_from("htps:/@\\#?.[]%01279xaé \r\n\t\u3002"), max_size=30))
def test_whatever_is_taken_can_stand_in_a_request_line(tail: str) -> None:
    try:
        destination = Destination.of("https://" + tail)
    except NoAnswer:
        return
    line = destination.target + destination.authority
    assert line.isascii()
    assert not any(character.isspace() for character in line)
    assert "@" not in destination.host

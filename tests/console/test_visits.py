"""A visit ends when nobody uses it, and forms are taken from the visit that they were shown to."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.browser_sessions import IDLE_S, RENEWED_S, BrowserSessions
from postroad.core.identity import api_key

KEY = api_key.make(bytes(range(32))).text
OTHER = api_key.make(bytes(range(1, 33))).text
NOW_S = 1_800_000_000


def asked(cookie: str = "", scheme: str = "http") -> Request:
    headers = [(b"cookie", cookie.encode())] if cookie else []
    return Request({"type": "http", "method": "GET", "path": "/", "headers": headers, "scheme": scheme})


def begun(visits: BrowserSessions, scheme: str = "http") -> str:
    response = Response()
    visits.begin(asked(scheme=scheme), response, KEY, NOW_S)
    return response.headers["set-cookie"]


def test_a_visit_lasts_while_it_is_used_and_no_longer() -> None:
    visits = BrowserSessions(b"secret" * 6)
    cookie = begun(visits).partition(";")[0]
    assert visits.key_in(asked(cookie), NOW_S + IDLE_S - 1) == KEY
    assert visits.key_in(asked(cookie), NOW_S + IDLE_S) == ""
    assert not visits.is_old(asked(cookie), NOW_S + RENEWED_S - 1)
    assert visits.is_old(asked(cookie), NOW_S + RENEWED_S)


def test_nobody_can_say_that_they_were_seen_later() -> None:
    visits = BrowserSessions(b"secret" * 6)
    name, _, value = begun(visits).partition(";")[0].partition("=")
    key, _, seen = value.partition("|")
    later = f"{NOW_S + IDLE_S:x}.{seen.partition('.')[2]}"
    for forged in (
        f"{name}={key}|{later}",
        f"{name}={key}|",
        f"{name}={key}",
        f"{name}={OTHER}|{seen}",
        f"{name}=|zz.zz",
        f"{name}={key}|{'f' * 6_000}.{'0' * 32}",  # more digits than Python writes as decimals
        f"{name}={key}|-1.{seen.partition('.')[2]}",
        f"{name}={key}|{seen}0",
    ):
        assert visits.key_in(asked(forged), NOW_S + IDLE_S) == ""
        assert visits.key_in(asked(forged), NOW_S) == ""
    assert BrowserSessions(b"another secret" * 3).key_in(asked(f"{name}={value}"), NOW_S) == ""


def test_the_cookie_is_kept_from_scripts_and_other_sites() -> None:
    plain, secure = begun(BrowserSessions(b"s" * 32)), begun(BrowserSessions(b"s" * 32), "https")
    for written in (plain, secure):
        assert "HttpOnly" in written
        assert "SameSite=lax" in written
        assert "Path=/" in written
        assert "Domain" not in written
    assert secure.startswith("__Host-postroad=")
    assert "Secure" in secure


def test_a_form_of_another_visit_is_not_taken() -> None:
    visits = BrowserSessions(b"s" * 32)
    assert visits.is_own(KEY, visits.csrf(KEY))
    assert not visits.is_own(OTHER, visits.csrf(KEY))
    assert not visits.is_own(KEY, "")
    assert not visits.is_own(KEY, "ü")

"""What stands before the pages: the policy of every answer, whose forms are taken, where a login leads, and how visits end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from postroad.console.application import REQUESTS_PER_S
from postroad.console.browser_sessions import ENDS_S, IDLE_S, PLAIN_NAME, RENEWED_S, SECURE_NAME
from postroad.console.rendering import POLICY
from postroad.console.static_files import FILES
from postroad.core.admission.rate_limit import BURST_S
from postroad.flow.administration.accounts import set_password
from tests.unit.console.inhabited import HOME, PASSWORD, Inhabited, Visitor, enter_all, inhabited

OWNER = "owner@workshop.example"
NEW = {"label": "made by a form", "current": PASSWORD}
NO_FORMS = (
    "text/plain", "application/json", "multipart/form-data; boundary=x", "", "application/x-www-form-urlencoded, text/plain",
    "text/plain; application/x-www-form-urlencoded", "application/csp-report",
)  # fmt: skip


@pytest.fixture
async def found(tmp_path: Path) -> AsyncIterator[Inhabited]:
    async with inhabited(tmp_path) as network:
        await enter_all(network)
        yield network


async def entered(found: Inhabited) -> Visitor:
    visitor = found.visitor()
    await visitor.log_in(OWNER)
    return visitor


@pytest.mark.req("C1")
async def test_every_answer_has_the_policy(found: Inhabited) -> None:
    visitor = await entered(found)
    files = [*(one.url for one in FILES.values()), "/static/nothing.js"]
    for address in ["/", "/login", "/nothing", "/services/nothing", "/login/link?once=x", *files]:
        headers = (await visitor.get(address)).headers
        assert headers["content-security-policy"] == ("default-src 'none'" if address in files else POLICY), address
        assert headers["x-content-type-options"] == "nosniff", address
    for forbidden in ("unsafe-inline", "unsafe-eval", "http:", "https:", "*"):
        assert forbidden not in POLICY
    assert "frame-ancestors 'none'" in POLICY  # nobody puts a page of ours into theirs and has people click there
    assert "base-uri 'none'" in POLICY


async def test_forms_are_taken_from_this_visit_and_this_site_alone(found: Inhabited) -> None:
    visitor, another = await entered(found), await entered(found)
    assert another.csrf not in ("", visitor.csrf)
    before = found.running.network.directory
    wrong = [
        await visitor.send("/account/keys", NEW | {"csrf": ""}),
        await visitor.send("/account/keys", NEW | {"csrf": another.csrf}),
        await visitor.send("/account/keys", NEW, Sec_Fetch_Site="cross-site"),
        await visitor.send("/account/keys", NEW, Sec_Fetch_Site="same-site"),
        await visitor.send("/account/keys", NEW, Origin="https://evil.example"),
        await visitor.send("/account/keys", NEW, Origin="null"),
    ]
    assert [answer.status_code for answer in wrong] == [403] * len(wrong)
    as_json = {"Content-Type": "text/plain"}  # which another site's form could send without asking first
    sent = await visitor.client.post("/account/keys", content=f"csrf={visitor.csrf}&label=x", headers=as_json)
    assert sent.status_code == 415
    assert found.running.network.directory is before
    assert (await visitor.send("/account/keys", NEW, Origin="http://network.example")).status_code == 200


async def test_what_is_no_form_is_not_taken_for_one(found: Inhabited) -> None:
    """Whatever else another site can have a browser send; and the header that scripts of ours send makes no form of it."""
    visitor, before = await entered(found), found.running.network.directory
    for kind in NO_FORMS:
        for body in (f"csrf={visitor.csrf}&label=x", '{"label": "x"}', "--x\r\n", ""):
            headers = {"Content-Type": kind, "X-CSRF": visitor.csrf}
            sent = await visitor.client.post("/account/keys", content=body, headers=headers)
            assert sent.status_code == 415, kind
    assert found.running.network.directory is before


async def test_what_a_form_says_twice_or_wrongly_is_no_incident(found: Inhabited) -> None:
    visitor, kind = await entered(found), {"Content-Type": "application/x-www-form-urlencoded"}
    for body, status in (
        (f"csrf=x&csrf={visitor.csrf}&label=twice&current={PASSWORD}", 200),  # the last counts
        (f"csrf={visitor.csrf}&csrf=x&label=twice", 403),
        (f"csrf={visitor.csrf}&label=%ff%fe", 400),
        (f"csrf={visitor.csrf}&label=%00", 422),
        (f"csrf={visitor.csrf}&" + "a=b&" * 600, 400),
        (f"csrf={visitor.csrf}&label=" + "x" * (3 << 20), 413),
        ("csrf=%C3%BC&label=x", 403),
        ("=&&&=", 403),
        ("\udcff", 400),
    ):
        content = body.encode("utf-8", "surrogateescape")
        assert (await visitor.client.post("/account/keys", content=content, headers=kind)).status_code == status, body[
            :90
        ]


async def test_what_somebody_wrote_to_the_operators_is_not_lost(found: Inhabited) -> None:
    visitor, long = await entered(found), "a word" * 2_000
    for address, form in (("/support/new", {"subject": "s"}), (found.place("/support/{request}", "owner"), {})):
        answer = await visitor.send(address, form | {"text": long})
        assert (answer.status_code, long in answer.text) == (422, True), address


async def test_who_may_less_meanwhile_may_less_in_the_visit_that_is_open(found: Inhabited) -> None:
    developer, owner = found.people["visitor 2"], await entered(found)
    assert developer.email == "developer@workshop.example"
    members = f"/organization/members/{developer.email}"
    new = "/services/new?organization=Workshop"
    assert (await developer.get(new)).status_code == 200
    assert (await owner.send(f"{members}/role", {"role": "viewer"})).status_code == 303
    assert (await developer.get(new)).status_code == 403
    sent = {"organization": "Workshop", "name": "Late"}
    assert (await developer.send("/services/new", sent)).status_code == 403
    assert (await owner.send(f"{members}/remove")).status_code == 303
    assert (await developer.get("/account")).headers["location"].startswith("/login")


async def test_no_other_site_speaks_in_our_name(found: Inhabited) -> None:
    visitor, words = await entered(found), "/account?done=Call+0900+555"
    assert "0900 555" in (await visitor.get(words, Sec_Fetch_Site="same-origin")).text
    for site in ("cross-site", "same-site", "none"):
        assert "0900 555" not in (await visitor.get(words, Sec_Fetch_Site=site)).text


async def test_nobody_is_logged_in_by_another_site(found: Inhabited) -> None:
    """Else somebody could be made to work, unknowingly, in another's account."""
    visitor, form = found.visitor(), {"email": OWNER, "password": PASSWORD}
    answer = await visitor.send("/login", form, Sec_Fetch_Site="cross-site")
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)


async def test_a_login_is_a_new_visit_whatever_the_browser_held(found: Inhabited) -> None:
    visitor = await entered(found)
    planted = visitor.client.cookies[PLAIN_NAME]
    victim = found.visitor()
    form = {"email": OWNER, "password": PASSWORD}
    answer = await victim.send("/login", form, Cookie=f"{PLAIN_NAME}={planted}")
    assert planted.partition("|")[0] not in answer.headers["set-cookie"]


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil.example", "/\t/evil.example", "javascript:alert(1)",
     "http:evil.example", "", "/%0d%0aSet-Cookie: a=b", "/\r\nSet-Cookie: a=b", " //evil.example", "/.//evil.example"],
)  # fmt: skip
async def test_a_login_leads_nowhere_else(found: Inhabited, wanted: str) -> None:
    form = {"email": OWNER, "password": PASSWORD, "next": wanted}
    answer = await found.visitor().send("/login", form)
    assert answer.status_code == 303
    led = urlsplit(answer.headers["location"])
    assert (led.scheme, led.netloc) == ("", "")
    assert led.path.startswith("/")
    assert not led.path.startswith(("//", "/\\"))
    assert "a" not in answer.cookies


async def test_whoever_was_sent_to_the_login_comes_back(found: Inhabited) -> None:
    visitor = found.visitor()
    asked = await visitor.get("/messages?box=sent&topic=a%26b")
    assert asked.headers["location"] == "/login?next=/messages%3Fbox%3Dsent%26topic%3Da%2526b"
    page = await visitor.get(asked.headers["location"])
    assert 'value="/messages?box=sent&amp;topic=a%26b"' in page.text


async def test_nobody_is_led_to_another_host(found: Inhabited) -> None:
    """Whatever host a request names, and whatever stands in its path."""
    visitor = found.visitor()
    for asked, led in (
        ("/account/", "/account"),
        ("/login//", "/"),
        ("//evil.example/", "/"),
        ("/%09/evil.example/", "/"),
        ("/nothing/", "/nothing"),
        ("/provisioned/%E2%82%AC", "/connected/%E2%82%AC"),
        ("/provisioned/%0d%0aSet-Cookie:%20a=b", "/connected/Set-Cookie%3A%20a%3Db"),
        ("/provision?provider=%0d%0aa", "/connect?provider=%0d%0aa"),
    ):
        answer = await visitor.get(f"{HOME}{asked}", Host="evil.example")
        assert (answer.status_code, answer.headers.get("location")) == (303, led)
        assert not answer.cookies


async def test_the_cookie_over_tls_and_without(found: Inhabited) -> None:
    for url, name in (("https://network.example", SECURE_NAME), ("http://network.example", PLAIN_NAME)):
        answer = await found.visitor(url).send("/login", {"email": OWNER, "password": PASSWORD})
        given = answer.headers["set-cookie"].split("; ")
        assert given[0].startswith(f"{name}=")
        assert {"HttpOnly", "Path=/", "SameSite=lax", f"Max-Age={ENDS_S}"} <= set(given)
        assert ("Secure" in given) is url.startswith("https")
        assert not any(one.startswith("Domain") for one in given)


async def test_a_visit_that_nobody_uses_ends(found: Inhabited) -> None:
    visitor = await entered(found)
    found.clock.ahead_s += RENEWED_S
    assert "set-cookie" in (await visitor.get("/account")).headers  # it was seen
    found.clock.ahead_s += IDLE_S
    assert (await visitor.get("/account")).headers["location"].startswith("/login")


async def test_a_visit_ends_though_it_is_used(found: Inhabited) -> None:
    visitor = await entered(found)
    for _ in range(ENDS_S // IDLE_S * 2 - 1):
        found.clock.ahead_s += IDLE_S / 2
        assert (await visitor.get("/account")).status_code == 200
    found.clock.ahead_s += IDLE_S / 2
    assert (await visitor.get("/account")).status_code == 303


async def test_visits_are_listed_and_ended_by_their_person(found: Inhabited) -> None:
    here, elsewhere = await entered(found), await entered(found)
    listed = (await here.get("/account")).text
    key = elsewhere.client.cookies[PLAIN_NAME].partition("|")[0]
    known = next(
        one.id
        for one in found.running.network.directory.credentials_of(person=OWNER)
        if one.id in key.replace("-", "_")
    )
    assert known in listed
    assert (await here.send(f"/account/keys/{known}/end")).status_code == 303
    assert (await elsewhere.get("/account")).status_code == 303
    assert (await here.get("/account")).status_code == 200


async def test_logging_out_ends_the_key_and_not_only_the_cookie(found: Inhabited) -> None:
    visitor, thief = await entered(found), found.visitor()
    stolen = visitor.client.cookies[PLAIN_NAME]
    await visitor.send("/logout")
    thief.client.cookies.set(PLAIN_NAME, stolen)
    assert (await thief.get("/account")).status_code == 303


async def test_a_new_password_ends_every_other_visit(found: Inhabited) -> None:
    here, elsewhere = await entered(found), await entered(found)
    changed = await here.send("/account/password", {"current": PASSWORD, "password": "nine loud geese on a lake"})
    assert changed.status_code == 303
    assert (await elsewhere.get("/account")).status_code == 303
    assert (await here.get("/account")).status_code == 200


async def test_guessing_passwords_is_slowed_down(found: Inhabited) -> None:
    """And tells nothing: whoever is there and whoever is not are answered alike."""
    visitor, person = found.visitor(), found.person("member-owner@workshop.example").person
    assert person is not None
    await set_password(found.administration, person, PASSWORD, "")
    said = set()
    for email in (person.email, "no@x.example"):
        said.add((await visitor.send("/login", {"email": email, "password": "x"})).text.replace(email, ""))
    assert len(said) == 1
    guesses = [{"email": person.email, "password": f"guess {number}"} for number in range(40)]
    codes = [(await visitor.send("/login", guess)).status_code for guess in guesses]
    assert codes[0] == 401
    assert codes[-1] == 429
    right = await visitor.send("/login", {"email": person.email, "password": PASSWORD})
    assert right.status_code == 429  # not even that one, from there


async def test_one_address_asks_so_often_and_no_more(found: Inhabited, monkeypatch: pytest.MonkeyPatch) -> None:
    now = found.clock.monotonic()
    monkeypatch.setattr(found.clock, "monotonic", lambda: now)  # however slow the machine is
    counted = found.running.network.metrics.value("rate_limited_total", "console")
    greedy, other = found.visitor(), found.visitor()
    codes = [(await greedy.get("/login")).status_code for _ in range(REQUESTS_PER_S * BURST_S + 1)]
    assert codes == [200] * (REQUESTS_PER_S * BURST_S) + [429]
    assert found.running.network.metrics.value("rate_limited_total", "console") == counted + 1
    assert (await other.get("/login")).status_code == 200


@pytest.mark.req("N1")
async def test_a_browser_that_was_left_open_makes_no_key(found: Inhabited) -> None:
    visitor = await entered(found)
    for current in ({}, {"current": "a guess at the password"}):
        answer = await visitor.send("/account/keys", {"label": "a year of somebody else's"} | current)
        assert (answer.status_code, "Wrong password" in answer.text) == (422, True)
        assert 'value="a year of' in answer.text  # what was typed is still there
    assert "somebody else's" not in (await visitor.get("/account")).text


async def test_a_key_for_programs_is_no_visit(found: Inhabited) -> None:
    """Put into the cookie by hand, it lacks the proof that the browser was seen by us."""
    visitor = await entered(found)
    made = (await visitor.send("/account/keys", NEW)).text
    key = made.partition("<code")[2].partition(">")[2].partition("<")[0].strip()
    assert key
    forger = found.visitor()
    forger.client.cookies.set(PLAIN_NAME, key)
    assert (await forger.get("/account")).status_code == 303

"""What a provider says and hears, without a network; and what a visit to its page may bring."""

from __future__ import annotations

import pytest

from postroad.client import ProvisioningRedirect, ProvisioningVisit, Refused, Unavailable, provisioning
from postroad.client.steps import ApiResponse
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Argument, MessageType, Status
from postroad.core.resources.services import ProvisioningView
from tests.unit.client.scripted import Script, conversations, delivered, ok, problem

HOME = "https://network.example:8470"
GCID, TOKEN = "386b4520f489c217", "0123456789abcdef"
BACK = f"{HOME}/provisioned/{GCID}"
QUERY = f"serviceID={GCID}&token={TOKEN}&returnURL=https%3A%2F%2Fnetwork.example%3A8470%2Fprovisioned%2F{GCID}"
POSTED = ok({"session": "s", "transaction": "t"}, 202)
NOTHING, SETTLED = ok({"messages": []}), ok({"settled": []})


def linked(state: str) -> ApiResponse:
    return ok(
        ProvisioningView(
            service="MyBiz/Second",
            gcid=GCID,
            provider="Parcels/Dispatch",
            provider_gcid="1" * 16,
            state=state,
            started_at=None,
            expires_at=None,
            confirmed_at=None,
            revoked_at=None,
        )
    )


def answer(status: Status | None = None) -> ApiResponse:
    message = delivered(type=MessageType.RESPONSE, status=status)
    return ApiResponse(status=200, body=JSON_FORM.encode_delivered([message]))


@pytest.mark.req("N8", "N9", "K1")
def test_a_confirmation_is_a_request_to_the_networks_own_service() -> None:
    script = Script([POSTED, answer(), SETTLED])
    script.play(
        provisioning.send_and_wait(
            conversations(), provisioning.build_confirmation(GCID, TOKEN, "<account>7</account>")
        )
    )
    posted, polled, settled = script.requests
    message = JSON_FORM.decode_post(posted.body)
    [to] = message.to
    assert (to.service, message.type, message.topic) == ("Network/Provisioning", "request", "provisioning.confirm")
    assert to.arguments == (Argument("GCID", GCID), Argument("token", TOKEN), Argument("cookie", "1"))
    [cookie] = message.parts
    assert (cookie.id, cookie.content_type, cookie.data) == ("1", "application/xml", b"<account>7</account>")
    select = JSON_FORM.decode_poll(polled.body).select
    assert (select.type, select.transaction) == ("response", "t"), "nobody else's messages are taken"
    assert settled.path == "/v1/ack"


@pytest.mark.req("N9", "N10")
def test_revocations_and_registrations_name_whom_they_are_about() -> None:
    revoked, registered = provisioning.build_revocation(GCID), provisioning.build_registration(GCID, None)
    assert (revoked.topic, revoked.to[0].arguments, revoked.parts) == (
        "provisioning.revoke", (Argument("GCID", GCID),), ()
    )  # fmt: skip
    assert (registered.topic, registered.parts) == ("cookie.register", ()), "without a document it is forgotten"


@pytest.mark.req("N8")
def test_a_status_in_the_answer_is_raised_as_the_refusal_it_is() -> None:
    status = Status("provisioning.expired", "Start again")
    script = Script([POSTED, answer(status), SETTLED])
    with pytest.raises(Refused) as refused:
        script.play(provisioning.send_and_wait(conversations(), provisioning.build_confirmation(GCID, TOKEN)))
    assert (refused.value.code, refused.value.detail) == ("provisioning.expired", "Start again")
    assert script.requests[-1].path == "/v1/ack", "the answer is done with all the same"


def test_an_answer_that_another_consumer_took_is_known_by_its_effect() -> None:
    script = Script([POSTED, NOTHING, linked("pending"), NOTHING, linked("active")])
    script.play(
        provisioning.send_and_wait(
            conversations(), provisioning.build_confirmation(GCID, TOKEN), gcid=GCID, then="active"
        )
    )
    assert [request.path for request in script.requests[2::2]] == [f"/v1/provisionings/{GCID}"] * 2


def test_no_answer_is_no_success() -> None:
    outcomes = [POSTED] + [NOTHING, problem(404, "not-found")] * provisioning.STEPS
    with pytest.raises(Unavailable, match="postroad trace s"):
        Script(outcomes).play(
            provisioning.send_and_wait(conversations(), provisioning.build_revocation(GCID), gcid=GCID, then="revoked")
        )
    with pytest.raises(Unavailable, match=r"answer\.late"):
        Script([POSTED] + [NOTHING] * provisioning.STEPS).play(
            provisioning.send_and_wait(conversations(), provisioning.build_registration(GCID, "x"))
        )


@pytest.mark.req("N8", "K1")
def test_a_visit_is_read_from_the_query() -> None:
    visit = ProvisioningRedirect.from_query("?" + QUERY + "&lang=en", HOME)
    assert visit == ProvisioningRedirect(gcid=GCID, token=TOKEN, return_url=BACK)
    given = {"serviceID": GCID, "token": TOKEN, "returnURL": BACK, "customer": "mybiz"}
    assert ProvisioningRedirect.from_query(given, HOME) == visit


@pytest.mark.req("Z4", "N8")
@pytest.mark.parametrize(
    "changed",
    [
        {"token": ""}, {"token": "x" * 16}, {"token": TOKEN + "0"}, {"token": TOKEN.upper()}, {"serviceID": "../../admin"},
        {"returnURL": "https://evil.example/"}, {"returnURL": "//network.example:8470/"}, {"returnURL": "/provisioned/x"},
        {"returnURL": "https://network.example:8470@evil.example/"}, {"returnURL": "https://network.example:8470.evil.example"},
        {"returnURL": "https://network.example/"}, {"returnURL": "http://network.example:8470/"},
        {"returnURL": "https:network.example:8470"}, {"returnURL": "javascript:alert(1)"}, {"returnURL": "data:,x"},
        {"returnURL": BACK + "\r\nX: y"}, {"returnURL": BACK + "\\"}, {"returnURL": "https://network.example:8470\\@evil"},
        {"returnURL": "https://[x"}, {"returnURL": ""}, {"returnURL": BACK + "\u2215"}, {"returnURL": BACK + '"><script>'},
    ],
)  # fmt: skip
def test_a_strangers_visit_is_refused(changed: dict[str, str]) -> None:
    given = {"serviceID": GCID, "token": TOKEN, "returnURL": BACK} | changed
    with pytest.raises(Refused) as refused:
        ProvisioningRedirect.from_query(given, HOME)
    assert refused.value.code == "value.invalid"


@pytest.mark.parametrize("query", ["", f"serviceID={GCID}&token={TOKEN}", f"{QUERY}&token={TOKEN}"])
def test_a_visit_brings_each_parameter_once(query: str) -> None:
    with pytest.raises(Refused, match="each once"):
        ProvisioningRedirect.from_query(query, HOME)


def test_the_old_name_of_the_redirect_still_works() -> None:
    assert ProvisioningVisit is ProvisioningRedirect

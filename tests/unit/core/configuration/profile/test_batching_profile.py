"""Send ports and splitters as people write them: read, kept in the directory, and written back the same."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from postroad.core.configuration.entries.standard_options import option_name, options_entry, options_of, written_name
from postroad.core.configuration.profile.service import ServiceProfile, profile_of
from postroad.core.model.batch_policy import Controlled, Empty, OnEnvelopeError, Recovery, Types, Unfinished
from postroad.core.model.configuration_objects import stored_object
from postroad.core.model.directory import Service

TOPIC_IS_LAST = {"equals": {"header": "topic", "value": "last"}}
LARGE = {"and": [{"greaterThan": {"body": "/order/total", "as": "number", "value": "100"}}, TOPIC_IS_LAST]}
EVERYTHING: dict[str, Any] = {
    "sendsTo": "Acme/edi",
    "standard": "x12",
    "sender": "MYBIZ",
    "receiver": "ACME",
    "envelope": {"senderQualifier": "ZZ", "usage": "T", "version": "00401"},
    "count": 100,
    "bytes": 1_000_000,
    "ageSeconds": 3_600,
    "idleSeconds": 600,
    "cron": ["0 18 * * 1-5", "@daily"],
    "beforeCloseSeconds": 0,
    "last": TOPIC_IS_LAST,
    "takes": LARGE,
    "takesTypes": ["850", "860"],
    "types": "inTurn",
    "groupBy": [{"header": "properties.region"}, {"body": "/o:order/@buyer", "namespaces": {"o": "urn:o"}}],
    "sortBy": [{"body": "$.total", "type": "number", "descending": True}, {"header": "topic"}],
    "empty": "send",
    "controlled": {
        "idProperty": "Run",
        "startProperty": "First",
        "endProperty": "Last",
        "unfinishedAfterSeconds": 60,
        "unfinished": "send",
    },
    "recovery": "fail",
    "ordered": True,
    "persistAt": 1_000,
    "gapFree": True,
}
LEAST = {"sendsTo": "Acme/edi", "standard": "edifact"}


def service_of(**profile: Any) -> Service:
    return ServiceProfile.model_validate(profile).service(gcid="0" * 16, organization="Aster", name="orders")


def through_the_journal(service: Service) -> Service:
    """As every node reads it: saved with plain values, and made from them again."""
    return msgspec.convert(msgspec.msgpack.decode(msgspec.msgpack.encode(msgspec.to_builtins(service))), Service)


@pytest.mark.req("B1")
@pytest.mark.parametrize("batching", [EVERYTHING, LEAST | {"count": 2}, LEAST | {"controlled": {}}])
def test_a_send_port_is_written_back_as_it_was_read(batching: dict[str, Any]) -> None:
    service = through_the_journal(service_of(hosted="batcher", batching=batching))

    written = profile_of(service)
    again = service_of(**{name: value for name, value in written.items() if value is not None})

    assert again == service
    assert written["batching"] == batching | ({"controlled": DEFAULTS} if batching.get("controlled") == {} else {})


@pytest.mark.req("B1")
@given(st.sets(st.sampled_from(sorted(EVERYTHING.keys() - LEAST.keys()))))
def test_whatever_is_said_of_a_port_is_written_back(said: set[str]) -> None:
    batching = LEAST | {name: EVERYTHING[name] for name in EVERYTHING if name in said}

    assert profile_of(through_the_journal(service_of(hosted="batcher", batching=batching)))["batching"] == batching


DEFAULTS = {
    "idProperty": "BatchID",
    "startProperty": "BatchStart",
    "endProperty": "BatchEnd",
    "unfinishedAfterSeconds": 86_400,
    "unfinished": "suspend",
}


@pytest.mark.req("B1")
def test_every_item_reaches_the_policy() -> None:
    batching = service_of(hosted="batcher", batching=EVERYTHING).batching

    assert batching is not None
    policy = batching.policy
    assert (policy.count, policy.bytes, policy.age_s, policy.idle_s) == (100, 1_000_000, 3_600, 600)
    assert (policy.before_close_s, policy.types, policy.empty) == (0, Types.IN_TURN, Empty.SEND)
    assert policy.controlled == Controlled(
        id_property="Run",
        start_property="First",
        end_property="Last",
        unfinished_after_s=60,
        unfinished=Unfinished.SEND,
    )
    assert [key.descending for key in policy.sort_by] == [True, False]
    assert policy.recovery is Recovery.FAIL
    assert (batching.ordered, batching.persist_at, batching.gap_free) == (True, 1_000, True)
    assert batching.envelope == (("sender_qualifier", "ZZ"), ("usage", "T"), ("version", "00401"))


@pytest.mark.req("B10")
def test_a_splitter_is_written_back_as_it_was_read() -> None:
    splitting: dict[str, Any] = {
        "sendsTo": "Aster/in",
        "standard": "x12",
        "onEnvelopeError": "repair",
        "answersTo": "Acme/edi",
    }
    splitting |= {"options": {"functionalAnswer": "999"}}
    service = through_the_journal(service_of(hosted="splitter", splitting=splitting))

    assert service.splitting is not None
    assert service.splitting.on_envelope_error is OnEnvelopeError.REPAIR
    assert service.splitting.options == (("functional_answer", "999"),)
    assert profile_of(service)["splitting"] == splitting
    least = service_of(hosted="splitter", splitting={"sendsTo": "Aster/in"})
    assert profile_of(least)["splitting"] == {"sendsTo": "Aster/in"}


@pytest.mark.req("O7")
def test_the_field_names_of_version_0_2_are_read_from_files_and_from_the_journal() -> None:
    written = {"sendsTo": "Aster/in", "dirt": "repair", "facts": {"answer": "999"}}
    service = service_of(hosted="splitter", splitting=written)
    stored = msgspec.to_builtins(service)
    options = stored["splitting"].pop("options")
    stored["splitting"] |= {"dirt": stored["splitting"].pop("on_envelope_error"), "facts": options}

    assert service.splitting is not None
    assert (service.splitting.on_envelope_error, service.splitting.options) == (
        OnEnvelopeError.REPAIR,
        (("answer", "999"),),
    )
    assert stored_object("service", stored) == service
    with pytest.raises(ValidationError, match="Extra inputs"):
        ServiceProfile.model_validate({"hosted": "splitter", "splitting": written | {"onEnvelopeError": "pass"}})


@pytest.mark.parametrize(
    ("profile", "told"),
    [
        ({"hosted": "batcher"}, "section batching require each other"),
        ({"batching": LEAST | {"count": 1}}, "section batching require each other"),
        ({"hosted": "splitter"}, "section splitting require each other"),
        ({"hosted": "batcher", "splitting": {"sendsTo": "A/b"}}, "section batching require each other"),
        ({"hosted": "batcher", "batching": LEAST | {"count": -1}}, "greater than or equal to 0"),
        ({"hosted": "batcher", "batching": LEAST | {"size": 3}}, "Extra inputs"),
        ({"hosted": "batcher", "batching": LEAST | {"envelope": {"sender_qualifier": "ZZ"}}}, "pattern"),
        ({"hosted": "batcher", "batching": LEAST | {"envelope": {"version": 401}}}, "valid string"),
        ({"hosted": "batcher", "batching": LEAST | {"last": {}}}, "exactly one operator"),
        ({"hosted": "batcher", "batching": LEAST | {"groupBy": [{}]}}, "exactly one of header, body"),
        ({"hosted": "batcher", "batching": LEAST | {"cron": ["@daily", "@daily"]}}, "duplicates"),
    ],
)
def test_what_has_not_the_form_is_refused(profile: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ServiceProfile.model_validate(profile)


@given(st.dictionaries(st.from_regex(r"[a-z][a-z0-9]{0,5}(_[a-z0-9]{1,5}){0,3}", fullmatch=True), st.text(max_size=5)))
def test_names_of_facts_go_there_and_back(facts: dict[str, str]) -> None:
    assert dict(options_of(options_entry(facts.items()))) == facts
    assert all(option_name(written_name(name)) == name for name in facts)

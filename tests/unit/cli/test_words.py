"""From words on a command line to what is meant, and from what happened to words."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from errno import EACCES, EADDRINUSE, EADDRNOTAVAIL, EIO
from pathlib import Path
from socket import gaierror
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console
from rich.text import Text

from postroad.api.resources.message_views import trace_view
from postroad.cli.commands.messages.post import compose_message
from postroad.cli.commands.messages.trace import history_value, part_value
from postroad.cli.commands.operate.bench import percentile_ms
from postroad.cli.commands.operate.health_checks import check_port
from postroad.cli.commands.operate.support import show_request
from postroad.cli.framework import spark
from postroad.cli.framework.connection import NetworkConnection, local_data_folder, with_connection
from postroad.cli.framework.output import Output, strip_harmful_controls
from postroad.cli.framework.server_process import describe_listen_error
from postroad.cli.framework.settings import gather_settings
from postroad.cli.input.configuration import read_configuration_files
from postroad.cli.input.message_options import (
    parse_assignments,
    parse_moment,
    parse_properties,
    parse_status,
    read_document_part,
)
from postroad.cli.main import postroad
from postroad.cli.views.deliveries import delivered_lines
from postroad.cli.views.plans import plan_lines
from postroad.cli.views.traces import trace_tree
from postroad.client import Client, Part, Status
from postroad.core.model.history import (
    ArrivalNotes,
    CopyHistory,
    History,
    HistoryEvent,
    MessageHistory,
    ReleaseHold,
    Stop,
)
from postroad.core.model.message import Property, PropertyType
from postroad.core.resources.configuration import FieldView, PlanView, StepView
from postroad.errors import Misconfigured, Refused
from tests.unit.client.scripted import delivered


def drawn(what: object) -> str:
    console = Console(width=160, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


def test_assignments() -> None:
    assert parse_assignments(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for wrong in ("a", "=1"):
        with pytest.raises(click.UsageError, match="NAME=VALUE"):
            parse_assignments([wrong])


def test_moments_are_times_or_distances_from_now() -> None:
    assert parse_moment("2026-11-15T10:00:00Z") == datetime(2026, 11, 15, 10, tzinfo=UTC)
    assert parse_moment("2026-11-15") == datetime(2026, 11, 15, tzinfo=UTC)
    now = datetime.now(UTC)
    assert abs(parse_moment("2h") - now - timedelta(hours=2)) < timedelta(minutes=1)
    assert abs(now - parse_moment("30d", past=True) - timedelta(days=30)) < timedelta(minutes=1)
    with pytest.raises(click.UsageError, match="not a time"):
        parse_moment("tomorrow")


def test_properties_and_status() -> None:
    assert parse_properties(["a=x", "n:number=1.50"]) == {
        "a": Property("a", "x"),
        "n": Property("n", "1.50", PropertyType.NUMBER),
    }
    with pytest.raises(click.UsageError, match="type is one of"):
        parse_properties(["n:money=1"])
    assert parse_status("sold-out:try: later") == Status("sold-out", "try: later")


@pytest.mark.parametrize(
    ("name", "data", "content_type"),
    [
        ("order.json", b"{}", "application/json"),
        ("order", b"<Order/>", "application/xml"),
        ("order", "grüezi".encode(), "text/plain; charset=utf-8"),
        ("order", b"\x00\x01", "application/octet-stream"),
        ("order", b"\xff\xfe", "application/octet-stream"),
    ],
)
def test_a_file_is_recognised(tmp_path: Path, name: str, data: bytes, content_type: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert read_document_part(str(tmp_path / name), "", 3) == Part(id="3", content_type=content_type, data=data)
    assert read_document_part(str(tmp_path / name), "a/b", 1).content_type == "a/b"


def test_the_content_type_holds_for_texts_too(tmp_path: Path) -> None:
    (tmp_path / "file.txt").write_text("x")
    options: dict[str, Any] = dict.fromkeys(("to", "attach", "via", "arguments", "properties"), ())
    options |= {"kind": "notification", "expires": "", "status": "", "text": ("{}",)}
    for given, expected in (("application/json", "application/json"), ("", "text/plain; charset=utf-8")):
        composed_of = compose_message((str(tmp_path / "file.txt"),), content_type=given, **options)
        assert [(part.id, part.data) for part in composed_of.parts] == [("1", b"x"), ("2", b"{}")]
        assert composed_of.parts[1].content_type == expected


def test_references_are_resolved_beside_their_file(tmp_path: Path) -> None:
    (tmp_path / "secret.key").write_text("from a file\n")
    file = tmp_path / "a.yaml"
    file.write_text("x: [{keyFrom: 'file:secret.key'}, {passwordFrom: 'env:P', pushFrom: 'env:P'}]")
    found = read_configuration_files([str(file), "-"], lambda: "y: 1", {"P": "from the environment"})
    assert found == {"x": [{"key": "from a file"}, {"password": "from the environment", "pushFrom": "env:P"}], "y": 1}


def test_certificates_may_lie_in_files_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "acme.crt").write_text("-----BEGIN …\n")
    file = tmp_path / "a.yaml"
    file.write_text("as2: {certificates: ['file:acme.crt', 'the text itself'], secretFrom: 'file:as2.pem'}")
    found = read_configuration_files([str(file)], str, {})
    assert found == {"as2": {"certificates": ["-----BEGIN …", "the text itself"], "secretFrom": "file:as2.pem"}}


def test_every_reference_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("x: [{keyFrom: 'file:absent'}, {keyFrom: 'env:ABSENT'}, {keyFrom: 'magic:ABSENT'}]")
    with pytest.raises(Misconfigured) as caught:
        read_configuration_files([str(file)], str, {})
    assert len(caught.value.faults) == 3


def test_files_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("postroad: 1\norganizations: {A: {}}")
    (tmp_path / "b.yaml").write_text("postroad: 2\norganizations: {A: {}}")
    (tmp_path / "c.yaml").write_text("just text")
    with pytest.raises(Misconfigured) as caught:
        read_configuration_files([str(tmp_path / name) for name in ("a.yaml", "b.yaml", "c.yaml")], str, {})
    assert [fault.partition(": ")[2] for fault in caught.value.faults] == [
        "postroad: the files disagree about it",
        "organizations: A is also in another file; keep it in one place",
        "this is not a configuration; it begins with `postroad: 1` and lists organizations",
    ]


def test_a_connection_prefers_what_was_said(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://127.0.0.1:1234\n")
    (tmp_path / "operator.key").write_text("operator\n")
    (tmp_path / "own.key").write_text("own\n")
    environment = {"POSTROAD_URL": "http://elsewhere", "POSTROAD_KEY": "mine", "POSTROAD_DATA": str(tmp_path)}
    here = NetworkConnection(data=str(tmp_path)).access(environment)
    assert (here.url, here.authorization) == ("http://127.0.0.1:1234", "Bearer operator")
    there = NetworkConnection().access(environment)
    assert (there.url, there.authorization) == ("http://elsewhere", "Bearer mine")
    own = NetworkConnection(url="http://other", key_file=str(tmp_path / "own.key")).access(environment)
    assert (own.url, own.authorization) == ("http://other", "Bearer own")
    found = NetworkConnection().access({"POSTROAD_DATA": str(tmp_path)})
    assert (found.url, found.authorization) == ("http://127.0.0.1:1234", "Bearer operator")


@pytest.mark.parametrize(
    ("connection", "environment", "source"),
    [
        (NetworkConnection(key_file="a.key"), {"POSTROAD_KEY": "x"}, "the key in a.key"),
        (NetworkConnection(key="x", key_file="a.key"), {}, "the key given by --key"),
        (NetworkConnection(), {"POSTROAD_KEY": "x", "POSTROAD_KEY_FILE": "b.key"}, "the key in POSTROAD_KEY"),
        (NetworkConnection(), {"POSTROAD_KEY_FILE": "b.key"}, "the key in b.key, set by POSTROAD_KEY_FILE"),
        (NetworkConnection(data="d"), {"POSTROAD_KEY": "x"}, "the operator's key in d; use --key-file for another"),
    ],
)
def test_who_is_refused_for_a_key_learns_which_one_it_was(
    connection: NetworkConnection, environment: dict[str, str], source: str
) -> None:
    assert connection.key_source(environment) == source

    @with_connection
    def asked(connection: NetworkConnection) -> None:
        raise Refused("permission.denied", "Only a service's own credentials can read a mailbox", session="s")

    with pytest.raises(Refused, match=r"read a mailbox \(the request used the key in a\.key\)") as caught:
        asked(url="", key="", key_file="a.key", data="")
    assert caught.value.session == "s"


@pytest.mark.parametrize("settings", ["data = 5", "data = ", "\udcff"])
def test_settings_that_are_wrong_do_not_keep_anybody_from_asking(
    settings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postroad.toml").write_text(settings, errors="surrogateescape")
    monkeypatch.chdir(tmp_path)
    assert local_data_folder({}) == Path("var/postroad")


def test_the_operators_key_is_not_sent_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("http://127.0.0.1:1234\n")
    (tmp_path / "operator.key").write_text("operator\n")
    for connection, environment in (
        (NetworkConnection(url="http://elsewhere", data=str(tmp_path)), {}),
        (NetworkConnection(), {"POSTROAD_URL": "http://elsewhere", "POSTROAD_DATA": str(tmp_path)}),
    ):
        with pytest.raises(Misconfigured, match="no key"):
            connection.access(environment)


def test_a_plan_reads_like_a_difference() -> None:
    steps = (
        StepView(action="add", kind="service", name="A/B", fields=(FieldView(field="format", after="soap"),)),
        StepView(action="change", kind="service", name="A/C", fields=(FieldView(field="tries", before=1, after=2),)),
        StepView(action="remove", kind="person", name="a@b"),
    )
    assert [line.plain for line in plan_lines(PlanView(version="v", steps=steps))] == [
        "+ service A/B",
        "    format: soap",
        "~ service A/C",
        "    tries: 1 → 2",
        "- person a@b",
        "1 to add, 1 to change, 1 to remove.",
    ]
    assert [line.plain for line in plan_lines(PlanView(version="v"))] == [
        "Nothing to change: the network matches the files."
    ]


@pytest.mark.req("M11")
def test_a_trace_is_a_tree_with_times() -> None:
    stop = Stop(
        delivery=1, service="T/stamp", gcid="", in_transit=True, state="delivered", size=1,
        events=[HistoryEvent(seq=2, at_us=1_500, what="handed out", by="T/stamp", detail="leased for 60 s")],
    )  # fmt: skip
    copies = [
        CopyHistory(recipient="A/B", code="", detail="", route=["T/stamp", "A/B"], stops=[stop]),
        CopyHistory(recipient="No/Body", code="recipient.unknown", detail="no such service", route=[]),
    ]
    answer_copy = CopyHistory(recipient="M/P", code="", detail="", route=["M/P"])

    def told(session: str, at_us: int, answers: str, copies: list[CopyHistory]) -> MessageHistory:
        return MessageHistory(
            seq=1, session=session, at_us=at_us, type="request", sender="M/P", topic="orders", handle="", size=9,
            form="json", directory=1, answers=answers, copies=copies,
        )  # fmt: skip

    history = History(
        transaction="t", messages=[told("s1", 1_000, "", copies), told("s2", 21_000_000, "s1", [answer_copy])]
    )
    lines = [line.rstrip() for line in drawn(trace_tree(trace_view(history, shows_counters=True))).splitlines()]
    assert lines == [
        "transaction t  1970-01-01T00:00:00.001000Z",
        "└── request M/P → A/B, No/Body  orders, 9 bytes, json  +0.0 ms",
        "    ├── session s1",
        "    ├── copy for A/B",
        "    │   ├── T/stamp (in transit)  delivered",
        "    │   │   └── handed out by T/stamp: leased for 60 s  +0.5 ms",
        "    │   └── A/B  not reached yet",
        "    ├── No/Body: not sent: no such service [recipient.unknown]",
        "    └── request M/P → M/P  orders, 9 bytes, json  +21.0 s",
        "        ├── session s2",
        "        └── M/P  not reached yet",
    ]


def test_a_trace_in_json_has_times_in_microseconds() -> None:
    event = HistoryEvent(seq=2, at_us=3_000, what="handed out", by="A/B")
    held = ReleaseHold(until_us=5_000_000)
    stop = Stop(delivery=1, service="A/B", gcid="b", in_transit=True, state="queued", size=9, events=[event], held=held)
    copy = CopyHistory(recipient="A/B", code="", detail="", route=["A/B"], stops=[stop])
    message = MessageHistory(
        seq=1, session="s", at_us=1_000, type="notification", sender="M/P", topic="", handle="", size=9, form="json",
        directory=1, answers="", copies=[copy], wire_size=11,
    )  # fmt: skip
    trace = trace_view(History(transaction="t", messages=[message]), shows_counters=True)
    [shown] = history_value(trace)["messages"]
    assert (shown["at_us"], shown["sender"], shown["wire_size"], shown["came"]) == (1_000, "M/P", 11, None)
    [stopped] = shown["copies"][0]["stops"]
    assert (stopped["in_transit"], stopped["held"], stopped["paused"]) == (True, {"until_us": 5_000_000}, None)
    assert stopped["events"] == [{"seq": 2, "at_us": 3_000, "what": "handed out", "by": "A/B", "detail": ""}]


def test_a_trace_tells_how_a_message_came_and_what_was_left_out_of_it() -> None:
    translated = HistoryEvent(seq=3, at_us=3_000, what="translated", by="network", detail="from as2 to dime; 2 omitted")
    stop = Stop(delivery=1, service="A/B", gcid="b", in_transit=False, state="queued", size=9, events=[translated])
    came = ArrivalNotes(notes=["said to be text/xml"], message_id="<1@mybiz>", mic="abc=, sha256", layers=["signed"])
    message = MessageHistory(
        seq=1, session="s", at_us=1_000, type="notification", sender="M/P", topic="", handle="", size=9, form="as2",
        directory=1, answers="", copies=[CopyHistory(recipient="A/B", code="", detail="", route=["A/B"], stops=[stop])],
        came=came,
    )  # fmt: skip
    history = trace_view(History(transaction="t", messages=[message]), shows_counters=True)
    lines = [line.rstrip() for line in drawn(trace_tree(history)).splitlines()]
    assert lines[2:] == [
        "    ├── session s",
        "    ├── by AS2 as <1@mybiz>, signed; MIC abc=, sha256",
        "    ├── note: said to be text/xml",
        "    └── A/B  waiting",
        "        └── translated by network: from as2 to dime; 2 omitted  +2.0 ms",
    ]


def test_a_delivered_message_is_shown_without_control_characters() -> None:
    parts = (
        Part(id="1", content_type="text/plain", data=b"one\n\x1b[31mtwo"),
        Part(id="2", content_type="image/png", data=b"\xff\xfe", attachment=True),
    )
    text = "\n".join(line.plain for line in delivered_lines(delivered(1, parts=parts, topic="orders", attempt=3)))
    assert "\x1b" not in text
    assert "    one\n     [31mtwo" in text
    assert "attachment 2 (image/png, 2 bytes)" in text
    assert "not text" in text
    assert "attempt  3" in text


def test_a_long_document_is_cut_between_characters_and_says_so() -> None:
    parts = (Part(id="1", content_type="text/plain", data=("a" + "ä" * 4_005).encode()),)
    shown = [line.plain for line in delivered_lines(delivered(1, parts=parts))]
    assert shown[-2] == "    a" + "ä" * 3_999
    assert (
        shown[-1]
        == "    … and 6 characters more; --json prints all, now or with `postroad trace session-1 --documents`"
    )


def test_percentiles() -> None:
    seconds = [number / 1000 for number in range(1, 101)]
    assert (percentile_ms(seconds, 0.5), percentile_ms(seconds, 0.99), percentile_ms([0.002], 0.99)) == (51, 100, 2)


@pytest.mark.parametrize(
    ("name", "words"), [("rules", "No rules."), ("assets", "No assets."), ("services", "No services.")]
)
def test_where_nothing_is_no_table_is_drawn(name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "every", lambda client, path, **query: [])
    monkeypatch.setattr(Client, "rules", lambda client, service: [])
    monkeypatch.setattr(Client, "assets", lambda client, service, kind="": [])
    arguments = [name, "list", "--key", "k", *([] if name == "services" else ["A/B"])]
    assert CliRunner().invoke(postroad, arguments).output == words + "\n"


def test_what_is_no_text_is_printed_for_scripts_all_the_same() -> None:
    assert part_value(Part(id="1", content_type="image/png", data=b"\xff"))["base64"] == "/w=="
    assert part_value(Part(id="1", content_type="text/plain", data=b"hello"))["text"] == "hello"


def test_a_note_keeps_its_lines_and_tables_take_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    note = {"by": "ann", "operator": False, "at": "now", "text": "one\n\x1b[31mtwo"}
    show_request(Output(), {"id": "7", "subject": "Help", "state": "open", "session": "", "notes": [note]})
    assert capsys.readouterr().out.endswith("\nann, now\n  one\n   [31mtwo\n")
    Output().table(["NAME"], [["a\x1b[31m"]])
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "evil", ["\x1b]0;title\x07", "\x1b[2J", "\x9b2J", "\x1b]52;c;aGk=\x07", "over\rwritten", "\x08\x08",
             "\u202edetrever", "\u2066a\u2069", "\u2067a", "one\u2028two", "one\u2029two", "\u200fa", "\u061ca"]
)  # fmt: skip
def test_nothing_that_others_wrote_moves_the_cursor(evil: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = Output()
    out.print(f"saw {evil}\nnext\tline")
    out.show(Text(f"saw {evil}"))
    out.error("route.failed", evil)
    printed = capsys.readouterr()
    assert not set(printed.out + printed.err) & set(
        "\x1b\x9b\x07\x08\r\u202e\u2066\u2067\u2069\u2028\u2029\u200f\u061c"
    )
    assert "\nnext\tline\n" in printed.out
    assert strip_harmful_controls("\x1b[1;31mred\x1b[0m") == "\x1b[1;31mred\x1b[0m"


def test_a_description_cannot_look_like_a_step_of_the_plan() -> None:
    change = FieldView(field="description", before="old\n", after="new\n- organization Acme\x1b[1A\n")
    step = StepView(action="change", kind="service", name="A/B", fields=(change,))
    lines = [line.plain for line in plan_lines(PlanView(version="1", steps=(step,)))]
    assert lines[:2] == ["~ service A/B", "    description: old → new⏎- organization Acme [1A"]


def test_errors_of_all_sources_of_settings_are_listed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROAD_PORT", "abc")
    file = tmp_path / "postroad.toml"
    file.write_text('index = "foo"\n')
    with pytest.raises(Misconfigured) as refused:
        gather_settings(file, "", ("host", "nosuch=1", "acceptance=x"))
    found = [fault.partition(":")[0] for fault in refused.value.faults]
    assert found[:2] == ["--set host", "--set nosuch"]
    assert {"port", "index", "acceptance"} <= set(found)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (gaierror(-2, "Name or service not known"), "host: nosuch does not exist"),
        (OSError(EADDRNOTAVAIL, "no"), "host: nosuch is not an address of this machine"),
        (OSError(EADDRINUSE, "no"), "port: nosuch:8470 is in use"),
        (OSError(EACCES, "no"), "port: nosuch:8470 requires administrator rights"),
    ],
)
def test_who_cannot_listen_learns_which_setting_is_wrong(error: OSError, words: str) -> None:
    settings = gather_settings(None, "", ("host=nosuch",))
    assert str(describe_listen_error(settings, error)).startswith(words)
    assert check_port(dataclasses.replace(settings, host="203.0.113.1")).state == "fault"
    other = OSError(EIO, "the disk")
    assert describe_listen_error(settings, other) is other


def test_a_command_without_its_extra_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "find_spec", lambda name: None)
    with pytest.raises(Misconfigured, match=r"in a clone of the repository: pip install '\.\[warehouse\]'"):
        spark.require_warehouse()

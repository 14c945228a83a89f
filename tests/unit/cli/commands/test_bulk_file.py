"""A file of JSON lines is posted whole or told line by line, whatever happens on the way."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from postroad.cli.commands.messages.post import post_lines
from postroad.cli.framework.output import Output
from postroad.cli.main import postroad
from postroad.client import Client, Message, PostResult, Refused, Unavailable
from postroad.client.chunk_post import MAX_MESSAGES


class Network:
    """Accepts so many messages and is away then; refuses what is sent to nobody."""

    def __init__(self, most: int = 1 << 30) -> None:
        self.posted: list[Message] = []
        self._most = most

    def post_many(self, messages: Iterable[Message]) -> list[PostResult | Refused]:
        before = len(self.posted)
        self.posted += messages
        if len(self.posted) > self._most:
            raise Unavailable("network.unreachable", "away")
        return [
            PostResult(session=f"s{number}", transaction="t") if one.to else Refused("to.missing", "say to whom")
            for number, one in enumerate(self.posted[before:], before)
        ]


def line(**fields: Any) -> str:
    return json.dumps({"to": ["A/B"]} | fields)


def post(network: Network, *files: Path, as_json: bool = False) -> None:
    post_lines(Output(as_json), cast("Client", network), tuple(str(file) for file in files))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "orders.ndjson"


@pytest.mark.req("K2")
def test_a_fault_in_a_line_is_found_before_the_first_is_posted(file: Path) -> None:
    file.write_text("\n\n".join([line()] * (MAX_MESSAGES + 1)) + "\n{oops\n")
    network = Network()
    with pytest.raises(Refused, match=f"line {2 * MAX_MESSAGES + 2}: .*nothing was posted"):
        post(network, file)
    assert network.posted == []


def test_what_was_answered_is_told_though_the_network_went_away(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("\n".join([line()] * (MAX_MESSAGES + 5)))
    for as_json in (False, True):
        with pytest.raises(Unavailable):
            post(Network(MAX_MESSAGES), file, as_json=as_json)
    words, *sessions = capsys.readouterr().out.splitlines()
    assert words == "1000 of 1005 messages accepted; no response for line 1001 and after it"
    assert [json.loads(one)["session"] for one in sessions] == [f"s{number}" for number in range(MAX_MESSAGES)]


def test_a_refused_line_is_named_as_editors_count_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(f"{line()}\n\n{line(to=[])}\n")
    with pytest.raises(SystemExit) as end:
        post(Network(), file, file)
    assert end.value.code == 3
    refused = f"{file}, line 3: say to whom [to.missing]"
    assert capsys.readouterr().out.splitlines() == [refused, refused, "2 of 4 messages accepted"]


def test_an_option_that_would_do_nothing_is_a_wrong_command_line(file: Path) -> None:
    done = CliRunner().invoke(postroad, ["post", "--bulk", str(file), "--to", "A/B", "--topic", "x", "--key", "k"])
    assert done.exit_code == 2
    assert "omit --to, --topic" in done.output

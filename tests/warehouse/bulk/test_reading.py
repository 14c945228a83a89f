"""Archives of every sort give the messages that lie in them, however they are cut, and a fault where something is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.model.message import Message
from postroad.errors import Misconfigured
from postroad.warehouse.bulk.read import archive
from postroad.warehouse.bulk.read.archive import (
    ArchivedMessage,
    ArchiveForm,
    ArchivePiece,
    UnreadableMessage,
    list_pieces,
)
from postroad.warehouse.bulk.read.messages import ArchiveDefaults, read_piece
from tests.warehouse.bulk.traffic import CODECS, messages, order, wires

UNSAID = ArchiveDefaults(sender="MyBiz/Purchasing", at_us=7)


def read_all(path: Path, form: ArchiveForm | None = None) -> list[ArchivedMessage | UnreadableMessage]:
    return [item for piece in list_pieces(str(path), form) for item in read_piece(piece, UNSAID)]


def messages_in(items: list[ArchivedMessage | UnreadableMessage]) -> list[Message]:
    return [item.message for item in items if isinstance(item, ArchivedMessage)]


@pytest.mark.parametrize("piece_bytes", [1, 7, 100, 333, 5_000, 1 << 20])
def test_lines_are_read_once_however_the_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece_bytes: int
) -> None:
    lines = [JSON_FORM.encode_post(message) for message in messages()]
    file = tmp_path / "archive.ndjson"
    file.write_bytes(b"\n".join([lines[0], b"", *lines[1:]]))  # the last line has no end
    monkeypatch.setattr(archive, "PIECE_BYTES", piece_bytes)
    items = read_all(tmp_path)
    assert messages_in(items) == messages()
    at = [item.place.position for item in items]
    whole = file.read_bytes()
    assert [whole[start : start + len(line)] for start, line in zip(at, lines, strict=True)] == lines


def test_a_folder_holds_messages_in_any_form(tmp_path: Path) -> None:
    endings = {"json": "json", "soap11": "xml", "soap12": "soap", "envelope": "envelope"}
    (tmp_path / "deep").mkdir()
    for number, (form, wire) in enumerate(wires()):
        (tmp_path / "deep" / f"{number:03}.{endings[form]}").write_bytes(wire)
    (tmp_path / "README.txt").write_text("not a message")
    (tmp_path / ".hidden.json").write_text("{")
    items = read_all(tmp_path)
    assert messages_in(items) == messages() * len(CODECS)
    assert [item.form for item in items if isinstance(item, ArchivedMessage)] == [form for form, _ in wires()]


def test_envelopes_come_in_bodies_of_bulk_posts(tmp_path: Path) -> None:
    bodies = [ENVELOPE_FORM.encode_posts(part) for part in (messages(), messages()[:1], [], messages() * 3)]
    (tmp_path / "a.msgpack").write_bytes(b"".join(bodies))
    assert messages_in(read_all(tmp_path)) == [*messages(), messages()[0], *messages() * 3]


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_a_file_of_envelopes_that_is_cut_off_says_so_once(tmp_path: Path, cut: int) -> None:
    body = ENVELOPE_FORM.encode_posts(messages())
    (tmp_path / "a.msgpack").write_bytes(body[:-cut])
    *good, last = read_all(tmp_path)
    assert messages_in(good) == messages()[: len(good)]
    assert isinstance(last, UnreadableMessage)
    assert (last.code, "ends in the middle" in last.detail) == ("wire.malformed", True)


@pytest.mark.parametrize("garbage", [b"\xc1", b"hello", b"\x91\xc1", b"\xdd\xff\xff\xff\xff"])
def test_what_is_no_array_of_envelopes_is_a_fault(tmp_path: Path, garbage: bytes) -> None:
    (tmp_path / "a.msgpack").write_bytes(ENVELOPE_FORM.encode_posts(messages()[:1]) + garbage)
    good, bad = read_all(tmp_path)
    assert isinstance(good, ArchivedMessage)
    assert isinstance(bad, UnreadableMessage)


def test_broken_lines_and_files_are_faults_in_their_place(tmp_path: Path) -> None:
    wire = JSON_FORM.encode_post(order(1, 1))
    (tmp_path / "a.jsonl").write_bytes(b'{"to": 1}\n' + wire + b"\n\xff\xfe\n")
    (tmp_path / "b.xml").write_bytes(b"<Envelope/>")
    (tmp_path / "c.json").write_bytes(b"")
    faults = [item for item in read_all(tmp_path) if isinstance(item, UnreadableMessage)]
    assert [(Path(item.place.file).name, item.place.position) for item in faults] == [
        ("a.jsonl", 0), ("a.jsonl", 11 + len(wire)), ("b.xml", 0), ("c.json", 0),
    ]  # fmt: skip
    assert all(item.code.startswith("wire.") for item in faults)


def test_what_is_left_unsaid_is_filled_in_and_what_is_said_counts(tmp_path: Path) -> None:
    silent = JSON_FORM.encode_post(order(1, 1, sender=""))
    (tmp_path / "a.ndjson").write_bytes(silent + b"\n" + JSON_FORM.encode_post(order(1, 1, sender="Acme/Supply")))
    first, second = read_all(tmp_path)
    assert isinstance(first, ArchivedMessage)
    assert isinstance(second, ArchivedMessage)
    assert (first.sender, first.at_us, second.sender) == ("MyBiz/Purchasing", 7, "Acme/Supply")


def test_an_archive_without_anything_to_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="nothing to read"):
        list_pieces(str(tmp_path))
    with pytest.raises(Misconfigured, match="no such file"):
        list_pieces(str(tmp_path / "missing"))
    with pytest.raises(Misconfigured, match="no journal"):
        list_pieces(str(tmp_path), ArchiveForm.JOURNAL)


def test_one_file_may_be_named_and_read_as_what_it_is_said_to_be(tmp_path: Path) -> None:
    file = tmp_path / "archive.txt"
    file.write_bytes(JSON_FORM.encode_post(order(1, 1)))
    assert list_pieces(str(file), ArchiveForm.LINES) == [
        ArchivePiece(ArchiveForm.LINES, str(file), 0, file.stat().st_size)
    ]
    assert messages_in(read_all(file, ArchiveForm.MESSAGES)) == [order(1, 1)]
    assert messages_in(
        [item for piece in list_pieces(file.as_uri(), ArchiveForm.LINES) for item in read_piece(piece, UNSAID)]
    )


def test_names_mean_the_same_wherever_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.ndjson").write_bytes(JSON_FORM.encode_post(order(1, 1)))
    monkeypatch.chdir(tmp_path)
    assert [piece.file for piece in list_pieces(".")] == [str(tmp_path / "a.ndjson")]
    assert [piece.file for piece in list_pieces("a.ndjson")] == [str(tmp_path / "a.ndjson")]

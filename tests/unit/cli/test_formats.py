"""``postroad detect`` and ``postroad convert``: messages in files, with what is known of their headers."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.input.messages import parse_captured, read_wire
from postroad.cli.main import postroad
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP12
from postroad.core.mediation.formats import decode_wire
from postroad.core.mediation.model import Wire
from postroad.core.model.formats import Format
from postroad.core.model.message import Part, Recipient
from tests.samples.external_messages import envelope, related

SWA = related(
    ("Content-Type: text/xml\nContent-ID: <root>", envelope("<Order/>")),
    ("Content-Type: text/plain\nContent-ID: <note>\nContent-Description: a note", b"hello"),
)
ISA = "ISA*00*{0:10}*00*{0:10}*ZZ*{1:15}*ZZ*{2:15}*261116*1000*U*00401*000000001*0*P*>~"
CAPTURE = b'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: %b\r\nSOAPAction: "go"\r\n\r\n%b'


def run(*arguments: str, given: bytes = b"") -> Result:
    return CliRunner().invoke(postroad, list(arguments), input=given)


def captured_swa(folder: Path) -> str:
    file = folder / "captured"
    file.write_bytes(CAPTURE % (SWA.content_type.encode(), SWA.body))
    return str(file)


@pytest.mark.req("T2")
def test_detect_says_what_files_hold(tmp_path: Path) -> None:
    (tmp_path / "edi").write_bytes(ISA.format("", "BUYER", "SELLER").encode())
    result = run("detect", captured_swa(tmp_path), str(tmp_path / "edi"), "-", "--json", given=envelope("<a/>"))
    assert result.exit_code == ExitCode.OK
    swa, edi, soap = map(json.loads, result.stdout.splitlines())
    assert (swa["format"], swa["contentType"], swa["kind"], swa["notes"]) == ("swa", SWA.content_type, "xml", [])
    assert swa["parts"][1] == {
        "id": "note", "contentType": "text/plain", "kind": "", "bytes": 5, "attachment": True,
    }  # fmt: skip
    assert (edi["format"], edi["kind"]) == ("mime", "x12")
    assert (soap["file"], soap["format"]) == ("-", "soap")
    table = run("detect", str(tmp_path / "edi"), "--content-type", "application/edi-x12").stdout
    assert table.splitlines()[1].split()[1] == "x12"


def test_detect_draws_a_table_and_says_what_it_noted(tmp_path: Path) -> None:
    file = tmp_path / "order"
    file.write_bytes(envelope("<a/>"))
    result = run("detect", str(file), "--content-type", "application/dime")
    assert result.exit_code == ExitCode.OK
    assert result.stdout.split()[:5] == ["FILE", "FORMAT", "CONTENT", "TYPE", "PARTS"]
    assert "declared as application/dime, but is soap" in result.stdout


def test_detect_says_why_a_message_cannot_be_taken_apart(tmp_path: Path) -> None:
    file = tmp_path / "cut"
    file.write_bytes(SWA.body[:-20])
    result = run("detect", str(file), "--content-type", SWA.content_type)
    assert result.exit_code == ExitCode.OK
    assert "cannot be decoded" in result.stdout
    assert "[wire.malformed]" in result.stdout


def test_convert_writes_bytes_and_says_what_was_left_out(tmp_path: Path) -> None:
    result = run("convert", captured_swa(tmp_path), "--to", "cloudevents")
    assert "omitted: " in result.stderr
    result = run("convert", captured_swa(tmp_path), "--to", "dime")
    assert (result.exit_code, result.stderr) == (ExitCode.OK, "")
    taken = decode_wire(Wire([], result.stdout_bytes))
    assert taken.format is Format.DIME
    assert [part.data for part in taken.parts] == [b"<Order/>", b"hello"]
    assert run("convert", captured_swa(tmp_path), "--to", "dime").stdout_bytes == result.stdout_bytes


def test_convert_can_insist_on_all_of_it(tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = run("convert", captured_swa(tmp_path), "--to", "as2", "--whole-only", "--out", str(target))
    assert result.exit_code == ExitCode.ERROR
    assert "mediation.lossy" in result.stderr
    assert not target.exists()
    result = run("convert", captured_swa(tmp_path), "--to", "mime", "--whole-only", "--out", str(target))
    assert (result.exit_code, "SOAPAction" in result.stderr) == (ExitCode.ERROR, True)
    result = run("convert", captured_swa(tmp_path), "--to", "swa", "--whole-only", "--out", str(target))
    assert (result.exit_code, target.read_bytes()) == (ExitCode.OK, SWA.body)


@pytest.mark.parametrize("format", ["soap", "swa", "dime", "mime", "cloudevents"])
def test_what_is_converted_with_its_headers_is_known_again(tmp_path: Path, format: str) -> None:
    target = tmp_path / "out"
    assert (
        run("convert", captured_swa(tmp_path), "--to", format, "--with-headers", "--out", str(target)).exit_code
        == ExitCode.OK
    )
    found = json.loads(run("detect", str(target), "--json").stdout)
    assert found["format"] == format
    assert run("convert", captured_swa(tmp_path), "--to", "as2").stdout_bytes.startswith(
        b"Content-Type: text/plain\r\n"
    )


def test_convert_to_a_form_of_the_network_is_what_would_be_posted(tmp_path: Path) -> None:
    headers = tmp_path / "headers"
    headers.write_bytes(b"Postroad-To: Acme/Supply\nContent-Type: text/plain\n")
    file = tmp_path / "document"
    file.write_bytes(b"hello")
    for format, codec in (("json", JSON_FORM), ("soap12", SOAP12)):
        written = run("convert", str(file), "--to", format, "--headers", str(headers)).stdout_bytes
        message = codec.decode_post(written)
        assert message.to == (Recipient("Acme/Supply"),)
        assert message.parts == (Part(id="1", content_type="text/plain", data=b"hello"),)


def test_convert_in_json_holds_the_body_unless_it_has_a_file(tmp_path: Path) -> None:
    said = json.loads(run("convert", captured_swa(tmp_path), "--to", "soap", "--json").stdout)
    assert b64decode(said["base64"]).startswith(b"<?xml")
    assert said["headers"] == {"SOAPAction": '"go"'}
    said = json.loads(
        run("convert", captured_swa(tmp_path), "--to", "soap", "--json", "--out", str(tmp_path / "o")).stdout
    )
    assert "base64" not in said
    assert said["bytes"] == (tmp_path / "o").stat().st_size


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    result = run("convert", "-", "--to", "dime", "--content-type", "multipart/related; boundary=b", given=b"--b")
    assert result.exit_code == ExitCode.REFUSED
    assert run("convert", str(tmp_path / "nowhere"), "--to", "dime").exit_code == ExitCode.ERROR


def test_headers_are_known_from_options_a_file_beside_or_the_capture(tmp_path: Path) -> None:
    file = tmp_path / "message"
    file.write_bytes(b"body")
    assert read_wire(str(file)) == Wire([], b"body")
    (tmp_path / "message.content-type").write_text("text/plain\n")
    assert read_wire(str(file)).content_type == "text/plain"
    assert read_wire(str(file), "text/html").headers == [("content-type", "text/html")]
    assert parse_captured(b"HTTP/1.1 200 OK\r\nContent-Type: x/y\r\n\r\nbody") == Wire(
        [("content-type", "x/y")], b"body"
    )
    letter = b"Content-Type: text/plain\r\nSubject: hello\r\n\r\nbody"
    assert parse_captured(letter) == Wire([], letter)
    assert parse_captured(b"no: \x00header") == Wire([], b"no: \x00header")


def in_chunks(body: bytes, line_end: bytes = b"\r\n") -> bytes:
    pieces = [body[at : at + 50] for at in range(0, len(body), 50)]
    chunks = [b"%X;name=value" % len(piece) + line_end + piece + line_end for piece in pieces]
    return b"".join(chunks) + b"0" + line_end + line_end


def test_chunks_of_a_captured_request_are_joined() -> None:
    head = b"POST /in HTTP/1.1\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n" % SWA.content_type.encode()
    wire = parse_captured(head + in_chunks(SWA.body))
    assert wire.body == SWA.body
    assert decode_wire(wire).parts == decode_wire(SWA).parts
    assert parse_captured(head + in_chunks(SWA.body, b"\n")).body == SWA.body
    assert parse_captured(head + SWA.body).body == SWA.body, "joined by the program that captured it"


def test_chunks_are_joined_where_the_head_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "head").write_bytes(
        b"POST /in HTTP/1.1\r\nContent-Type: text/xml\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    (tmp_path / "body").write_bytes(in_chunks(b"<order/>"))
    wire = read_wire(str(tmp_path / "body"), headers_file=str(tmp_path / "head"))
    assert wire == Wire([("content-type", "text/xml")], b"<order/>")


@pytest.mark.parametrize("body", [b"5\r\nab", b"2\r\nabc\r\n0\r\n\r\n", b"2\r\nab\r\n"])
def test_chunks_that_are_not_whole_are_refused(tmp_path: Path, body: bytes) -> None:
    file = tmp_path / "captured"
    file.write_bytes(b"POST / HTTP/1.1\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    result = run("convert", str(file), "--to", "mime")
    assert result.exit_code != ExitCode.OK
    assert "wire.malformed" in result.stderr

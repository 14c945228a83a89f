"""An OpenTelemetry collector for tests: receives OTLP over HTTP, decodes the spans and keeps them.

with otlp_receiver() as collector:
    settings = Settings(traces_to=collector.url)
    …
    [span] = collector.named("post Acme/Supply")
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """A span as a collector reads it; ids are in hex, times in nanoseconds."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    kind: int
    start_ns: int
    end_ns: int
    state: str
    attributes: dict[str, Any]
    events: tuple[tuple[str, int, tuple[tuple[str, Any], ...]], ...]
    links: tuple[tuple[str, str], ...]
    error: str


@dataclass(slots=True)
class OtlpReceiver:
    """The received spans. Set ``status`` to make the collector return another status than 200."""

    url: str = ""
    status: int = 200
    requests: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def spans(self) -> list[ReceivedSpan]:
        return [span for request in list(self.requests) for span in decode_request(request)]

    def named(self, name: str) -> list[ReceivedSpan]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def otlp_receiver(port: int = 0, *, keep: bool = True) -> Iterator[OtlpReceiver]:
    """Run a collector on a port of the loopback interface; with ``keep=False`` it discards spans."""
    receiver = OtlpReceiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if receiver.status == 200 and keep:
                receiver.requests.append(body)
                receiver.headers.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(receiver.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def decode_request(body: bytes) -> list[ReceivedSpan]:
    """Return the spans of an ``ExportTraceServiceRequest``; raises ValueError for anything else."""
    scopes = [scope for _, resource in read_fields(body) for number, scope in read_fields(resource) if number == 2]
    return [_span(content) for scope in scopes for number, content in read_fields(scope) if number == 2]


def read_fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield each field of a protobuf message: its number, and its bytes or integer."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        match tag & 7:
            case 0:
                value, place = _varint(message, place)
                yield tag >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, place = _varint(message, place)
            case 5:
                size = 4
            case other:
                raise ValueError(f"wire type {other} is not known")
        if place + size > len(message):
            raise ValueError("the message is cut off")
        content = message[place : place + size]
        yield tag >> 3, content if tag & 7 == LENGTH else int.from_bytes(content, "little")
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not byte & 0x80:
            return value, place


def _span(message: bytes) -> ReceivedSpan:
    fields: dict[int, Any] = {3: b"", 4: b""}
    lists: dict[int, list[bytes]] = {9: [], 11: [], 13: []}
    for number, content in read_fields(message):
        if number in lists:
            lists[number].append(content)
        else:
            fields[number] = content
    links = [dict(read_fields(link)) for link in lists[13]]
    return ReceivedSpan(
        trace_id=fields[1].hex(),
        span_id=fields[2].hex(),
        parent_id=fields[4].hex(),
        name=fields[5].decode(),
        kind=fields[6],
        start_ns=fields[7],
        end_ns=fields[8],
        state=fields[3].decode(),
        attributes=dict(map(_key_value, lists[9])),
        events=tuple(map(_event, lists[11])),
        links=tuple((link[1].hex(), link[2].hex()) for link in links),
        error=_error(fields.get(15, b"")),
    )


def _event(message: bytes) -> tuple[str, int, tuple[tuple[str, Any], ...]]:
    fields = dict(read_fields(message))
    pairs = tuple(_key_value(content) for number, content in read_fields(message) if number == 3)
    return fields[2].decode(), fields[1], pairs


def _key_value(message: bytes) -> tuple[str, Any]:
    fields = dict(read_fields(message))
    [(number, value)] = read_fields(fields[2])
    return fields[1].decode(), value.decode() if number == 1 else value


def _error(message: bytes) -> str:
    fields = dict(read_fields(message))
    return fields[2].decode() if fields.get(3) == 2 else ""

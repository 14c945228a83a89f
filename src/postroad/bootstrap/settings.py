"""Settings: one frozen object, read once, from defaults, then a TOML file, then ``POSTROAD_*`` variables, then the command line.

Rules: all errors are found and listed at once, with their source. Unknown names are errors. Secrets are masked
whenever settings are shown. Each field's comment is its documentation: ``docs/reference/settings.md`` is generated
from them.
"""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from postroad.bootstrap.settings_checks import find_contradictions
from postroad.errors import Misconfigured

PREFIX = "POSTROAD_"
FILE = "postroad.toml"
WAREHOUSE_FOLDER = "warehouse"
DRAIN_NOTICE_S = 5
SECRET = frozenset({"secret", "postgres", "master_key", "smtp_url"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    # folder of journal, index and keys
    data: Path = Path("var/postroad")
    # folder of the warehouse's tables, which the console reads; empty: the folder "warehouse" in data
    warehouse: str = ""
    # when a post is answered: "local" once this node's journal is durable, "shared" once PostgreSQL has committed it
    acceptance: str = "local"
    # the index: "sqlite", "postgres", or "memory" (nothing survives a restart; for tests and experiments)
    index: str = "sqlite"
    # address of the PostgreSQL database, for acceptance "shared" and index "postgres"
    postgres: str = ""
    # 64 hex digits from which delivery tokens are derived; every node of a shared network needs the same one
    secret: str = ""
    # the master key under which secrets are sealed: 32 random bytes as 64 hex digits or in base64; several, newest first, while
    # they are exchanged, with commas between them; every node of a shared network needs the same ones
    master_key: str = ""
    # a file with the master keys, one on each line, newest first
    master_key_file: str = ""
    # a program that prints the master keys, one on each line, newest first; it is run once at the start, without a shell
    master_key_command: str = ""
    # address the server listens on
    host: str = "127.0.0.1"
    # port the server listens on; 0: a free port
    port: int = 8470
    # PEM file with the server's certificate chain; needs tls_key
    tls_certificate: str = ""
    # PEM file with the private key of the server's certificate; needs tls_certificate
    tls_key: str = ""
    # addresses of proxies whose Client-Cert, X-Forwarded-For and X-Forwarded-Proto headers are trusted
    trusted_proxies: tuple[str, ...] = ()
    # days for which browsers that used TLS reach this host only by TLS, on any port (Strict-Transport-Security); 0: not sent
    strict_transport_days: int = 180
    # external URL of the network, for the WSDL, links, and the return from a provider's site; derived
    # from host and port if empty, so it is required behind a proxy and if host is 0.0.0.0
    public_url: str = ""
    # maximum size of a message, in bytes
    message_bytes: int = 10 << 20
    # maximum size of a call that posts many messages, in bytes
    bulk_bytes: int = 32 << 20
    # posts per second allowed for each organization; 0 means no limit
    posts_per_s: int = 0
    # bytes of each organization's own messages that may wait for delivery; 0 means no limit
    stored_bytes: int = 0
    # deliveries of each organization's own messages that may wait; 0 means no limit
    queued_messages: int = 0
    # deliveries that may wait for one service, from any sender; further posts to it are refused; 0 means no limit
    waiting_most: int = 1_000_000
    # who may register an organization: "open" (anyone), "approval" (anyone, but it is suspended until an operator approves it)
    # or "closed" (only operators create organizations)
    registration: str = "open"
    # organizations that may be registered from one address within a day; 0 means no limit
    registrations_per_day: int = 50
    # `posts_per_s` of an organization that registers, until an operator changes it; organizations that exist keep their limit;
    # 0 means that `posts_per_s` applies
    new_posts_per_s: int = 500
    # `stored_bytes` of an organization that registers, until an operator changes it; organizations that exist keep their limit;
    # 0 means that `stored_bytes` applies
    new_stored_bytes: int = 1 << 30
    # `queued_messages` of an organization that registers, until an operator changes it; organizations that exist keep their
    # limit; 0 means that `queued_messages` applies
    new_queued_messages: int = 100_000
    # support requests of one organization that may be open at a time; 0 means no limit
    open_support_requests: int = 50
    # size of a journal segment file in bytes
    segment_bytes: int = 64 << 20
    # posts are refused while less than this is free on the disk, in bytes
    least_free_bytes: int = 1 << 30
    # share of the memory of the cgroup or the machine that the server process may use before new posts wait, and are refused
    # after 10 seconds; polls and acknowledgments continue; 0 means no limit; without effect where there is no /proc (macOS)
    memory_most_share: float = 0.6
    # bodies of settled messages are dropped after this many days, while the audit trail stays; 0 keeps them
    keep_bodies_days: int = 0
    # hand-outs of one delivery before it fails and becomes a dead letter
    attempts_most: int = 20
    # maximum seconds for one push, from resolving the name to the end of the response
    push_timeout_s: int = 15
    # maximum bytes of the response to a push, which may contain a message
    push_answer_bytes: int = 64 << 10
    # host names and networks (10.1.0.0/16) outside the public Internet that pushes may reach, with or without TLS
    push_allow_private: tuple[str, ...] = ()
    # public host names that may be pushed to without TLS; "*" for all
    push_allow_http: tuple[str, ...] = ()
    # a PEM file with certificate authorities that are trusted for pushes, in addition to those of the machine
    push_authorities: str = ""
    # Python functions that bindings of exchanges may use by name: "rush=mycompany.routing:is_rush"
    routings: tuple[str, ...] = ()
    # address and port of the page for Prometheus, /metrics; port 0 selects a free one, which `postroad doctor --live` finds;
    # empty: no page. It has a listener of its own, so that it is never on the public port
    metrics_listen: str = "127.0.0.1:0"
    # file with a token that readers of the metrics page must send (Authorization: Bearer …); empty: none is needed
    metrics_token_file: str = ""
    # services with the most deliveries that the metrics name, at most 1000; 0 names none
    metrics_services: int = 20
    # the mail server for notifications, invitations and new passwords: smtp://user:password@mail.example.com:587 (STARTTLS) or
    # smtps://mail.example.com; empty: no e-mail is sent
    smtp_url: str = ""
    # sender of e-mail, such as postroad@example.com or "Hub <postroad@example.com>"; needed with smtp_url
    smtp_from: str = ""
    # a PEM file with certificate authorities that are trusted for the mail server, in addition to those of the machine
    smtp_authorities: str = ""
    # address of an OpenTelemetry collector to which traces are exported by OTLP over HTTP: "http://127.0.0.1:4318";
    # empty: no traces
    traces_to: str = ""
    # file with headers for the collector, such as its API key: one "Name: value" per line
    traces_headers_file: str = ""
    # share of all traces that is exported; failed, expired and slow messages, and those whose sender samples, always are
    traces_share: float = 0.01
    # seconds from post to end after which a message counts as slow
    traces_slow_s: int = 300
    # traces exported per second; failed, expired and slow messages have a limit of the same size for themselves
    traces_per_s: int = 50
    # seconds for which spans wait for a collector that is away; older ones are counted and skipped
    traces_patience_s: int = 600
    # how a trace continues that of the sender: "parent" (the same trace) or "link" (a trace of its own, with a link)
    traces_join: str = "parent"
    # log level of the server: debug, info, warning or error
    log_level: str = "info"
    # form of the server's log: "words" for people, or "json" with one object per line
    log_form: str = "words"
    # seconds between the moment when /readyz reports that a node stops, and the end of its listening, so that a balancer sends
    # nothing more; a second signal ends the wait; -1: 5 if acceptance is shared, 0 if it is local
    drain_notice_s: int = -1

    @property
    def effective_drain_notice_s(self) -> int:
        """Return the seconds of notice before the listener closes."""
        if self.drain_notice_s >= 0:
            return self.drain_notice_s
        return DRAIN_NOTICE_S if self.acceptance == "shared" else 0

    @property
    def warehouse_folder(self) -> Path:
        return Path(self.warehouse).expanduser() if self.warehouse else self.data / WAREHOUSE_FOLDER

    def mask_secrets(self) -> dict[str, Any]:
        """Return all values, with secrets masked."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: "***" if name in SECRET and value else value for name, value in values.items()}


def read_settings(
    *,
    file: Path | None = None,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
) -> Settings:
    """Return the effective settings; raises Misconfigured with all errors.

    ``defaults`` replace the built-in defaults.
    """
    faults: list[str] = []
    values: dict[str, Any] = dict(defaults or {})
    values |= _from_file(file, faults)
    values |= _from_environment(environment, faults)
    values |= {name: value for name, value in (overrides or {}).items() if value is not None}
    settings, unreadable = _converted(values, faults)
    faults += [fault for fault in find_contradictions(settings) if fault.partition(":")[0] not in unreadable]
    if faults:
        raise Misconfigured(faults)
    return settings


def _from_file(file: Path | None, faults: list[str]) -> dict[str, Any]:
    path = file or Path(FILE)
    if file is None and not path.exists():
        return {}
    try:
        values = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        faults.append(f"{path}: cannot be read: {error}")
        return {}
    return _known(values, str(path), faults)


def _from_environment(environment: Mapping[str, str], faults: list[str]) -> dict[str, Any]:
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    values: dict[str, Any] = {}
    for variable, text in environment.items():
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or name in OTHER_VARIABLES:
            continue
        if name in fields:
            values[name] = text
        elif name.removesuffix("_file") in fields:
            try:
                values[name.removesuffix("_file")] = Path(text).read_text().strip()
            except OSError as error:
                faults.append(f"{variable}: {error}")
        else:
            faults.append(f"{variable}: unknown setting; see `postroad doctor --settings`")
    return values


# Variables that other parts of postroad read.
OTHER_VARIABLES = frozenset(
    {"url", "key", "key_file", "postgres_bin", "prometheus_bin", "python", "settings", "context"}
)


def _known(values: Mapping[str, Any], where: str, faults: list[str]) -> dict[str, Any]:
    names = {field.name for field in dataclasses.fields(Settings)}
    faults += [f"{where}: {name}: unknown setting" for name in values if name not in names]
    return {name: value for name, value in values.items() if name in names}


def _converted(values: dict[str, Any], faults: list[str]) -> tuple[Settings, set[str]]:
    """Return the settings, with defaults for values that cannot be read, and the names of those."""
    good: dict[str, Any] = {}
    unreadable: set[str] = set()
    for field in dataclasses.fields(Settings):
        if field.name not in values:
            continue
        try:
            good[field.name] = _value(str(field.type), values[field.name])
        except (msgspec.ValidationError, TypeError) as error:
            shown = "(hidden)" if field.name in SECRET else repr(values[field.name])
            faults.append(f"{field.name}: {_wrong_type(str(field.type), shown, error)}")
            unreadable.add(field.name)
    return Settings(**good), unreadable


def _wrong_type(kind: str, shown: str, error: Exception) -> str:
    wanted = {"int": "a whole number", "float": "a number", "str": "text", "tuple[str, ...]": "a list of texts"}.get(
        kind
    )
    return f"must be {wanted}, not {shown}" if wanted else str(error)


def _value(kind: str, given: Any) -> Any:
    """Convert a setting's value; the environment and the command line give text, with commas between values."""
    if kind == "Path":
        return Path(given).expanduser()
    if kind == "tuple[str, ...]" and isinstance(given, str):
        given = [item.strip() for item in given.split(",") if item.strip()]
    types: dict[str, Any] = {"tuple[str, ...]": tuple[str, ...], "int": int, "float": float, "str": str}
    return msgspec.convert(given, types[kind], strict=False)

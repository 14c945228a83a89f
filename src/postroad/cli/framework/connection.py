"""The network and the key that a command uses: from options, the environment, or a network on this machine.

A network that runs here writes its address to its data folder (``url``) beside the first operator's key, so that
readers of that folder need no options.
"""

from __future__ import annotations

import functools
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from postroad.errors import Misconfigured, Refused, Unavailable

if TYPE_CHECKING:
    from postroad.client import Access, Client

METRICS_URL_FILE = "metrics-url"  # in the data folder: the address of the metrics page
URL_FILE = "url"
OPERATOR_KEY_FILE = "operator.key"
DATA = Path("var/postroad")
DEFAULT_TRIES = 3  # someone waits at the terminal, and scripts have the exit code
DEFAULT_URL = "http://127.0.0.1:8470"
ABOUT_KEYS = {
    "authentication.required": "the network does not accept",
    "permission.denied": "the request used",
}


class NetworkConnection(NamedTuple):
    """The network address and key as given on the command line."""

    url: str = ""
    key: str = ""
    key_file: str = ""
    data: str = ""

    def access(self, environment: Mapping[str, str] | None = None) -> Access:
        """Return address and key; the local operator's key is sent only to the network on this machine."""
        from postroad.client import Access

        environment = os.environ if environment is None else environment
        data = Path(self.data) if self.data else local_data_folder(environment)
        known = {} if self.data else dict(environment)
        here = _text(data / URL_FILE) or DEFAULT_URL
        url = self.url or known.get("POSTROAD_URL", "") or here
        found = Access.found_in(known, url=url, key=self.key, key_file=self.key_file)
        if found.authorization:
            return found
        return Access.with_key(url, (_text(data / OPERATOR_KEY_FILE) if url == here else "") or _no_key(data))

    def missing_network(self, environment: Mapping[str, str] | None = None) -> str:
        """Returns a hint if the default address was used because no network was found on this machine, else ""."""
        environment = os.environ if environment is None else environment
        data = Path(self.data) if self.data else local_data_folder(environment)
        named = self.url or (not self.data and environment.get("POSTROAD_URL"))
        if named or _text(data / URL_FILE):
            return ""
        return f"No network was found in {data}, so the default address was used; use --url or POSTROAD_URL for another"

    def key_source(self, environment: Mapping[str, str] | None = None) -> str:
        """Describe where the key comes from, for error messages about a refused key."""
        environment = os.environ if environment is None else environment
        known = {} if self.data else dict(environment)
        if self.key_file and not self.key:
            return f"the key in {self.key_file}"
        if self.key or known.get("POSTROAD_KEY"):
            return "the key given by --key" if self.key else "the key in POSTROAD_KEY"
        if known.get("POSTROAD_KEY_FILE"):
            return f"the key in {known['POSTROAD_KEY_FILE']}, set by POSTROAD_KEY_FILE"
        data = Path(self.data) if self.data else local_data_folder(environment)
        return f"the operator's key in {data}; use --key-file for another"

    def client(self, tries: int = DEFAULT_TRIES) -> Client:
        from postroad.client import Client, Retrying

        return Client(access=self.access(), retrying=Retrying(tries=tries))


def local_data_folder(environment: Mapping[str, str]) -> Path:
    """Return the data folder of a network on this machine, according to its settings."""
    if named := environment.get("POSTROAD_DATA"):
        return Path(named)
    try:
        return Path(tomllib.loads(Path("postroad.toml").read_text()).get("data", DATA))
    except (OSError, TypeError, ValueError):  # `postroad doctor` says what is wrong with the settings
        return DATA


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _no_key(data: Path) -> str:
    raise Misconfigured(
        [
            "no key: use --key-file, set POSTROAD_KEY_FILE, or run this where a network's data folder is readable "
            f"(there is no {OPERATOR_KEY_FILE} in {data}; --data names another folder)"
        ]
    )


def with_connection(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add options that select the network, passed to the command as ``connection``."""

    @functools.wraps(function)
    def run(*arguments: Any, url: str, key: str, key_file: str, data: str, **options: Any) -> Any:
        connection = NetworkConnection(url, key, key_file, data)
        try:
            return function(*arguments, connection=connection, **options)
        except Unavailable as away:
            if away.code != "network.unreachable" or not (hint := connection.missing_network()):
                raise
            raise Unavailable(away.code, f"{away.detail}. {hint}", retry_after_s=away.retry_after_s) from away
        except Refused as refused:
            if refused.code not in ABOUT_KEYS:
                raise
            detail = f"{refused.detail} ({ABOUT_KEYS[refused.code]} {connection.key_source()})"
            raise Refused(refused.code, detail, pointer=refused.pointer, session=refused.session) from refused

    for option in (
        click.option("--data", default="", help="Data folder of a network on this machine.", metavar="FOLDER"),
        click.option("--key-file", default="", help="File that holds the API key.", metavar="FILE"),
        click.option("--key", default="", help="API key; a file is safer, since others can see command lines."),
        click.option("--url", default="", help="Address of the network."),
    ):
        run = option(run)
    return run

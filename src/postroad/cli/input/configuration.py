"""Configuration files, joined into one document, with the contents of the secrets, keys and assets they name.

Rule: a file under version control never contains a secret. ``passwordFrom: env:NAME`` and ``keyFrom: file:PATH`` are
resolved here, where the files are; so are ``file: PATH`` of an asset and ``file:PATH`` among certificates. A relative
path counts from the folder of the file that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from postroad.cli.framework.exit_codes import describe_error
from postroad.core.configuration.entries.assets import PLURALS
from postroad.core.configuration.yaml_text import from_yaml
from postroad.errors import Misconfigured

SECTIONS = frozenset(PLURALS.values())


def read_assets(document: dict[str, Any], folder: Path, file: str, faults: list[str]) -> dict[str, Any]:
    """Return the document with the contents of the files that its services' assets name."""
    reading = _Reading(folder, file, faults)
    resolved: dict[str, Any] = reading.below(
        document, "organizations", lambda organization: reading.below(organization, "services", reading.service)
    )
    return resolved


class _Reading:
    """Replaces file names by contents in asset sections only; a field called ``file`` elsewhere keeps its meaning."""

    def __init__(self, folder: Path, file: str, faults: list[str]) -> None:
        self._folder = folder
        self._file = file
        self._faults = faults

    def below(self, value: Any, name: str, change: Any) -> Any:
        """Return the value with ``change`` applied to each object in its section of that name."""
        if not isinstance(value, dict) or not isinstance(value.get(name), dict):
            return value
        return value | {name: {key: change(item) for key, item in value[name].items()}}

    def service(self, service: Any) -> Any:
        for section in SECTIONS:
            service = self.below(service, section, self._asset)
        return service

    def _asset(self, entry: Any) -> Any:
        if not isinstance(entry, dict) or not isinstance(entry.get("file"), str) or "content" in entry:
            return entry
        path = self._folder / Path(entry["file"]).expanduser()
        try:
            content = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            self._faults.append(f"{self._file}: file: {entry['file']}: {error}")
            content = ""
        return {name: value for name, value in entry.items() if name != "file"} | {"content": content}


RESOLVED = {"passwordFrom": "password", "keyFrom": "key"}
CERTIFICATES = "certificates"  # of an AS2 partner: the PEM itself, or the file where it is
Resolve = Callable[[str, str], str]


def read_configuration_files(
    files: Iterable[str],
    stdin: Callable[[], str],
    environment: Mapping[str, str],
    make_key: Callable[[Path], str] | None = None,
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> dict[str, Any]:
    """Join all files (``-`` is standard input) to one document; ``make_key`` makes missing key files.

    ``prepare`` gets each file before anything in it is resolved; callers that need no secrets remove them there.
    """
    faults: list[str] = []
    joined: dict[str, Any] = {}
    for file in files:
        content = prepare(_parse_file(file, stdin, faults))
        folder = Path() if file == "-" else Path(file).parent
        resolved = _with_secrets(content, _resolver(folder, environment, file, faults, make_key))
        _join(joined, read_assets(resolved, folder, file, faults), file, faults)
    if faults:
        raise Misconfigured(faults)
    return joined


def _parse_file(file: str, stdin: Callable[[], str], faults: list[str]) -> dict[str, Any]:
    try:
        content = from_yaml(stdin() if file == "-" else Path(file).read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        faults.append(describe_error(error, file))
        return {}
    if not isinstance(content, dict):
        faults.append(f"{file}: this is not a configuration; it begins with `postroad: 1` and lists organizations")
        return {}
    return content


def _join(joined: dict[str, Any], content: dict[str, Any], file: str, faults: list[str]) -> None:
    for name, value in content.items():
        known = joined.get(name)
        if known is None:
            joined[name] = value
        elif isinstance(known, dict) and isinstance(value, dict):
            twice = sorted(set(known) & set(value))
            faults += [f"{file}: {name}: {one} is also in another file; keep it in one place" for one in twice]
            joined[name] = known | value
        elif known != value:
            faults.append(f"{file}: {name}: the files disagree about it")


def _with_secrets(value: Any, resolve: Resolve) -> Any:
    if isinstance(value, dict):
        if isinstance(listed := value.get(CERTIFICATES), list):
            value = value | {CERTIFICATES: [_in_file(item, resolve) for item in listed]}
        return {
            RESOLVED.get(name, name): resolve(name, item) if name in RESOLVED and isinstance(item, str) else
            _with_secrets(item, resolve)
            for name, item in value.items()
        }  # fmt: skip
    return [_with_secrets(item, resolve) for item in value] if isinstance(value, list) else value


def _in_file(item: Any, resolve: Resolve) -> Any:
    return resolve(CERTIFICATES, item) if isinstance(item, str) and item.startswith("file:") else item


def _resolver(
    folder: Path,
    environment: Mapping[str, str],
    file: str,
    faults: list[str],
    make_key: Callable[[Path], str] | None,
) -> Resolve:
    def resolve(field: str, reference: str) -> str:
        kind, _, name = reference.partition(":")
        if kind == "env" and name in environment:
            return environment[name]
        if kind == "file":
            path = folder / Path(name).expanduser()
            if make_key is not None and field == "keyFrom" and not path.exists():
                return make_key(path)
            return _secret_in(path, f"{file}: {reference}", faults)
        what = f"the variable {name} is not set" if kind == "env" else "write it as env:NAME or file:PATH"
        faults.append(f"{file}: {reference}: {what}")
        return ""

    return resolve


def _secret_in(path: Path, place: str, faults: list[str]) -> str:
    try:
        return path.read_text().strip()
    except OSError as error:
        faults.append(describe_error(error, place))
        return ""

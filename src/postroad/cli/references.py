"""Configuration files as they are sent: several joined into one document, and what the files only point to put in its place.

Kept rule: a secret never stands in a file under version control. ``passwordFrom: env:NAME`` and ``keyFrom: file:PATH`` are
resolved here, where the files are; so are ``file: PATH`` of an asset and ``file:PATH`` among certificates. A relative path
counts from the folder of the file that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from postroad.cli.asset_files import with_assets
from postroad.cli.exits import describe
from postroad.core.configuration.yaml_text import from_yaml
from postroad.errors import Misconfigured

RESOLVED = {"passwordFrom": "password", "keyFrom": "key"}
CERTIFICATES = "certificates"  # of an AS2 partner: the PEM itself, or the file where it is
Resolve = Callable[[str, str], str]


def read_documents(
    files: Iterable[str],
    stdin: Callable[[], str],
    environment: Mapping[str, str],
    make_key: Callable[[Path], str] | None = None,
    prepare: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> dict[str, Any]:
    """One document out of all files (``-`` is standard input), ready to be sent; ``make_key`` makes missing key files.

    ``prepare`` sees each file before anything in it is looked up: who needs no secrets leaves them out there.
    """
    faults: list[str] = []
    joined: dict[str, Any] = {}
    for file in files:
        content = prepare(_parsed(file, stdin, faults))
        folder = Path() if file == "-" else Path(file).parent
        resolved = _with_secrets(content, _resolver(folder, environment, file, faults, make_key))
        _join(joined, with_assets(resolved, folder, file, faults), file, faults)
    if faults:
        raise Misconfigured(faults)
    return joined


def _parsed(file: str, stdin: Callable[[], str], faults: list[str]) -> dict[str, Any]:
    try:
        content = from_yaml(stdin() if file == "-" else Path(file).read_text())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        faults.append(describe(error, file))
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
            faults += [f"{file}: {name}: {one} stands in another file too; keep it in one place" for one in twice]
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
        faults.append(describe(error, place))
        return ""

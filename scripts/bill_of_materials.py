"""The bill of materials (SBOM) of a release: every package of ``requirements/run.txt``, as CycloneDX 1.6 JSON.

    python -m scripts.bill_of_materials [FILE]

Packages that the installation uses only to build postroad have the scope "excluded", those for other systems "optional". A lock
file's hashes belong to files, of which a package has several, so each is a property of its package.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from postroad import __version__
from scripts.licenses import read_license

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements" / "run.txt"
PIN = re.compile(r"^(?P<wanted>[A-Za-z0-9].*?) \\$")
HASH = re.compile(r"--hash=(sha256:[0-9a-f]{64})")
NAMESPACE = uuid.UUID("6f1f6a5c-2f0f-5d1e-9f57-0a2b6d6f7c11")  # chosen once, so that equal bills have equal numbers


class Pin(NamedTuple):
    """One package of a lock file."""

    name: str
    version: str
    is_for_here: bool
    hashes: tuple[str, ...]


def read_lock(lock: Path = LOCK) -> list[Pin]:
    """Return the packages of a lock file with their hashes."""
    pins: list[Pin] = []
    for line in lock.read_text().splitlines():
        if found := PIN.match(line):
            wanted = Requirement(found["wanted"])
            [version] = [one.version for one in wanted.specifier]
            pins.append(Pin(canonicalize_name(wanted.name), version, not wanted.marker or wanted.marker.evaluate(), ()))
        elif hashed := HASH.search(line):
            pins[-1] = pins[-1]._replace(hashes=(*pins[-1].hashes, hashed[1]))
    return pins


def needed_at_run_time(name: str = "postroad") -> set[str]:
    """Return the names of all packages that a package needs here, directly or through others."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        for text in requires(waiting.pop()) or ():
            wanted = Requirement(text)
            below = canonicalize_name(wanted.name)
            if below not in found and (not wanted.marker or wanted.marker.evaluate({"extra": ""})):
                found.add(below)
                waiting.append(below)
    return found


def build_bill(pins: list[Pin]) -> dict[str, Any]:
    """Return the bill of materials of these packages."""
    needed = needed_at_run_time()
    root = _component("postroad", __version__, "Apache-2.0") | {"type": "application"}
    components = [_describe(pin, needed) for pin in pins]
    content = json.dumps([root, *components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(NAMESPACE, content)}",
        "version": 1,
        "metadata": {"component": root},
        "components": components,
        "dependencies": list(_dependencies(root["bom-ref"], components)),
    }


def _describe(pin: Pin, needed: set[str]) -> dict[str, Any]:
    try:
        license_expression = read_license(pin.name, metadata(pin.name))
    except PackageNotFoundError:
        license_expression = ""
    scope = "required" if pin.name in needed else "excluded" if pin.is_for_here else "optional"
    hashes = [{"name": "postroad:lock:hash", "value": one} for one in pin.hashes]
    return _component(pin.name, pin.version, license_expression) | {"scope": scope, "properties": hashes}


def _component(name: str, version: str, license_expression: str) -> dict[str, Any]:
    address = f"pkg:pypi/{name}@{version}"
    licenses = {"licenses": [{"expression": license_expression}]} if license_expression else {}
    return {"type": "library", "bom-ref": address, "name": name, "version": version, "purl": address} | licenses


def _dependencies(root: str, components: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    references = {one["name"]: one["bom-ref"] for one in components}
    for name, reference in (("postroad", root), *references.items()):
        below = sorted(references[one] for one in _direct(name) if one in references)
        yield {"ref": reference, "dependsOn": below}


def _direct(name: str) -> set[str]:
    """Return what a package needs itself."""
    try:
        wanted = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return set()
    return {canonicalize_name(one.name) for one in wanted if not one.marker or one.marker.evaluate({"extra": ""})}


def render_bill() -> str:
    return json.dumps(build_bill(read_lock()), indent=1) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(render_bill())
    else:
        sys.stdout.write(render_bill())

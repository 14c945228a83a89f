"""Licenses of the packages that postroad needs at run time, as SPDX expressions, and which of them are allowed.

Rule: a package without a readable license, or with one that is not in ALLOWED, fails the build. To accept another license, decide
it in ``docs/decisions`` and add it here.
"""

from __future__ import annotations

import re
from importlib.metadata import PackageMetadata

ALLOWED = frozenset(
    {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "LicenseRef-any-OSI", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"}
)
# What packages write instead of an SPDX expression.
IN_WORDS = {
    "any-OSI": "LicenseRef-any-OSI",  # apsw: any license that the OSI has approved
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
# Packages whose metadata names no license: read in their license files.
IN_FILES = {"saxonche": "MPL-2.0"}
CLASSIFIER = "License :: OSI Approved :: "


def read_license(name: str, metadata: PackageMetadata) -> str:
    """Return the SPDX expression of a package; empty if its metadata names no license."""
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    [written] = metadata.get_all("License") or [""]
    classified = [
        line.removeprefix(CLASSIFIER) for line in metadata.get_all("Classifier") or () if line.startswith(CLASSIFIER)
    ]
    if classified:
        return " OR ".join(sorted({IN_WORDS.get(one, one) for one in classified}))
    return IN_WORDS.get(written, written) or IN_FILES.get(name, "")


def is_allowed(expression: str) -> bool:
    """Whether one of the alternatives of an expression needs only allowed licenses."""
    return any(
        all(term in ALLOWED for term in re.split(r" AND ", alternative.strip("() ")))
        for alternative in expression.split(" OR ")
    )

"""Writes the generated reference files: the OpenAPI document and the JSON Schema of configuration documents.

``python -m postroad.api.resources.reference FOLDER`` writes them; a test compares the committed ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from postroad.api.application import ROUTES
from postroad.api.resources.openapi import openapi_document
from postroad.core.configuration.document import document_schema


def reference_files() -> dict[str, str]:
    """Names and contents."""
    contents = {"openapi.json": openapi_document(ROUTES), "network.schema.json": document_schema()}
    return {name: json.dumps(content, indent=1, ensure_ascii=False) + "\n" for name, content in contents.items()}


def main(folder: Path) -> None:
    for name, text in reference_files().items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))

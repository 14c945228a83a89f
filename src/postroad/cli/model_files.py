"""Trees of models in files: YAML as people write it, or JSON, which is read much faster where there are very many nodes."""

from __future__ import annotations

from typing import Any

import msgspec

from postroad.cli.message_files import content_of
from postroad.core.configuration.yaml_text import from_yaml
from postroad.errors import Misconfigured


def tree_in(file: str) -> Any:
    """What the file says; - is standard input."""
    from yaml import YAMLError

    content = content_of(file)
    try:
        return msgspec.json.decode(content) if content.lstrip()[:1] == b"{" else from_yaml(content)
    except (YAMLError, msgspec.DecodeError, UnicodeError) as fault:
        raise Misconfigured([f"{file}: {' '.join(str(fault).split())}"]) from None

"""Reads the master keys once, at the start: from a file, from the output of a command, or from the settings.

Rules: the keys are never written anywhere. The command runs without a shell, with a time limit, and no error contains its
output.
"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

from postroad.core.identity.master_keys import parse_master_keys
from postroad.core.identity.sealing import SealingKeys
from postroad.errors import Misconfigured

TIMEOUT_S = 60.0
MAX_TEXT = 16_384
MAX_MESSAGE = 200


def read_master_keys(text: str, file: str, command: str) -> SealingKeys | None:
    """Return the keys from the source that is set, or None; raises Misconfigured if they cannot be read."""
    if text:
        return parse_master_keys(text, "master_key")
    if file:
        return parse_master_keys(_read_file(file), f"master_key_file {file}")
    if command.strip():
        return parse_master_keys(_run(command), "master_key_command")
    return None


def _read_file(file: str) -> str:
    try:
        with Path(file).expanduser().open(encoding="utf-8") as opened:
            return opened.read(MAX_TEXT)
    except OSError as error:
        raise Misconfigured([f"master_key_file {file}: cannot be read: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise Misconfigured(
            [f"master_key_file {file}: is not text; write the key as hex digits or in base64"]
        ) from None


def _run(command: str) -> str:
    try:
        words = shlex.split(command)
        done = subprocess.run(  # noqa: S603 - the operator's own command, without a shell
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S, check=False
        )
    except ValueError as error:
        raise Misconfigured([f"master_key_command: {error}; check its quotation marks"]) from None
    except OSError as error:
        raise Misconfigured([f"master_key_command: {words[0]} cannot be run: {error.strerror}"]) from None
    except subprocess.TimeoutExpired:
        raise Misconfigured([f"master_key_command: no answer within {TIMEOUT_S:.0f} s"]) from None
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip()[:MAX_MESSAGE] or "no message"
        raise Misconfigured([f"master_key_command: {words[0]} ended with status {done.returncode}: {message}"])
    return done.stdout[:MAX_TEXT].decode(errors="replace")

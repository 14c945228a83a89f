"""The files with secrets of a data folder: collected, sealed under a master key or copied as they are, and written back.

Rules: a file is readable by its owner only. Sealed files are one file, ``backup.secrets``, bound to its network. The store of
sealed secrets is copied as it is, because its contents are sealed already. In a backup, a file has the digest of its contents in
its name, so new contents replace none that the manifest lists; they are removed after the manifest that does not list them.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import apsw
import msgspec

from postroad.adapters.journal.backup.folder import PART
from postroad.adapters.journal.backup.manifest import BackupManifest, SecretFile
from postroad.adapters.journal.segments.files import RealFiles
from postroad.core.identity.sealing import NONCE_BYTES, SealingKeys, UnsealError, seal
from postroad.errors import Misconfigured, Unavailable

SEALED_FILE = "backup.secrets"
TOKEN_SECRET = "token.secret"  # noqa: S105 - the name of a file
SECRET_FILES = (TOKEN_SECRET, "operator.key")
SECRET_FOLDERS = ("push-secrets",)
SECRET_STORES = ("secrets.sqlite",)  # SQLite files whose contents are sealed
SEALED, PLAIN, NONE = "sealed", "plain", "none"
CONTEXT = "backup.secrets"
BUSY_TIMEOUT_MS = 10_000
COMPARE_EVERY_S = 0.75
DIGEST_DIGITS = 16  # of the SHA-256 in the names of files

SecretContents = dict[str, bytes]  # by the path in the data folder
ReadStores = Callable[[], Awaitable[SecretContents]]


def collect_secrets(data: Path, token_secret: str = "") -> SecretContents:
    """Return the contents of all files with secrets in a data folder.

    ``token_secret``: of a network that has it in its settings instead of a file.
    """
    folders = [path for name in SECRET_FOLDERS for path in sorted((data / name).rglob("*"))]
    paths = [data / name for name in SECRET_FILES] + folders
    found = {str(path.relative_to(data)): path.read_bytes() for path in paths if path.is_file()}
    return found | ({TOKEN_SECRET: token_secret.encode()} if token_secret else {})


def copy_stores(data: Path) -> SecretContents:
    """Return consistent copies of the stores of sealed secrets, also while the server writes to them."""
    return {name: _copy_store(data / name) for name in SECRET_STORES if (data / name).exists()}


def _copy_store(path: Path) -> bytes:
    """Copy a store as of one moment; what a server that was killed has left half-written is undone first."""
    try:
        with (
            closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as store,
            closing(apsw.Connection(":memory:")) as copy,
        ):
            store.set_busy_timeout(BUSY_TIMEOUT_MS)
            with copy.backup("main", store, "main") as copying:
                copying.step(-1)
            return copy.serialize("main")
    except apsw.Error as error:
        raise Unavailable("storage.failed", f"{path} cannot be copied: {error}; nothing was changed") from error


class SecretCopies:
    """Writes the secrets of a data folder into a backup, and again when they have changed."""

    def __init__(
        self,
        *,
        data: Path,
        target: Path,
        keys: SealingKeys | None,
        mode: str,
        read_stores: ReadStores,
        token_secret: str = "",
    ) -> None:
        self._data = data
        self._target = target
        self._keys = keys
        self._mode = mode
        self._read_stores = read_stores
        self._token_secret = token_secret
        self._written: dict[str, bytes] | None = None  # digests of what was written
        self._compared_at = 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is long enough ago that a follower compared the secrets with what was written."""
        return time.monotonic() - self._compared_at >= COMPARE_EVERY_S

    async def write(self, manifest: BackupManifest) -> BackupManifest:
        """Write the secrets if they differ from what was written before; returns the manifest that lists them."""
        self._compared_at = time.monotonic()
        secrets, stores = await self._collect()
        digests = {name: sha256(text).digest() for name, text in (secrets | stores).items()}
        if digests == self._written:
            return manifest
        files = (self._sealed(secrets, manifest.network) if self._mode == SEALED else secrets) | stores
        listed = tuple(_list_file(name, text) for name, text in sorted(files.items()))
        for one in listed:
            write_private(self._target / one.path, files[one.name])
        self._written = digests
        return msgspec.structs.replace(manifest, secrets=self._mode, secret_files=listed)

    async def _collect(self) -> tuple[SecretContents, SecretContents]:
        """Return the files with secrets, and the stores of sealed secrets."""
        if self._mode == NONE:
            return {}, {}
        return await asyncio.to_thread(collect_secrets, self._data, self._token_secret), await self._read_stores()

    def _sealed(self, secrets: SecretContents, network: str) -> SecretContents:
        if self._keys is None:
            raise Misconfigured(["backup: no master key is configured to seal secrets with; set master_key_file"])
        text = msgspec.msgpack.encode(secrets)
        return {SEALED_FILE: seal(self._keys.first, text, os.urandom(NONCE_BYTES), CONTEXT, network)}


def _list_file(name: str, text: bytes) -> SecretFile:
    digest = sha256(text).hexdigest()
    return SecretFile(name=name, bytes=len(text), sha256=digest, file=f"{name}.{digest[:DIGEST_DIGITS]}")


def remove_unlisted_secrets(target: Path, manifest: BackupManifest) -> None:
    """Remove files with secrets that the manifest does not list: replaced ones, and those of interrupted runs."""
    listed = {one.path for one in manifest.secret_files}
    found = [path for name in (*SECRET_FILES, *SECRET_STORES, SEALED_FILE) for path in target.glob(f"{name}*")]
    found += [path for name in SECRET_FOLDERS for path in (target / name).rglob("*")]
    for path in found:
        if path.is_file() and str(path.relative_to(target)) not in listed:
            path.unlink(missing_ok=True)


def read_secrets(
    backup: Path, manifest: BackupManifest, keys: SealingKeys | None, *, only_stores: bool = False
) -> SecretContents:
    """Return the secrets of a backup as the data folder has them; raises Misconfigured if they cannot be opened.

    ``only_stores``: the stores of sealed secrets, without the files; this needs no master key.
    """
    found: SecretContents = {}
    for one in manifest.secret_files:
        if only_stores and one.name not in SECRET_STORES:
            continue
        path = backup / one.path
        try:
            text = path.read_bytes()
        except OSError as error:
            raise Misconfigured([f"backup: {path} cannot be read: {error.strerror}"]) from None
        if sha256(text).hexdigest() != one.sha256:
            raise Misconfigured([f"backup: {path} was changed after the backup; use another copy"])
        found |= _open_sealed(path, text, manifest, keys) if one.name == SEALED_FILE else {one.name: text}
    return found


def _open_sealed(path: Path, text: bytes, manifest: BackupManifest, keys: SealingKeys | None) -> SecretContents:
    if keys is None:
        raise Misconfigured(
            [
                f"backup: the secrets in {path} are sealed; set master_key_file to the network's master key, "
                "or restore without them with --no-secrets"
            ]
        )
    try:
        opened = keys.unseal(text, CONTEXT, manifest.network)
        return msgspec.msgpack.decode(opened, type=SecretContents)
    except UnsealError as error:
        raise Misconfigured([f"backup: {path} cannot be opened: {error}"]) from None


def write_private(path: Path, text: bytes) -> None:
    """Write a file that only its owner can read, durably, and completely or not at all; folders are created."""
    _make_private_folder(path.parent)
    part = path.with_name(path.name + PART)
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        part.unlink(missing_ok=True)  # frees the space that the attempt used
        raise
    part.rename(path)
    RealFiles().sync_directory(path.parent)


def _make_private_folder(path: Path) -> None:
    if path.is_dir():
        return
    _make_private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    RealFiles().sync_directory(path.parent)

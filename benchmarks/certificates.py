"""A throw-away server certificate for the rows with TLS: P-256, as most servers have today."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    chain: Path
    key: Path


def make_certificate(folder: Path) -> Certificate:
    folder.mkdir(parents=True, exist_ok=True)
    issued = trustme.CA(key_type=trustme.KeyType.ECDSA).issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.ECDSA)
    certificate = Certificate(chain=folder / "server.pem", key=folder / "server.key")
    issued.private_key_pem.write_to_path(certificate.key)
    certificate.chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    return certificate

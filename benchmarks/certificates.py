"""A throw-away server certificate for the rows with TLS: P-256, as most servers have today."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    chain: Path
    key: Path
    authority: Path  # whom a client must trust


def make_certificate(folder: Path) -> Certificate:
    folder.mkdir(parents=True, exist_ok=True)
    issuer = trustme.CA(key_type=trustme.KeyType.ECDSA)
    issued = issuer.issue_cert("localhost", "127.0.0.1", key_type=trustme.KeyType.ECDSA)
    certificate = Certificate(
        chain=folder / "server.pem", key=folder / "server.key", authority=folder / "authority.pem"
    )
    issuer.cert_pem.write_to_path(str(certificate.authority))
    issued.private_key_pem.write_to_path(str(certificate.key))
    certificate.chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    return certificate

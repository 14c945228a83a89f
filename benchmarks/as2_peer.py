"""pyas2lib, an AS2 partner that others wrote: made to import, and used as its own documentation shows.

It is GPL and stays outside of the package; tests and benchmarks alone use it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates

from postroad.core.codecs.cms import Identity

PASSWORD = "partner"
_BROKEN = rb"\\b(\\d\\.\\d\\.\\d[a-z]*)\\b"
_MENDED = rb"\\b(\\d+\\.\\d+\\.\\d+[a-z]*)\\b"
_ASKING_FOR_THE_VERSION = ("oscrypto._openssl._libcrypto_cffi", "oscrypto._openssl._libcrypto_ctypes")


class _Mended(SourceFileLoader):
    """oscrypto 1.3.0 does not import where OpenSSL's version has two digits (3.0.19); its repair was never released."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path).replace(_BROKEN, _MENDED), path)
        return code


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _ASKING_FOR_THE_VERSION:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.origin:
            spec.loader = _Mended(name, spec.origin)
        return spec


def pyas2lib() -> Any:
    """The library's module ``as2``; ImportError where it is not installed or finds no OpenSSL."""
    sys.meta_path.insert(0, _Finder)
    try:
        return importlib.import_module("pyas2lib.as2")
    finally:
        sys.meta_path.remove(_Finder)


def organization(name: str, identity: Identity, **options: object) -> Any:
    """The library's own side."""
    key_file = _pkcs12(identity)
    keys = {"sign_key": key_file, "decrypt_key": key_file, "sign_key_pass": PASSWORD, "decrypt_key_pass": PASSWORD}
    return pyas2lib().Organization(as2_name=name, **keys, **options)


def partner(name: str, identity: Identity, **options: object) -> Any:
    """The other side as the library knows it: a name, a certificate and what was agreed on."""
    certificate = identity.certificate.public_bytes(Encoding.PEM)
    return pyas2lib().Partner(
        as2_name=name, verify_cert=certificate, encrypt_cert=certificate, validate_certs=False, **options
    )


def _pkcs12(identity: Identity) -> bytes:
    protection = BestAvailableEncryption(PASSWORD.encode())
    return serialize_key_and_certificates(b"key", identity.key, identity.certificate, None, protection)

"""The object identifiers of CMS and of its algorithms, as bytes."""

from __future__ import annotations

from postroad.core.codecs.cms.der import object_identifier

_PKCS7, _PKCS9, _PKCS1 = "1.2.840.113549.1.7", "1.2.840.113549.1.9", "1.2.840.113549.1.1"
_NIST_CIPHERS, _NIST_DIGESTS, _ECDSA = "2.16.840.1.101.3.4.1", "2.16.840.1.101.3.4.2", "1.2.840.10045.4"

DATA = object_identifier(f"{_PKCS7}.1")
SIGNED_DATA = object_identifier(f"{_PKCS7}.2")
ENVELOPED_DATA = object_identifier(f"{_PKCS7}.3")
AUTH_ENVELOPED_DATA = object_identifier(f"{_PKCS9}.16.1.23")
COMPRESSED_DATA = object_identifier(f"{_PKCS9}.16.1.9")
ZLIB = object_identifier(f"{_PKCS9}.16.3.8")

CONTENT_TYPE = object_identifier(f"{_PKCS9}.3")
MESSAGE_DIGEST = object_identifier(f"{_PKCS9}.4")
SIGNING_TIME = object_identifier(f"{_PKCS9}.5")

MD5 = object_identifier("1.2.840.113549.2.5")
SHA1 = object_identifier("1.3.14.3.2.26")
SHA256 = object_identifier(f"{_NIST_DIGESTS}.1")
SHA384 = object_identifier(f"{_NIST_DIGESTS}.2")
SHA512 = object_identifier(f"{_NIST_DIGESTS}.3")

RSA = object_identifier(f"{_PKCS1}.1")
RSA_OAEP = object_identifier(f"{_PKCS1}.7")
MGF1 = object_identifier(f"{_PKCS1}.8")
P_SPECIFIED = object_identifier(f"{_PKCS1}.9")
RSA_PSS = object_identifier(f"{_PKCS1}.10")
RSA_SHA1 = object_identifier(f"{_PKCS1}.5")
RSA_SHA1_OF_OIW = object_identifier("1.3.14.3.2.29")  # what products of Microsoft called it
RSA_SHA256 = object_identifier(f"{_PKCS1}.11")
RSA_SHA384 = object_identifier(f"{_PKCS1}.12")
RSA_SHA512 = object_identifier(f"{_PKCS1}.13")
EC_KEY = object_identifier("1.2.840.10045.2.1")
ECDSA_SHA1 = object_identifier(f"{_ECDSA}.1")
ECDSA_SHA256 = object_identifier(f"{_ECDSA}.3.2")
ECDSA_SHA384 = object_identifier(f"{_ECDSA}.3.3")
ECDSA_SHA512 = object_identifier(f"{_ECDSA}.3.4")

DES3_CBC = object_identifier("1.2.840.113549.3.7")
AES128_CBC = object_identifier(f"{_NIST_CIPHERS}.2")
AES192_CBC = object_identifier(f"{_NIST_CIPHERS}.22")
AES256_CBC = object_identifier(f"{_NIST_CIPHERS}.42")
AES128_GCM = object_identifier(f"{_NIST_CIPHERS}.6")
AES192_GCM = object_identifier(f"{_NIST_CIPHERS}.26")
AES256_GCM = object_identifier(f"{_NIST_CIPHERS}.46")

"""The profile of an AS2 partnership, checked when it is saved."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StrictBool, StrictInt, StrictStr, StringConstraints, model_validator

from postroad.core.configuration import certificates
from postroad.core.configuration.shapes import SecretFrom, StrictShape, Url, Word, unique

StationName = Annotated[
    StrictStr, StringConstraints(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$")
]


def check_certificate(pem: str) -> str:
    """One certificate and nothing else, as the network keeps it."""
    found = certificates.read(pem)
    if found is None:
        raise ValueError("must be one certificate in PEM, without a key; export only the partner's certificate")
    return found.pem


Certificate = Annotated[StrictStr, StringConstraints(max_length=16_384), AfterValidator(check_certificate)]


class As2Profile(StrictShape):
    name: Annotated[StationName, Field(description="The partner's AS2 name")]
    own_name: Annotated[StationName, Field(description="The AS2 name that the partner uses for this network's side")]
    certificates: Annotated[
        tuple[Certificate, ...],
        Field(
            max_length=10,
            description="The partner's certificates in PEM, newest first; all are valid during a roll-over",
        ),
        AfterValidator(unique),
    ] = ()
    secret_from: Annotated[
        SecretFrom | Literal[""], Field(description="Location of the network's key and certificate, in PEM")
    ] = ""
    deliver_to: Annotated[Word | Literal[""], Field(description="The service that receives the partner's messages")] = (
        ""
    )
    sign: Literal["", "sha1", "sha256", "sha384", "sha512"] = "sha256"
    encrypt: Literal["", "aes128-cbc", "aes192-cbc", "aes256-cbc", "aes128-gcm", "aes256-gcm"] = "aes256-cbc"
    compress: Literal["", "before", "after"] = ""
    mdn: Literal["none", "sync", "async"] = "sync"
    mdn_signed: StrictBool = True
    mdn_timeout_s: Annotated[StrictInt, Field(alias="mdnTimeoutSeconds", ge=10, le=604_800)] = 3_600
    must_be_signed: StrictBool = True
    must_be_encrypted: StrictBool = False
    receipt_urls: Annotated[tuple[Url, ...], Field(max_length=20), AfterValidator(unique)] = ()
    soap_body: Annotated[
        Literal["strip", "keep"],
        Field(description="For SOAP messages with attachments: whether a non-empty Body is sent as a part"),
    ] = "strip"
    message_per_part: Annotated[
        StrictBool, Field(description="Send each part of a message as a separate AS2 message")
    ] = False

    @model_validator(mode="after")
    def check_requirements(self) -> Self:
        signs, decrypts = self.sign or self.mdn_signed, self.must_be_encrypted
        if not self.secret_from and (signs or decrypts):
            raise ValueError(
                "signing and decryption need secretFrom, the location of the key: secret:NAME, file:NAME or env:PUSH_SECRET_GCID…"
            )
        if not self.certificates and (self.encrypt or self.must_be_signed or (self.mdn_signed and self.mdn != "none")):
            raise ValueError("encryption and signature verification need the partner's certificate in certificates")
        return self

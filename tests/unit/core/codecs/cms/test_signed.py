"""Signatures: which hold, which do not, and that nobody is taken for somebody else."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from postroad.core.codecs.cms import Identity, VerifiedSignature, oids, sign, verify
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.der import OCTET_STRING, context_tag, element
from postroad.errors import Refused
from tests.samples.cms_people import (
    CONTENT,
    FROM,
    SIGNED_AT,
    UNTIL,
    clerk,
    identity,
    notary,
    partner,
    stranger,
)
from tests.samples.crafted_cms import (
    CONTENT_TYPE,
    as_ber,
    attribute,
    digest_attribute,
    signed_data,
    signer_info,
)

pytestmark = pytest.mark.req("T7")
HONEST = (CONTENT_TYPE, digest_attribute(CONTENT))


def refusal(signed: bytes, content: bytes | None = CONTENT, *trusted: Identity, at: datetime | None = None) -> Refused:
    certificates = [one.certificate for one in trusted or (clerk(),)]
    with pytest.raises(Refused) as caught:
        verify(signed, None if content is None else [content], certificates, at=at)
    return caught.value


def verified(signed: bytes, content: bytes | None = CONTENT, *trusted: Identity) -> VerifiedSignature:
    certificates = [one.certificate for one in trusted or (clerk(),)]
    return verify(signed, None if content is None else [content], certificates)


@pytest.mark.parametrize("digest", ["sha1", "sha256", "sha384", "sha512"])
@pytest.mark.parametrize("pss", [False, True])
@pytest.mark.parametrize("signer", [clerk, notary])
def test_what_is_signed_verifies(signer: Callable[[], Identity], pss: bool, digest: str) -> None:
    signed = sign([CONTENT], [signer()], digest=digest, signed_at=SIGNED_AT, pss=pss)
    found = verified(signed, CONTENT, signer())
    assert (found.signers, found.digest, found.content) == ((signer().certificate,), digest, None)


def test_content_may_come_inside() -> None:
    signed = sign([b"a", memoryview(b"bc")], [clerk()], detached=False, signed_at=None)
    assert verified(signed, None).content == b"abc"
    assert verified(signed, b"abc").content == b"abc"


def test_content_inside_that_differs_from_the_content_beside_is_refused() -> None:
    signed = sign([b"inside"], [clerk()], detached=False, signed_at=None)
    assert refusal(signed, b"beside").pointer == "/content"


def test_empty_content_is_content() -> None:
    signed = sign([], [clerk()], detached=False, signed_at=None)
    assert verified(signed, None).content == b""
    assert verified(sign([b""], [clerk()], signed_at=None), b"").content is None


def test_a_signature_without_its_content_is_refused() -> None:
    assert refusal(sign([CONTENT], [clerk()], signed_at=None), None).pointer == "/content"


def test_the_digest_of_the_content_is_told() -> None:
    found = verified(sign([CONTENT], [clerk()], digest="sha512", signed_at=None))
    assert len(found.content_digest) == 64


def test_every_registered_signer_counts_and_others_do_not() -> None:
    signed = sign([CONTENT], [clerk(), notary(), stranger()], signed_at=SIGNED_AT)
    found = verified(signed, CONTENT, clerk(), notary())
    assert set(found.signers) == {clerk().certificate, notary().certificate}


def test_one_bad_signature_of_a_registered_signer_spoils_the_others() -> None:
    good = signer_info(clerk(), CONTENT, HONEST)
    forged = signer_info(stranger(), CONTENT, HONEST, mark=marks_of(partner().certificate).issuer_and_serial)
    assert verified(signed_data(good, forged), CONTENT, clerk()).signers == (clerk().certificate,)
    assert refusal(signed_data(good, forged), CONTENT, clerk(), partner()).pointer == "/signature"


def test_nobody_signed() -> None:
    found = refusal(signed_data())
    assert (found.code, found.pointer) == ("cms.signature-invalid", "/signers")
    assert refusal(signed_data(inside=CONTENT), None).pointer == "/signers"


def test_only_strangers_signed() -> None:
    found = refusal(sign([CONTENT], [stranger()], signed_at=SIGNED_AT))
    assert (found.code, found.pointer) == ("cms.signature-invalid", "/signers")


def test_nobody_is_registered() -> None:
    with pytest.raises(Refused, match="register"):
        verify(sign([CONTENT], [clerk()], signed_at=None), [CONTENT], [])


def test_a_stranger_who_names_a_registered_certificate_is_found_out() -> None:
    mark = marks_of(clerk().certificate).issuer_and_serial
    found = refusal(signed_data(signer_info(stranger(), CONTENT, HONEST, mark=mark)))
    assert (found.code, found.pointer) == ("cms.signature-invalid", "/signature")


def test_changed_content_is_told_apart_from_a_wrong_signature() -> None:
    assert refusal(sign([CONTENT], [clerk()], signed_at=None), CONTENT + b" ").pointer == "/content"


def test_every_changed_byte_of_the_content_is_seen() -> None:
    signed = sign([CONTENT], [clerk()], signed_at=None)
    for place in range(len(CONTENT)):
        changed = CONTENT[:place] + bytes((CONTENT[place] ^ 1,)) + CONTENT[place + 1 :]
        assert refusal(signed, changed).code == "cms.signature-invalid"


def test_every_changed_byte_of_the_signature_is_seen() -> None:
    signed = sign([CONTENT], [clerk()], signed_at=None)  # the signature's 256 bytes are its last ones
    for place in range(len(signed) - 256, len(signed)):
        changed = signed[:place] + bytes((signed[place] ^ 0x10,)) + signed[place + 1 :]
        assert refusal(changed).pointer == "/signature"


def test_no_change_makes_a_message_say_more_than_was_signed() -> None:
    """Outside of what is signed (certificates, version) a byte may change, but then the same is verified as before."""
    signed = sign([CONTENT], [clerk()], detached=False, signed_at=SIGNED_AT)
    for place in range(len(signed)):
        changed = signed[:place] + bytes((signed[place] ^ 0x04,)) + signed[place + 1 :]
        try:
            found = verified(changed, None)
        except Refused:
            continue
        assert found.content == CONTENT


def test_signatures_without_attributes_are_read() -> None:
    assert verified(signed_data(signer_info(clerk(), CONTENT))).signers == (clerk().certificate,)
    assert refusal(signed_data(signer_info(clerk(), CONTENT)), CONTENT + b"!").pointer == "/signature"


def test_attributes_that_somebody_signed_are_not_taken_for_content() -> None:
    """A signature over attributes would hold over content with the same bytes, once the attributes are taken away."""
    attributes = element(0x31, *HONEST)
    forged = signed_data(signer_info(clerk(), attributes))
    assert refusal(forged, attributes).pointer == "/signature"
    one_by_one = [attributes[place : place + 1] for place in range(len(attributes))]
    with pytest.raises(Refused, match="signed attributes"):
        verify(forged, one_by_one, [clerk().certificate])
    harmless = b"1" + CONTENT  # begins with the same byte, and is no attributes
    assert verified(signed_data(signer_info(clerk(), harmless)), harmless).signers == (clerk().certificate,)


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param([], id="none"),
        pytest.param([CONTENT_TYPE], id="no digest"),
        pytest.param([digest_attribute(CONTENT)], id="no content type"),
        pytest.param([*HONEST, digest_attribute(b"other")], id="two digests"),
        pytest.param([*HONEST, CONTENT_TYPE], id="two content types"),
        pytest.param([attribute(oids.CONTENT_TYPE, oids.SIGNED_DATA), HONEST[1]], id="another content type"),
        pytest.param([CONTENT_TYPE, digest_attribute(b"other")], id="another digest"),
    ],
)
def test_attributes_have_to_speak_of_the_content_exactly_once(attributes: list[bytes]) -> None:
    found = refusal(signed_data(signer_info(clerk(), CONTENT, attributes)))
    assert (found.code, found.pointer) == ("cms.signature-invalid", "/content")


def test_an_attribute_with_two_values_or_another_kind_of_value_is_refused() -> None:
    values = (element(OCTET_STRING, b"a" * 32), element(OCTET_STRING, b"b" * 32))
    two = [CONTENT_TYPE, attribute(oids.MESSAGE_DIGEST, *values)]
    other = [CONTENT_TYPE, attribute(oids.MESSAGE_DIGEST, oids.DATA)]
    assert refusal(signed_data(signer_info(clerk(), CONTENT, other))).code == "cms.malformed"
    assert refusal(signed_data(signer_info(clerk(), CONTENT, two))).code == "cms.malformed"


def test_attributes_without_end_are_refused() -> None:
    padding = attribute(oids.SIGNING_TIME, element(OCTET_STRING, bytes(70_000)))
    assert refusal(signed_data(signer_info(clerk(), CONTENT, [*HONEST, padding]))).code == "cms.too-complex"


def test_attributes_may_be_signed_in_the_order_of_the_standard_and_sent_in_another() -> None:
    ordered, reverse = sorted(HONEST), sorted(HONEST, reverse=True)
    in_order = signer_info(clerk(), CONTENT, ordered)
    assert element(context_tag(0), *ordered) in in_order
    sent = in_order.replace(element(context_tag(0), *ordered), element(context_tag(0), *reverse))
    assert verified(signed_data(sent)).signers == (clerk().certificate,)
    assert verified(signed_data(signer_info(clerk(), CONTENT, reverse))).signers == (clerk().certificate,)


def test_other_types_of_content_need_attributes() -> None:
    bare = signed_data(signer_info(clerk(), CONTENT), content_type=oids.COMPRESSED_DATA)
    assert refusal(bare).code == "cms.signature-invalid"
    typed = [attribute(oids.CONTENT_TYPE, oids.COMPRESSED_DATA), HONEST[1]]
    found = verified(signed_data(signer_info(clerk(), CONTENT, typed), content_type=oids.COMPRESSED_DATA))
    assert found.signers == (clerk().certificate,)


def test_a_signer_may_be_named_by_the_identifier_of_its_key() -> None:
    mark = element(context_tag(0, constructed=False), marks_of(clerk().certificate).key_identifier)
    assert verified(signed_data(signer_info(clerk(), CONTENT, HONEST, mark=mark))).signers == (clerk().certificate,)
    assert (
        refusal(signed_data(signer_info(clerk(), CONTENT, HONEST, mark=mark)), CONTENT, stranger()).pointer
        == "/signers"
    )


def test_the_identifier_of_a_key_is_known_where_the_certificate_does_not_tell_it() -> None:
    quiet = identity("Quiet", clerk().key, key_identifier=False)
    assert marks_of(quiet.certificate).key_identifier == marks_of(clerk().certificate).key_identifier


def test_a_signer_that_is_named_in_no_known_way_is_refused() -> None:
    assert refusal(signed_data(signer_info(clerk(), CONTENT, HONEST, mark=oids.DATA))).code == "cms.malformed"


def test_messages_in_ber_are_read() -> None:
    signed = as_ber(sign([CONTENT], [clerk(), notary()], detached=False, signed_at=SIGNED_AT))
    found = verified(signed, None, clerk(), notary())
    assert (found.content, len(found.signers)) == (CONTENT, 2)


@pytest.mark.parametrize(
    ("digest", "scheme"),
    [(oids.MD5, oids.RSA), (oids.SHA256, oids.RSA_SHA1), (oids.SHA256, oids.ECDSA_SHA512), (oids.SHA256, oids.MGF1)],
)
def test_weak_mixed_and_unknown_algorithms_are_not_accepted(digest: bytes, scheme: bytes) -> None:
    assert (
        refusal(signed_data(signer_info(clerk(), CONTENT, HONEST, digest=digest, scheme=scheme))).code
        == "cms.unsupported"
    )


def test_an_algorithm_that_does_not_fit_the_key_proves_nothing() -> None:
    ours = signer_info(clerk(), CONTENT, HONEST, scheme=oids.ECDSA_SHA256)
    assert refusal(signed_data(ours)).pointer == "/signature"


def test_the_full_name_of_the_algorithm_is_understood() -> None:
    found = verified(signed_data(signer_info(clerk(), CONTENT, HONEST, scheme=oids.RSA_SHA256)))
    assert found.signers == (clerk().certificate,)


def test_what_nobody_signed_may_stand_behind_but_nothing_else() -> None:
    unsigned = element(context_tag(1), attribute(oids.SIGNING_TIME, oids.DATA))
    found = verified(signed_data(signer_info(clerk(), CONTENT, HONEST, behind=unsigned)))
    assert found.signers == (clerk().certificate,)
    assert refusal(signed_data(signer_info(clerk(), CONTENT, HONEST, behind=unsigned * 2))).code == "cms.malformed"


def test_a_certificate_counts_only_while_it_is_valid() -> None:
    signed = sign([CONTENT], [clerk()], signed_at=SIGNED_AT)
    assert verify(signed, [CONTENT], [clerk().certificate], at=SIGNED_AT).signers
    for at in (FROM - timedelta(seconds=1), UNTIL + timedelta(seconds=1)):
        assert refusal(signed, CONTENT, clerk(), at=at).pointer == "/signers"


def test_a_renewed_certificate_with_the_same_key_counts_when_the_old_one_is_over() -> None:
    """Both are named by the identifier of their key; the one that is valid is told."""
    old = identity("Clerk", clerk().key, serial=8, until=datetime(2021, 1, 1, tzinfo=UTC))
    mark = element(context_tag(0, constructed=False), marks_of(old.certificate).key_identifier)
    signed = signed_data(signer_info(clerk(), CONTENT, HONEST, mark=mark))
    trusted = [old.certificate, clerk().certificate]
    assert verify(signed, [CONTENT], trusted, at=SIGNED_AT).signers == (clerk().certificate,)


def test_the_chain_goes_with_the_signature_once() -> None:
    signer = Identity(
        certificate=clerk().certificate, key=clerk().key, chain=(partner().certificate, clerk().certificate)
    )
    signed = sign([CONTENT], [signer, notary()], signed_at=None)
    for one in (clerk(), partner(), notary()):
        assert signed.count(marks_of(one.certificate).der) == 1
    assert refusal(signed, CONTENT, partner()).pointer == "/signers"  # who vouches has not signed


@pytest.mark.parametrize(
    ("year", "written"), [(2026, b"\x17\x0d261116093000Z"), (2050, b"\x18\x0f20501116093000Z"), (1949, b"\x18\x0f1949")]
)
def test_the_time_of_signing_is_written_as_the_standard_wants_it(year: int, written: bytes) -> None:
    assert written in sign([CONTENT], [clerk()], signed_at=SIGNED_AT.replace(year=year))


def test_more_signers_than_anybody_has_are_refused() -> None:
    signed = signed_data(*[signer_info(clerk(), CONTENT)] * 65)
    assert refusal(signed).code == "cms.too-complex"


def test_signing_without_signers_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="at least one signer"):
        sign([CONTENT], [], signed_at=None)


def test_unknown_digests_and_short_keys_are_refused_where_they_are_asked_for() -> None:
    with pytest.raises(Refused, match="sha256"):
        sign([CONTENT], [clerk()], digest="md5", signed_at=None)
    short = identity("Short", rsa.generate_private_key(public_exponent=65537, key_size=1024))
    with pytest.raises(Refused, match="longer key"):
        sign([CONTENT], [short], digest="sha512", signed_at=None, pss=True)


def test_cut_messages_are_refused() -> None:
    signed = sign([CONTENT], [clerk()], detached=False, signed_at=SIGNED_AT)
    in_ber = as_ber(signed, 50)
    for message in (signed, in_ber):
        for length in range(len(message)):
            assert refusal(message[:length], None).code == "cms.malformed"

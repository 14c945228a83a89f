"""The table of refusal codes: each code with its HTTP status and title.

Codes are stable: clients branch on them, the documentation has a section for each (a test checks that), and every dialect turns
the same code into its own kind of response. A code is never reused for another meaning.
"""

from __future__ import annotations

from typing import NamedTuple


class RefusalCode(NamedTuple):
    status: int
    title: str


REFUSALS: dict[str, RefusalCode] = {
    # the wire
    "wire.malformed": RefusalCode(400, "The message could not be read"),
    "wire.unsupported": RefusalCode(415, "Unsupported content type"),
    "wire.not-acceptable": RefusalCode(406, "The response is not available in the requested format"),
    "wire.too-large": RefusalCode(413, "The message is larger than allowed"),
    "wire.too-complex": RefusalCode(413, "The message has more elements, parts or depth than allowed"),
    "wire.forbidden-markup": RefusalCode(
        400, "The XML contains a construct that is not allowed (DTD, entity, processing instruction)"
    ),
    # signed, encrypted or compressed messages (CMS, in S/MIME and AS2)
    "cms.malformed": RefusalCode(400, "The signed, encrypted or compressed message could not be read"),
    "cms.unsupported": RefusalCode(422, "The message is signed, encrypted or compressed in a way that is not accepted"),
    "cms.decryption-failed": RefusalCode(422, "The message cannot be decrypted"),
    "cms.signature-invalid": RefusalCode(422, "Signature verification failed"),
    "cms.decompression-failed": RefusalCode(422, "The compressed content cannot be decompressed"),
    "cms.too-large": RefusalCode(413, "The decompressed content is larger than allowed"),
    "cms.too-complex": RefusalCode(413, "The message has more elements, signers, recipients or depth than allowed"),
    # AS2; core/codecs/as2/dispositions.py has what is reported to a partner
    "as2.malformed": RefusalCode(400, "The AS2 message could not be read"),
    "as2.partner-unknown": RefusalCode(403, "Sender and recipient have no AS2 partnership"),
    "as2.decryption-failed": RefusalCode(422, "The AS2 message cannot be decrypted"),
    "as2.authentication-failed": RefusalCode(422, "The AS2 message is not signed by its sender"),
    "as2.integrity-check-failed": RefusalCode(422, "The AS2 message differs from what its sender signed"),
    "as2.decompression-failed": RefusalCode(422, "The AS2 message cannot be decompressed"),
    "as2.insufficient-security": RefusalCode(403, "The AS2 message lacks the agreed signature or encryption"),
    "as2.message-id-reused": RefusalCode(409, "The AS2 Message-ID has been used by another message"),
    "as2.unsupported-format": RefusalCode(415, "The structure of the AS2 message is not supported"),
    "as2.unsupported-mic-algorithms": RefusalCode(422, "The requested digest of the MDN is not supported"),
    "as2.receipt-address": RefusalCode(403, "The MDN is requested at an address that was not agreed"),
    "as2.unexpected-processing-error": RefusalCode(
        500, "The network could not process the AS2 message; its sender made no error"
    ),
    # admission
    "sender.mismatch": RefusalCode(403, "From is not the authenticated sender"),
    "sender.unknown": RefusalCode(403, "From is not a service of the authenticated organization"),
    "recipient.missing": RefusalCode(422, "The message names no recipient"),
    "recipient.too-many": RefusalCode(422, "The message names more recipients than allowed"),
    "recipient.unknown": RefusalCode(422, "The recipient does not exist"),
    "recipient.not-allowed": RefusalCode(422, "This sender may not send to that recipient"),
    "recipient.not-provisioned": RefusalCode(422, "The recipient is not connected with its provider"),
    "recipient.suspended": RefusalCode(422, "The recipient is suspended"),
    "recipient.full": RefusalCode(503, "Too many messages wait for the recipient"),
    "sender.suspended": RefusalCode(403, "The sender is suspended"),
    "service.suspended": RefusalCode(403, "The service is suspended"),
    "registration.closed": RefusalCode(403, "Registration is closed"),
    "registration.pending": RefusalCode(403, "The organization awaits approval"),
    "message.duplicate": RefusalCode(409, "This handle has been posted before"),
    "message.expired": RefusalCode(422, "The message has already expired"),
    "message.incomplete": RefusalCode(422, "The message lacks a field that its type requires"),
    "message.unexpected-field": RefusalCode(422, "The message has a field that its type does not allow"),
    "reference.invalid": RefusalCode(422, "The reference does not name a message that this service received"),
    "reference.notification": RefusalCode(422, "A notification expects no response"),
    "reference.answered": RefusalCode(409, "The referenced delivery has already been answered"),
    "reference.not-delivered": RefusalCode(422, "The referenced message has not been delivered to this service"),
    "route.invalid": RefusalCode(422, "The message's route is not valid"),
    "route.too-long": RefusalCode(422, "The message's route has more services than allowed"),
    "route.loop": RefusalCode(422, "The message's route is a loop"),
    "route.too-deep": RefusalCode(422, "Services insert each other deeper than allowed"),
    "document.read-only": RefusalCode(403, "The sender does not allow this service to change that document"),
    "cancel.too-late": RefusalCode(409, "The message can no longer be cancelled"),
    "policy.transport": RefusalCode(403, "A service's security policy requires a more secure connection"),
    "policy.authentication": RefusalCode(403, "A service's security policy requires stronger authentication"),
    "idempotency.mismatch": RefusalCode(422, "This Idempotency-Key was used with another message"),
    "idempotency.invalid": RefusalCode(400, "The Idempotency-Key is not valid"),
    # deliveries
    "token.unknown": RefusalCode(404, "No such delivery"),
    "delivery.over": RefusalCode(409, "The delivery has already ended"),
    "dead-letter.dealt": RefusalCode(409, "The dead letter has already been resent or dropped"),
    "selector.invalid": RefusalCode(422, "The poll's selector is not valid"),
    # authentication and permissions
    "authentication.required": RefusalCode(401, "Credentials are missing or wrong"),
    "authentication.throttled": RefusalCode(429, "Too many failed attempts"),
    "permission.denied": RefusalCode(403, "These credentials do not allow that"),
    # directory and configuration
    "name.invalid": RefusalCode(422, "The name is not allowed"),
    "name.taken": RefusalCode(409, "The name is already in use"),
    "value.invalid": RefusalCode(422, "A value is not valid"),
    "certificate.expired": RefusalCode(422, "The certificate is no longer valid"),
    "certificate.unproven": RefusalCode(422, "Possession of the certificate's private key is not proven"),
    "rule.invalid": RefusalCode(422, "The rule is not valid"),
    "schema.invalid": RefusalCode(422, "The schema cannot be read"),
    "not-found": RefusalCode(404, "Not found, or not visible to you"),
    "method.not-allowed": RefusalCode(405, "This method is not allowed here"),
    "body.dropped": RefusalCode(410, "The body is no longer stored"),
    "version.required": RefusalCode(428, "If-Match with the version to change is required"),
    "version.conflict": RefusalCode(412, "The object has been changed since you read it"),
    "configuration.conflict": RefusalCode(409, "The configuration contradicts itself or what exists"),
    "cursor.invalid": RefusalCode(400, "The cursor is not valid"),
    # stored secrets
    "secrets.unavailable": RefusalCode(501, "The network stores no secrets"),
    "secrets.too-many": RefusalCode(409, "The organization has too many secrets"),
    "secrets.rotating": RefusalCode(409, "A rotation of the token key is in progress"),
    # provisioning and cookies
    "provisioning.not-offered": RefusalCode(422, "This service does not offer account linking"),
    "provisioning.active": RefusalCode(409, "The service is already connected"),
    "provisioning.invalid": RefusalCode(403, "No provisioning waits for this confirmation"),
    "provisioning.expired": RefusalCode(410, "The provisioning was not confirmed in time"),
    "provisioning.unknown": RefusalCode(404, "The provisioning does not exist"),
    "provisioning.return-path": RefusalCode(422, "The return path leads away from this network"),
    "cookie.invalid": RefusalCode(422, "The cookie is not valid"),
    # stylesheets
    "stylesheet.invalid": RefusalCode(422, "The stylesheet does not compile"),
    "transform.failed": RefusalCode(422, "The stylesheet failed on this document"),
    "transform.timeout": RefusalCode(422, "The stylesheet ran too long"),
    "transform.memory": RefusalCode(422, "The stylesheet needed too much memory"),
    "transform.output-too-large": RefusalCode(422, "The stylesheet's output is too large"),
    "transform.suspended": RefusalCode(422, "The stylesheet is temporarily suspended"),
    # validation
    "document.invalid": RefusalCode(422, "The document is not valid against its schema"),
    "validation.failed": RefusalCode(422, "The document could not be validated"),
    "validation.timeout": RefusalCode(422, "Validation took too long"),
    "validation.memory": RefusalCode(422, "Validation needed too much memory"),
    "validation.suspended": RefusalCode(422, "The schema is temporarily suspended"),
    # exchanges
    "query.invalid": RefusalCode(422, "The query does not compile"),
    "script.invalid": RefusalCode(422, "The script is not valid"),
    "routing.unknown": RefusalCode(422, "No routing with this name is installed"),
    "binding.too-many": RefusalCode(422, "There are too many bindings"),
    # interchanges: many documents in one stream
    "interchange.malformed": RefusalCode(422, "The interchange cannot be split"),
    "interchange.unfit": RefusalCode(422, "The message does not fit into the interchange"),
    "interchange.duplicate": RefusalCode(409, "Duplicate interchange"),
    "batching.invalid": RefusalCode(422, "The send port or splitter is not valid"),
    "batch.state": RefusalCode(409, "The batch's state does not allow this"),
    "batch.request": RefusalCode(422, "A batcher accepts only notifications"),
    # hosted services: the status of their responses
    "rejected": RefusalCode(422, "The message was rejected by a filter"),
    "lookup.missing": RefusalCode(422, "The table does not contain the value"),
    "crossreference.missing": RefusalCode(422, "The map has no related value"),
    "crossreference.ambiguous": RefusalCode(422, "The map has several related values"),
    "service.failed": RefusalCode(500, "A hosted service failed on the message"),
    # limits and state of the network
    "rate.exceeded": RefusalCode(429, "Too many requests"),
    "mail.unavailable": RefusalCode(409, "The network sends no e-mail"),
    "link.expired": RefusalCode(401, "The link has been used or has expired"),
    "notification.failed": RefusalCode(502, "The notification could not be sent"),
    "support.too-many": RefusalCode(409, "The organization has too many open support requests"),
    "limit.storage": RefusalCode(507, "Too many of the sender's messages still wait for delivery"),
    "storage.full": RefusalCode(507, "The network's storage is nearly full"),
    "storage.failed": RefusalCode(503, "The network's storage does not accept writes"),
    "storage.damaged": RefusalCode(500, "Stored data is damaged"),
    "network.busy": RefusalCode(503, "The network is too busy"),
    "network.level-not-readable": RefusalCode(409, "A node cannot read this network level"),
    "network.level-too-low": RefusalCode(409, "The network's level does not allow this yet"),
    "network.unavailable": RefusalCode(503, "The network is temporarily unavailable"),
    "billing.not-counted": RefusalCode(409, "The warehouse has not counted this yet"),
    "warehouse.busy": RefusalCode(503, "Another job is writing the warehouse"),
    "warehouse.failed": RefusalCode(500, "A job of the warehouse failed"),
    "request.malformed": RefusalCode(400, "The HTTP request is not valid"),
    "request.timeout": RefusalCode(408, "The request took too long to arrive"),
    "request.header-too-large": RefusalCode(431, "The request's headers are too large"),
    "request.target-too-long": RefusalCode(414, "The request's target is too long"),
    "request.not-implemented": RefusalCode(501, "The server does not support this"),
    "internal": RefusalCode(500, "Internal error"),
}


def status_of(code: str) -> int:
    return REFUSALS[code].status

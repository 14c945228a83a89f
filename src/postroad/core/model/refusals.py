"""The table of refusal codes: each code with its HTTP status and title.

Codes are stable: clients branch on them, the documentation has a section for each (a test checks that), and every dialect turns
the same code into its own kind of answer. A code is never reused for another meaning.
"""

from __future__ import annotations

from typing import NamedTuple


class RefusalCode(NamedTuple):
    status: int
    title: str


REFUSALS: dict[str, RefusalCode] = {
    # the wire
    "wire.malformed": RefusalCode(400, "The message could not be read"),
    "wire.unsupported": RefusalCode(415, "This content type is not accepted here"),
    "wire.not-acceptable": RefusalCode(406, "The answer cannot be given in the form that was asked for"),
    "wire.too-large": RefusalCode(413, "The message is larger than allowed"),
    "wire.too-complex": RefusalCode(413, "The message has more elements, parts or depth than allowed"),
    "wire.forbidden-markup": RefusalCode(
        400, "The XML contains a construct that is not allowed (DTD, entity, processing instruction)"
    ),
    # messages that are signed, encrypted or compressed (CMS, as S/MIME and AS2 carry them)
    "cms.malformed": RefusalCode(400, "The signed, encrypted or compressed message could not be read"),
    "cms.unsupported": RefusalCode(422, "The message is signed, encrypted or compressed in a way that is not accepted"),
    "cms.decryption-failed": RefusalCode(422, "The message cannot be decrypted"),
    "cms.signature-invalid": RefusalCode(422, "The signature does not hold"),
    "cms.decompression-failed": RefusalCode(422, "The compressed content cannot be unpacked"),
    "cms.too-large": RefusalCode(413, "The content is larger than allowed once unpacked"),
    "cms.too-complex": RefusalCode(413, "The message has more elements, signers, recipients or depth than allowed"),
    # AS2; core/codecs/as2/dispositions.py has what a partner is told
    "as2.malformed": RefusalCode(400, "This is not a readable AS2 message"),
    "as2.partner-unknown": RefusalCode(403, "Sender and recipient have no AS2 agreement"),
    "as2.decryption-failed": RefusalCode(422, "The AS2 message cannot be decrypted"),
    "as2.authentication-failed": RefusalCode(422, "The AS2 message is not signed by its sender"),
    "as2.integrity-check-failed": RefusalCode(422, "The AS2 message is not what its sender signed"),
    "as2.decompression-failed": RefusalCode(422, "The AS2 message cannot be unpacked"),
    "as2.insufficient-security": RefusalCode(
        403, "The AS2 message lacks the signature or encryption that was agreed on"
    ),
    "as2.message-id-reused": RefusalCode(409, "Another AS2 message came under this Message-ID before"),
    "as2.unsupported-format": RefusalCode(415, "The AS2 message is made in a way that is not supported"),
    "as2.unsupported-mic-algorithms": RefusalCode(422, "The receipt is asked for with a digest that is not supported"),
    "as2.receipt-address": RefusalCode(403, "The receipt is asked for at an address that was not agreed on"),
    "as2.unexpected-processing-error": RefusalCode(
        500, "The network could not process the AS2 message; its sender made no error"
    ),
    # admission
    "sender.mismatch": RefusalCode(403, "From is not the authenticated poster"),
    "sender.unknown": RefusalCode(403, "From does not name a service of the poster"),
    "recipient.missing": RefusalCode(422, "The message names no recipient"),
    "recipient.too-many": RefusalCode(422, "The message names more recipients than allowed"),
    "recipient.unknown": RefusalCode(422, "No such recipient"),
    "recipient.not-allowed": RefusalCode(422, "This sender may not send to that recipient"),
    "recipient.not-provisioned": RefusalCode(422, "The recipient is not connected with its provider"),
    "recipient.suspended": RefusalCode(422, "The recipient is suspended"),
    "sender.suspended": RefusalCode(403, "The sender is suspended"),
    "service.suspended": RefusalCode(403, "The service is suspended"),
    "registration.closed": RefusalCode(403, "Registration is closed"),
    "registration.pending": RefusalCode(403, "The organization awaits approval"),
    "message.duplicate": RefusalCode(409, "This handle has been posted before"),
    "message.expired": RefusalCode(422, "The message has already expired"),
    "message.incomplete": RefusalCode(422, "The message lacks something that its type requires"),
    "message.unexpected-field": RefusalCode(422, "The message has something that its type does not allow"),
    "reference.invalid": RefusalCode(422, "The reference does not name a message that this service received"),
    "reference.notification": RefusalCode(422, "A notification expects no response"),
    "reference.answered": RefusalCode(409, "The referenced delivery has already been answered"),
    "reference.not-delivered": RefusalCode(422, "The referenced message has not been handed to this service"),
    "route.invalid": RefusalCode(422, "The message's route is not valid"),
    "route.too-long": RefusalCode(422, "The message's route has more services than allowed"),
    "route.loop": RefusalCode(422, "The message's route runs in a circle"),
    "route.too-deep": RefusalCode(422, "Services include each other deeper than allowed"),
    "document.read-only": RefusalCode(403, "The sender does not allow this service to change that document"),
    "cancel.too-late": RefusalCode(409, "The message can no longer be withdrawn"),
    "policy.transport": RefusalCode(403, "A service's security policy asks for a safer connection"),
    "policy.authentication": RefusalCode(403, "A service's security policy asks for stronger authentication"),
    "idempotency.mismatch": RefusalCode(422, "This Idempotency-Key was used with another message"),
    "idempotency.invalid": RefusalCode(400, "The Idempotency-Key is not valid"),
    # deliveries
    "token.unknown": RefusalCode(404, "No such delivery"),
    "delivery.over": RefusalCode(409, "The delivery has come to its end"),
    "dead-letter.dealt": RefusalCode(409, "The dead letter has been dealt with already"),
    "selector.invalid": RefusalCode(422, "The poll's selector is not valid"),
    # who is asking
    "authentication.required": RefusalCode(401, "Credentials are missing or wrong"),
    "authentication.throttled": RefusalCode(429, "Too many failed attempts"),
    "permission.denied": RefusalCode(403, "These credentials do not allow that"),
    # directory and configuration
    "name.invalid": RefusalCode(422, "The name is not allowed"),
    "name.taken": RefusalCode(409, "The name is already in use"),
    "value.invalid": RefusalCode(422, "A value is not valid"),
    "certificate.expired": RefusalCode(422, "The certificate is no longer valid"),
    "certificate.unproven": RefusalCode(422, "It is not proven that you have the certificate's key"),
    "rule.invalid": RefusalCode(422, "The rule cannot be used as it is written"),
    "schema.invalid": RefusalCode(422, "The schema cannot be read"),
    "not-found": RefusalCode(404, "There is nothing here, or nothing that you may see"),
    "method.not-allowed": RefusalCode(405, "This method is not allowed here"),
    "body.dropped": RefusalCode(410, "The body is no longer kept"),
    "version.required": RefusalCode(428, "Say which version you are changing with If-Match"),
    "version.conflict": RefusalCode(412, "The object has been changed since you read it"),
    "configuration.conflict": RefusalCode(409, "The configuration contradicts itself or what exists"),
    "cursor.invalid": RefusalCode(400, "The cursor is not valid"),
    # provisioning and cookies
    "provisioning.not-offered": RefusalCode(422, "This service is not provisioned"),
    "provisioning.active": RefusalCode(409, "The service is connected already"),
    "provisioning.invalid": RefusalCode(403, "No provisioning waits for this confirmation"),
    "provisioning.expired": RefusalCode(410, "The provisioning was not confirmed in time"),
    "provisioning.unknown": RefusalCode(404, "There is no such provisioning"),
    "provisioning.return-path": RefusalCode(422, "The return path leads away from this network"),
    "cookie.invalid": RefusalCode(422, "The cookie is not valid"),
    # stylesheets
    "stylesheet.invalid": RefusalCode(422, "The stylesheet does not compile"),
    "transform.failed": RefusalCode(422, "The stylesheet failed on this document"),
    "transform.timeout": RefusalCode(422, "The stylesheet ran too long"),
    "transform.memory": RefusalCode(422, "The stylesheet needed too much memory"),
    "transform.output-too-large": RefusalCode(422, "The stylesheet made too much output"),
    "transform.suspended": RefusalCode(422, "The stylesheet is suspended for a while"),
    # validation
    "document.invalid": RefusalCode(422, "The document is not valid by its schema"),
    "validation.failed": RefusalCode(422, "The document could not be judged by its schema"),
    "validation.timeout": RefusalCode(422, "Validation took too long"),
    "validation.memory": RefusalCode(422, "Validation needed too much memory"),
    "validation.suspended": RefusalCode(422, "The schema is suspended for a while"),
    # exchanges
    "query.invalid": RefusalCode(422, "The query does not compile"),
    "script.invalid": RefusalCode(422, "The script cannot be used"),
    "routing.unknown": RefusalCode(422, "No routing with this name is installed"),
    "binding.too-many": RefusalCode(422, "There are too many bindings"),
    # interchanges: many documents in one stream
    "interchange.malformed": RefusalCode(422, "The interchange cannot be taken apart"),
    "interchange.unfit": RefusalCode(422, "Something does not fit into the interchange"),
    "interchange.duplicate": RefusalCode(409, "The interchange came before"),
    "batching.invalid": RefusalCode(422, "The send port or splitter cannot be used as it is written"),
    "batch.state": RefusalCode(409, "The batch is not in a state in which that can be done"),
    "batch.request": RefusalCode(422, "A batcher gathers notifications, and answers nothing"),
    # hosted services: the status of what they answer
    "rejected": RefusalCode(422, "A filter let the message not pass"),
    "lookup.missing": RefusalCode(422, "The table does not know the value"),
    "crossreference.missing": RefusalCode(422, "Nothing is related to the value"),
    "crossreference.ambiguous": RefusalCode(422, "Several records are related to the value"),
    "service.failed": RefusalCode(500, "A hosted service failed on the message"),
    # limits and state of the network
    "rate.exceeded": RefusalCode(429, "Too many requests"),
    "support.too-many": RefusalCode(409, "The organization has too many open support requests"),
    "limit.storage": RefusalCode(507, "Too much of what the sender posted still waits to be delivered"),
    "storage.full": RefusalCode(507, "The network's storage is nearly full"),
    "storage.failed": RefusalCode(503, "The network's storage does not take writes"),
    "storage.damaged": RefusalCode(500, "Something stored cannot be read back"),
    "network.busy": RefusalCode(503, "The network is too busy"),
    "network.unavailable": RefusalCode(503, "The network cannot do this now"),
    "billing.not-counted": RefusalCode(409, "The warehouse has not counted this yet"),
    "warehouse.busy": RefusalCode(503, "Another job is writing the warehouse"),
    "warehouse.failed": RefusalCode(500, "A job of the warehouse failed"),
    "request.malformed": RefusalCode(400, "The HTTP request is not valid"),
    "request.timeout": RefusalCode(408, "The request took too long to arrive"),
    "request.header-too-large": RefusalCode(431, "The request's headers are too large"),
    "request.target-too-long": RefusalCode(414, "The request's target is too long"),
    "request.not-implemented": RefusalCode(501, "The server does not support this"),
    "internal": RefusalCode(500, "Something went wrong on our side"),
}


def status_of(code: str) -> int:
    return REFUSALS[code].status

"""Path converters for services, messages and their children, so that every path has one meaning.

A service is named by its GCID, or by its address with an unescaped slash. A service whose name is one of the words
that follow a service in a path can be named only by its GCID.
"""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor

FOLLOWING = "versions|suspension|credentials|rules|assets|cookies|inspection|bindings|release|model|push|secrets"


class ServiceName(Convertor[str]):
    regex = rf"[^/]+/(?!(?:{FOLLOWING})(?:/|$))[^/]+|[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


class SessionName(ServiceName):
    regex = "(?!bulk$)[^/]+"


class BindingName(ServiceName):
    regex = "(?!try$)[^/]+"


class DeliveryName(ServiceName):
    regex = "(?!(?:groups|resend|drop)$)[^/]+"


register_url_convertor("service", ServiceName())
register_url_convertor("binding", BindingName())
register_url_convertor("delivery", DeliveryName())
register_url_convertor("session", SessionName())

SERVICE = "/v1/services/{service:service}"
SESSION = "/v1/messages/{session:session}"
LETTERS = "/v1/dead-letters"
LETTER = LETTERS + "/{delivery:delivery}"

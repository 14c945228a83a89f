"""How a service is named in a path: by GCID, or by its address with the slash as it is."""

from __future__ import annotations

from starlette.convertors import Convertor, register_url_convertor


class ServiceName(Convertor[str]):
    regex = "[0-9a-f]{16}|[^/]+/[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("service", ServiceName())

SERVICE = "/v1/services/{service:service}"

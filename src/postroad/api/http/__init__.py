"""The guarded HTTP front: our own HTTP/1.1 server, for the message endpoints and for everything else.

The terms, in the order in which a request meets them:

    Head        a complete request line with headers, checked or refused (``head``)
    Framing     where the body ends: counted or chunked (``framing``)
    Fast route  an endpoint served without a framework (``request``, ``fast_calls``)
    Exchange    a request handed to the ASGI application instead (``asgi``)
    Incoming    a request whose body is still arriving, for either of them (``incoming_request``)
    Outbox      the responses of one connection, in the order of its requests (``outbox``)
    Capacity    what all connections share: connections, and bytes of bodies (``capacity``)
    Connection  the protocol that drives all of them (``protocol``)
    Server      the listening socket, the timer and the shutdown (``server``)

Rule: nothing that a client sends or fails to send costs more than ``HttpLimits`` allows. Input that is not
unambiguous is refused and the connection closed.
"""

from postroad.api.http.limits import HttpLimits
from postroad.api.http.proxy import TrustedProxies
from postroad.api.http.request import FastHandler, FastReply, FastRequest, FastRoute
from postroad.api.http.server import HttpServer
from postroad.api.http.tls import TlsFront

__all__ = [
    "FastHandler",
    "FastReply",
    "FastRequest",
    "FastRoute",
    "HttpLimits",
    "HttpServer",
    "TlsFront",
    "TrustedProxies",
]

"""Outgoing HTTP: requests to servers whose addresses members have configured.

    URL ─Destination.of─▶ host ─Resolver, once─▶ addresses ─Permission─▶ checked address ─▶ PushConnection ─▶ ResponseReader

Rule: a connection is opened only to an address that was checked, and a name is never resolved again between the check
and the connection. Redirects are not followed, proxies are not taken from the environment, cookies are not stored,
and every response has a limit and a deadline.
"""

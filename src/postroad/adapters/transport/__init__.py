"""Outgoing HTTP: requests to servers whose addresses members have configured.

    URL ──Destination.of──▶ host ──Resolver, once──▶ addresses ──Permission──▶ the checked address ──▶ Connection ──▶ AnswerReader

Rule: a connection is opened only to an address that was checked, and a name is never resolved again between the check
and the connection. Nothing is followed (redirects), nothing is taken from the environment (proxies), nothing is remembered
(cookies), and whatever comes back has a limit and a deadline.
"""

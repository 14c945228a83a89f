"""The web console: all pages for people, served by the network itself.

    browser ──▶ guarding (who, how often, from which site) ──▶ pages/… (ask the flow) ──▶ rendering (template, policy) ──▶ HTML

Words: a *page* shows, a *form* changes; a *visit* is a login of one browser, which is one of the person's keys in a cookie. Kept
rules: a page asks and changes only through ``flow.administration`` and the like, as the JSON resources do, so it can show nothing
that these would not; every text of others is escaped by the templates; nothing runs that was not shipped with the wheel, and
nothing is loaded from anywhere else; every page but the live ones works without scripts.
"""

from postroad.console.application import console

__all__ = ["console"]

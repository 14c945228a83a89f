"""The web console: all pages for people, served by the network itself.

    browser ─▶ page_guards (who, how often, from which site) ─▶ pages/… (call the flow) ─▶ rendering (template, policy) ─▶ HTML

Terms: a *page* shows, a *form* changes; a *browser session* is a login of one browser, which is a key of the person in a
cookie. Rules: a page reads and changes only through ``flow.administration`` and the like, as the JSON resources do, so it can
show nothing that these would not. Templates escape every text of others. Only code that was shipped with the wheel runs, and
nothing is loaded from elsewhere. Every page except the live ones works without scripts.
"""

from postroad.console.application import console

__all__ = ["console"]

"""The settings with which Saxon is locked, all of them before anything is parsed.

Rule: a setting that Saxon does not accept stops the worker's start. No single setting is enough: ``allowedProtocols``
prevents reading but not writing, prevents external entities only until the first parse, and is lost by a
``transform()`` with its own configuration. So the process is confined, too.
"""

from __future__ import annotations

from postroad.adapters.saxon.frames import Setting

_FEATURE = "http://saxon.sf.net/feature/"

SETTINGS: tuple[Setting, ...] = (
    # No document type declaration: no entities, internal or external, in whatever is parsed.
    (f"{_FEATURE}parserFeature?uri=http%3A//apache.org/xml/features/disallow-doctype-decl", "true"),
    # No address can be read: doc(), unparsed-text(), collection(), include, import.
    (f"{_FEATURE}allowedProtocols", ""),
    # No extension functions, no environment variables, and nothing written by xsl:result-document.
    (f"{_FEATURE}allow-external-functions", "false"),
    # A runaway regular expression gives up after about a second instead of costing the worker its life.
    (f"{_FEATURE}regexBacktrackingLimit", "1000000"),
)

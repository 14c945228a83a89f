"""Validation in confined processes, used through ``workers.ValidationWorkers``.

Schemas and documents both come from untrusted authors, and schema compilers were not made for that. So they run like
stylesheets: the pool, the worker and the confinement are those of ``adapters.confined``. In the process,
``schema_cache`` answers the calls and keeps compiled schemas, and a *judge* (``xml_judges``, ``json_judge``)
returns the errors of a document.
"""

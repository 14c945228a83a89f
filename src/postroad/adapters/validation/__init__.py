"""Validation in confined processes, used through ``workers.ValidationWorkers``.

Schemas and documents both come from untrusted authors, and schema compilers were not made for that. So they run like
stylesheets: the pool, the worker and the confinement are those of ``adapters.confined``. In the process,
``worker_main`` reads *calls*, ``schema_cache`` keeps compiled schemas, and a *judge* (``xml_judges``, ``json_judge``)
returns the errors of a document.
"""

"""Validation in processes that can be killed and can reach nothing: ``workers.ValidationWorkers`` is the door.

Schemas and documents are both written by strangers, and compilers of schemas were not made for that. So they run as stylesheets
do: the pool, the worker and the walls are those of ``adapters.confined``. In the process, ``worker_main`` reads *calls*, the
``bench`` keeps compiled schemas, and a *judge* (``xml_judges``, ``json_judge``) says what is wrong with a document.
"""

"""XML wrappers: many XML documents as child elements of one.

    plain       elements of a root of one's own
    iso20022    payloads of a business file (head.002 Xchg), or the one document of an envelope (nvlp.001 BizMsgEnvlp)
    gs1         documents of one type in a GS1 message, or any in a StandardBusinessDocument, after a header (SBDH)

Each has ``examine``, ``split`` and ``assemble``. ``outline.py`` finds elements in the bytes, ``writing.py`` writes what stands
around them. Rules: a document's root is spliced in byte by byte, in UTF-8, without what stands before or after it; the
wrapper takes no default namespace, which documents without one would fall into.
"""

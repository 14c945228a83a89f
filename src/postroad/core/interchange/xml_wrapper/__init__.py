"""XML wrappers: many XML documents as child elements of one.

    plain       child elements of a root element that the user defines
    iso20022    payloads of a business file (head.002 Xchg), or the one document of an envelope (nvlp.001 BizMsgEnvlp)
    gs1         documents of one type in a GS1 message, or any in a StandardBusinessDocument, after a header (SBDH)

Each has ``examine``, ``split`` and ``assemble``. ``outline.py`` finds elements in the bytes, ``markup.py`` writes the markup
around them. Rules: only the root element of a document is copied, byte by byte, in UTF-8, without prolog and epilog. The
wrapper declares no default namespace, because documents without a namespace would inherit it.
"""

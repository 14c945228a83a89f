"""Business documents inside messages: detects their kind from their bytes, with the XML parser of the codecs."""

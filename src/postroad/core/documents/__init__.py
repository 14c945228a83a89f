"""Business documents inside messages: which kind they are, from their bytes. They stand on codecs for the one XML parser."""

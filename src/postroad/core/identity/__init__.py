"""Authentication: the format of keys, fingerprints, tokens and signatures, and how they are checked."""

"""How parties prove who they are: the shape of keys, fingerprints and the rules for who may use which proof."""

"""The built-in services of the network, each a small module behind one interface."""

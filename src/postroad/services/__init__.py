"""The services that come with the network, each a small module behind one interface."""

"""The parts of a configuration document as people write them, and their conversion to and from model objects."""

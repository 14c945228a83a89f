"""postroad: an open message interchange network.

Start in ``flow/__init__.py``, which describes the life of a message; ``ARCHITECTURE.md`` describes the packages.
"""

__version__ = "0.2.0"

"""postroad: an open message interchange network.

Start reading in ``flow/__init__.py``, which tells the story of one message; ``ARCHITECTURE.md`` has the map.
"""

__version__ = "0.2.0"

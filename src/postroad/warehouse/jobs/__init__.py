"""The jobs of ``postroad pipeline``. Each can be killed at any time and run again.

Each can be killed at any moment and run again.
"""

"""The jobs of ``postroad pipeline``. Each can be killed at any time and run again."""

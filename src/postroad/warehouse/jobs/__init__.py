"""Jobs: what ``postroad pipeline`` runs. Each can be killed at any moment and run again."""

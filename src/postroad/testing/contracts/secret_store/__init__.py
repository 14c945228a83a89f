"""The contract suite of secret stores."""

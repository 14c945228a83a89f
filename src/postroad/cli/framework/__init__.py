"""What all commands share: output, exit codes, the connection to a network, settings, stores and Spark sessions."""

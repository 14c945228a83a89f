"""The batch operation: assembles an archive into interchanges, by a send port's policy and to the server's bytes."""

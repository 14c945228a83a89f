"""The match operation: asks the bindings of an exchange about archived messages, with the server's own engines."""

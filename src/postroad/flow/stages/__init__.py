"""The stages of a message, one operation per module; they import nothing above them."""

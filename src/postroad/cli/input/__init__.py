"""Input of commands: messages, rules, configuration, archives and journal heads, read from files and options."""

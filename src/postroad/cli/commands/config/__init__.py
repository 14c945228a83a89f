"""Commands that change or show what a network is configured to do: services, rules, bindings, keys and limits."""

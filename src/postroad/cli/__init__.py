"""The command line: each command is a thin layer over the SDK or, on the network's own machine, the stores.

    framework   what all commands share: output, exit codes, the connection to a network, settings, stores, Spark
    input       messages, rules, configuration and archives, read from files and options
    views       values as text, tables and trees, one module for each kind of object
    commands    the commands: messages, config, operate, warehouse
    demo        the purchase-order demo
    main        the list of commands; reference prints the reference page

Rules: a command is imported only when it is used, so ``postroad --help`` answers at once. Every command has
``--json``. Exit codes are those of ``framework/exit_codes``. Work that can take more than two seconds shows its
progress.
"""

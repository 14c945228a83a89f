"""The command line: one command a file in ``commands``, each thin over the SDK or, on the network's own machine, the stores.

Kept rules: a command is imported only when it is used, so ``postroad --help`` answers at once; every command has ``--json``; exit
codes are those of ``exits``; anything that can take more than two seconds shows how far it has come.
"""

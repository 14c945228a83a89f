"""Configuration as code: what may stand in a configuration document, and what applying one would change.

The words: a **document** is the YAML or JSON that people write; a **profile** is the part of it that describes one service (the
API's resources are made of the same profiles, so both accept exactly the same); a **section** knows one kind of thing below an
organization (people, services with their credentials, rules and assets, and later bindings …); a **plan** is the list of changes
between a document and the directory. Planning is pure: fresh ids, stored secrets and the faults of assets are arguments.
"""

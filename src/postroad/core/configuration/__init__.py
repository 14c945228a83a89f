"""Configuration as code: what may stand in a configuration document, and what applying one would change.

Terms: a **document** is the YAML or JSON that people write. A **profile** is the part of it that describes one
service (the API's resources use the same profiles, so both accept exactly the same). A **section** handles one kind
of object below an organization (people, services with their credentials, rules and assets …). A **plan** is the list
of changes between a document and the directory. Planning is pure: fresh ids, stored secrets and the errors of assets
are arguments.
"""

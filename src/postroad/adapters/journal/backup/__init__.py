"""Backups of a journal: copied beside a running server, verified, and restored up to any entry.

A backup is a folder with segment files, whatever journal they were copied from, and ``backup.json``, which lists every file
with its SHA-256. Rule: ``backup.json`` is replaced last, so a run that ends at any moment leaves the previous backup, and
nothing that it lists is changed before.

    manifest        what backup.json contains            folder         the folder: locked, checked, committed
    segment_writer  one segment file of the backup       status         the last success, for metrics
    from_segments   copies segment files                 from_table     copies the PostgreSQL journal
    contents        reads a backup, up to an entry       verification   compares a backup with its manifest
    to_segments     restores into a data folder          to_table       restores into PostgreSQL
    secret_files    token secret, push secrets, keys
"""

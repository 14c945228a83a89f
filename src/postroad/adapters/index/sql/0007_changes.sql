-- Who changed what of the configuration, newest first, however much was ever changed.

-- both:
CREATE INDEX object_version_seq ON object_version (seq);

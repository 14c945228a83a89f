-- The last successful backup and verification of a shared network, and the time of its first backup: one document.

CREATE TABLE backup_status (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    document jsonb NOT NULL
);

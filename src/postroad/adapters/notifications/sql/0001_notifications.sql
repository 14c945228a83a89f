-- What notifications remember: one document.

CREATE TABLE notification_state (
    only boolean PRIMARY KEY DEFAULT true CHECK (only),
    document bytea NOT NULL
);

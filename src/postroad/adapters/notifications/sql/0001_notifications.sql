-- What notifications remember: one document.

CREATE TABLE notification_state (
    id smallint PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    document bytea NOT NULL
);

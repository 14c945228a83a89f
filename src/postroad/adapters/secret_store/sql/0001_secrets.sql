-- Sealed secrets and the keys that seal them. Everything here is useless without the master key.

CREATE TABLE secret_meta (
    name text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE secret_data_key (
    organization text PRIMARY KEY,  -- in lower case
    wrapped bytea NOT NULL  -- sealed with a master key
);

CREATE TABLE secret (
    organization text NOT NULL,  -- in lower case
    service text NOT NULL,  -- GCID; empty: for all services of the organization
    name text NOT NULL,  -- in lower case
    version bigint NOT NULL,
    digest text NOT NULL,  -- SHA-256 of the sealed bytes
    sealed bytea NOT NULL,  -- sealed with the organization's data key
    active smallint NOT NULL,  -- 0 until the journal has recorded the version
    staged_at_us bigint NOT NULL,
    PRIMARY KEY (organization, service, name, version)
);

CREATE TABLE token_key (
    id text PRIMARY KEY,
    wrapped bytea NOT NULL,  -- sealed with a master key; empty: the network's base key, which is not stored here
    added_at_us bigint NOT NULL,
    from_seq bigint,  -- the first journal entry whose deliveries get their tokens from this key; null: not used yet
    signs_at_us bigint,  -- when from_seq was chosen
    overlap_to_seq bigint  -- up to this entry the key before is accepted, too; null: not known yet
);

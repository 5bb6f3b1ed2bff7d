-- Tamper evidence: for each partition of the log a chain of hashes, and signed checkpoints of it.
CREATE SCHEMA seals;

-- The keys that have signed, one at a time: a projector with another key than the last does not start.
CREATE TABLE seals.keys (
  id text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  since timestamptz NOT NULL DEFAULT clock_timestamp(),
  retired_at timestamptz
);
CREATE UNIQUE INDEX ON seals.keys ((true)) WHERE retired_at IS NULL;

-- Where each chain stands.
CREATE TABLE seals.chains (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  partition smallint NOT NULL,
  log_id text NOT NULL,
  next_offset bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL,
  -- The fingerprints of the records that no checkpoint covers yet, and since when there are any.
  tail bytea NOT NULL DEFAULT '',
  tail_since timestamptz,
  UNIQUE (topic, partition)
) WITH (fillfactor = 50);

CREATE TABLE seals.checkpoints (
  chain_id integer NOT NULL REFERENCES seals.chains (id),
  next_offset bigint NOT NULL,
  hash bytea NOT NULL,
  -- Eight bytes of the chain's hash after each record since the checkpoint before: they tell which
  -- record is the first that is not as it was.
  fingerprints bytea NOT NULL,
  sealed_at timestamptz NOT NULL,
  key_id text COLLATE "C" NOT NULL REFERENCES seals.keys (id),
  signature bytea NOT NULL,
  PRIMARY KEY (chain_id, next_offset)
);
-- Hashes do not compress.
ALTER TABLE seals.checkpoints ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
ALTER TABLE seals.chains ALTER COLUMN tail SET STORAGE EXTERNAL;

-- Wrong passwords: working state, neither rebuilt nor verified; a row lives two minutes.
CREATE TABLE ledger.password_tries (
  code text COLLATE "C" NOT NULL,
  -- Keyed hash of code and client address: it tells nobody who it was, nor that two rows are of one.
  client bytea NOT NULL,
  -- Wrong tries with less than a minute between each and the next.
  wrong integer NOT NULL,
  last_wrong_at timestamptz NOT NULL,
  -- Tries that are being checked, and when those were given up that a dead process took with it.
  checking integer NOT NULL,
  checking_until timestamptz NOT NULL,
  touched_at timestamptz NOT NULL,
  PRIMARY KEY (code, client)
) WITH (fillfactor = 50);
CREATE INDEX password_tries_by_age ON ledger.password_tries (touched_at);

-- The key of those hashes: 244 random bits, made where all nodes find them.
CREATE TABLE ledger.client_hash_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key bytea NOT NULL
);
INSERT INTO ledger.client_hash_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- The key that signs the edges' copies of links in Redis: 244 random bits, where all edges find them.
CREATE TABLE ledger.copy_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key bytea NOT NULL
);
INSERT INTO ledger.copy_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

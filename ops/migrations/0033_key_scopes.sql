-- What a key may do, when it ends, and the keys that it descends from.
ALTER TABLE ledger.api_keys
  ADD COLUMN scopes text[] NOT NULL DEFAULT '{links:create,stats:read,qr:read}',
  ADD COLUMN expires_at timestamptz,
  -- Its root first; a root, which an operator made, has none.
  ADD COLUMN ancestors text[] NOT NULL DEFAULT '{}',
  ADD COLUMN root_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(ancestors[1], id)) STORED,
  -- The minute of its last call.
  ADD COLUMN last_used_at timestamptz,
  -- Null: that of its root.
  ALTER COLUMN plan DROP NOT NULL,
  DROP CONSTRAINT api_keys_status_check;
ALTER TABLE ledger.api_keys ALTER COLUMN scopes DROP DEFAULT, ALTER COLUMN ancestors DROP DEFAULT;
-- Nobody but operators switched keys off.
UPDATE ledger.api_keys SET status = 'suspended' WHERE status = 'inactive';
ALTER TABLE ledger.api_keys
  ADD CHECK (status IN ('active', 'inactive', 'suspended', 'revoked')),
  SET (fillfactor = 50);
CREATE INDEX api_keys_by_root ON ledger.api_keys (root_id, id) WHERE status <> 'revoked';
CREATE INDEX api_keys_by_account ON ledger.api_keys (account) WHERE status <> 'revoked';

-- A key that was rotated has several secrets for a while.
CREATE TABLE ledger.key_secrets (
  key_id text COLLATE "C" NOT NULL REFERENCES ledger.api_keys (id),
  -- SHA-256.
  hash bytea NOT NULL UNIQUE,
  -- Null: it does not end before the key does.
  ends_at timestamptz,
  PRIMARY KEY (key_id, hash)
);
INSERT INTO ledger.key_secrets (key_id, hash) SELECT id, hash FROM ledger.api_keys;
ALTER TABLE ledger.api_keys DROP COLUMN hash;

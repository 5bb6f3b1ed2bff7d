-- Sessions of the console. A token is kept as its SHA-256 alone.
CREATE TABLE ledger.console_sessions (
  token_hash bytea PRIMARY KEY,
  -- The only listener on which it is good.
  listener text NOT NULL CHECK (listener IN ('api', 'admin')),
  -- The secret with which it ends: the SHA-256 of a key's, or the HMAC of the admin token, whose key is the
  -- session's token, so that nobody can find the admin token by it.
  bound_to bytea NOT NULL,
  -- An operator's name.
  actor text CHECK ((actor IS NULL) = (listener = 'api')),
  began_at timestamptz NOT NULL,
  -- To the minute.
  used_at timestamptz NOT NULL
);
CREATE INDEX console_sessions_by_secret ON ledger.console_sessions (listener, bound_to);

-- One-time addresses of the console.
CREATE TABLE ledger.console_addresses (
  token_hash bytea PRIMARY KEY,
  -- SHA-256 of the secret of the key whose account it opens.
  secret_hash bytea NOT NULL,
  made_at timestamptz NOT NULL
);

-- People of an identity provider, and their roles.
CREATE TABLE ledger.people (
  id text COLLATE "C" PRIMARY KEY,
  issuer text NOT NULL,
  -- The `sub` at the provider.
  identity text NOT NULL,
  name text,
  email text,
  created_at timestamptz NOT NULL,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL,
  -- Working state: to the hour, and the account of the last session.
  last_seen_at timestamptz,
  last_account text COLLATE "C",
  UNIQUE (issuer, identity)
);

CREATE TABLE ledger.roles (
  person_id text COLLATE "C" NOT NULL,
  -- Empty: the installation.
  account text COLLATE "C" NOT NULL,
  role text NOT NULL,
  source text NOT NULL,
  added_at timestamptz NOT NULL,
  -- What a session of the person in the account is bound to, as that of a key to its secret. It is no secret: see
  -- ops/ledger/people.ts.
  hash bytea NOT NULL UNIQUE,
  PRIMARY KEY (account, person_id)
);
CREATE INDEX ON ledger.roles (person_id);

CREATE TABLE ledger.invitations (
  id text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  status text NOT NULL,
  role text NOT NULL,
  email text,
  -- SHA-256 of the token, in base64url.
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX ON ledger.invitations (account, id) WHERE status = 'pending';

-- The person that created the key; NULL: a key or an operator did.
ALTER TABLE ledger.api_keys ADD created_by text COLLATE "C";
CREATE INDEX api_keys_by_person ON ledger.api_keys (created_by) WHERE created_by IS NOT NULL;
-- The limits of people are those of the oldest root.
CREATE INDEX api_keys_roots ON ledger.api_keys (account, id) WHERE ancestors = '{}';

ALTER TABLE ledger.console_sessions
  ADD person_id text COLLATE "C",
  -- The session at the provider, which may end it.
  ADD sid text,
  -- For the end of the session at the provider. Encrypted with a key that the session's token has.
  ADD id_token bytea;
CREATE INDEX ON ledger.console_sessions (person_id) WHERE person_id IS NOT NULL;

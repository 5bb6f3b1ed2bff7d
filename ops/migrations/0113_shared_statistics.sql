-- Statistics of a link that are shared by a secret address.
CREATE TABLE ledger.shares (
  id text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  status text NOT NULL,
  -- If the share was ended, the columns from link to created_at are NULL.
  link text COLLATE "C",
  -- SHA-256 of the token, in base64url.
  token_hash text COLLATE "C" UNIQUE,
  expires_at timestamptz,
  password_hash text,
  show_destination boolean,
  created_at timestamptz,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX ON ledger.shares (link) WHERE status = 'shared';

-- Requests for shared statistics and wrong passwords, of the last minute. A row lives two minutes.
CREATE TABLE ledger.share_tries (LIKE ledger.password_tries INCLUDING ALL) WITH (fillfactor = 50);

-- The key of the hashes of clients, and of the cookies after a right password: 244 random bits, which all APIs share. It
-- is not that of the edges, which the API does not have.
CREATE TABLE ledger.share_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key bytea NOT NULL
);
INSERT INTO ledger.share_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

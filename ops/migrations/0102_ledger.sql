-- The ledger: what must be decided exactly. Its tables are folds of the log, except the working state: open minutes and
-- windows, idempotency records, sessions, secrets of the installation.
CREATE SCHEMA ledger;

CREATE TABLE ledger.api_keys (
  id text COLLATE "C" PRIMARY KEY,
  name text NOT NULL,
  -- NULL: the plan of its root.
  plan text,
  account text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'inactive', 'suspended', 'revoked')),
  created_at timestamptz NOT NULL,
  -- The sequence and the time of the key's last event in the topic of accounts.
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL,
  -- NULL: all scopes, including those that later versions add.
  scopes text[],
  expires_at timestamptz,
  -- The keys that it descends from, its root first; a root, which an operator created, has none.
  ancestors text[] NOT NULL,
  root_id text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(ancestors[1], id)) STORED,
  -- The minute of its last call.
  last_used_at timestamptz,
  -- The key that deactivated an inactive key. NULL: events before version 3 of ApiKeyChanged do not name it.
  deactivated_by text COLLATE "C"
) WITH (fillfactor = 50);
CREATE INDEX api_keys_by_root ON ledger.api_keys (root_id, id) WHERE status <> 'revoked';
CREATE INDEX api_keys_by_account ON ledger.api_keys (account) WHERE status <> 'revoked';

-- A key that was rotated has several secrets for a while.
CREATE TABLE ledger.key_secrets (
  key_id text COLLATE "C" NOT NULL REFERENCES ledger.api_keys (id),
  -- SHA-256.
  hash bytea NOT NULL UNIQUE,
  -- NULL: it does not end before the key does.
  ends_at timestamptz,
  PRIMARY KEY (key_id, hash)
);

-- The usage of a key. Not in the row of the key, because every call writes here.
CREATE TABLE ledger.key_meters (
  key_id text COLLATE "C" PRIMARY KEY REFERENCES ledger.api_keys (id),
  -- The sequence of the key's last event in the topic of usage.
  usage_sequence bigint NOT NULL DEFAULT 0,
  -- The open window of the per-minute limit.
  window_start timestamptz NOT NULL DEFAULT 'epoch',
  window_calls integer NOT NULL DEFAULT 0,
  -- The month (its first day, UTC) that the three counts below belong to.
  month date NOT NULL DEFAULT '1970-01-01',
  month_calls bigint NOT NULL DEFAULT 0,
  month_links bigint NOT NULL DEFAULT 0,
  month_qr_codes bigint NOT NULL DEFAULT 0,
  -- The counts of months while another month is current, because a clock was ahead and was corrected. By the month's
  -- first day: calls, links, QR codes.
  other_months jsonb NOT NULL DEFAULT '{}',
  -- The links that the key created in all months, for the number of an account's links.
  all_links bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Metered calls that are in no CallsMetered event yet.
CREATE TABLE ledger.usage_minutes (
  key_id text COLLATE "C" NOT NULL REFERENCES ledger.api_keys (id),
  minute timestamptz NOT NULL,
  calls integer NOT NULL,
  PRIMARY KEY (key_id, minute)
) WITH (fillfactor = 50);
CREATE INDEX usage_minutes_by_minute ON ledger.usage_minutes (minute);

-- A link is a code on a domain. The key of its rows is the subject of its events: see schemas/link-subject.ts. A code is
-- never reused, so no row is ever deleted. Values that most links do not have are NULL, which takes no space.
CREATE TABLE ledger.links (
  subject text COLLATE "C" PRIMARY KEY,
  key_id text COLLATE "C" NOT NULL,
  account text NOT NULL,
  expired text CHECK (expired IN ('time', 'clicks')),
  blocked boolean NOT NULL DEFAULT false,
  expires_at timestamptz,
  max_clicks integer,
  -- The click budget: how many of max_clicks are taken.
  clicks integer NOT NULL DEFAULT 0,
  -- The sequence of the link's last event in the topic of links, and the time of its last event in any topic.
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL,
  -- An operator has lifted a block of the link: from then on, operators decide whether it is unsafe.
  cleared boolean NOT NULL DEFAULT false,
  deleted boolean NOT NULL DEFAULT false,
  disabled boolean NOT NULL DEFAULT false,
  -- Destination and hash of the password if they were edited: {"url", "passwordHash"}.
  edited jsonb,
  -- Before its start, a link is scheduled.
  starts_at timestamptz,
  -- A limit on a link that was visited before has an opening balance, so the number of a click is not the sequence of
  -- its event.
  visit_sequence integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  -- POST /v2/shorten with `reuse` finds the oldest link of an account to a destination by it: see
  -- schemas/folds/ledger-link.ts.
  reuse_key bigint
);
-- A deleted link does not expire.
CREATE INDEX links_to_expire ON ledger.links (expires_at)
  WHERE expired IS NULL AND expires_at IS NOT NULL AND NOT deleted;
CREATE INDEX links_reuse ON ledger.links (reuse_key, created_at) WHERE reuse_key IS NOT NULL;
-- For the number of an account's links: those of its keys are counted in ledger.key_meters.
CREATE INDEX links_of_operators ON ledger.links (account) WHERE key_id = 'operator';

-- The first success of a POST with an Idempotency-Key, for 24 hours.
CREATE TABLE ledger.idempotency (
  key_id text COLLATE "C" NOT NULL,
  path text NOT NULL,
  idempotency_key text NOT NULL,
  body_hash bytea NOT NULL,
  status smallint NOT NULL,
  -- At most 64 KB: see is_outline.
  response text NOT NULL,
  -- The links in the response: it is replayed when the log has them.
  subjects text[] NOT NULL,
  created_at timestamptz NOT NULL,
  -- Whether the response was longer: then it is built again from this outline, the request and the events of its links.
  is_outline boolean NOT NULL DEFAULT false,
  PRIMARY KEY (key_id, path, idempotency_key)
);
CREATE INDEX idempotency_by_age ON ledger.idempotency (created_at);

CREATE TABLE ledger.platform (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  maintenance boolean NOT NULL DEFAULT false,
  shortening boolean NOT NULL DEFAULT true,
  aliases boolean NOT NULL DEFAULT true,
  passwords boolean NOT NULL DEFAULT true,
  expiration boolean NOT NULL DEFAULT true,
  qr boolean NOT NULL DEFAULT true,
  sequence bigint NOT NULL DEFAULT 0,
  last_event_at timestamptz NOT NULL DEFAULT 'epoch',
  maintenance_since timestamptz,
  maintenance_actor text
);
INSERT INTO ledger.platform DEFAULT VALUES;

CREATE TABLE ledger.alias_overrides (
  -- In lower case.
  alias text COLLATE "C" PRIMARY KEY,
  -- The account that may use the reserved alias. NULL: no account any more.
  account text,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);

-- The tables below are working state, which is neither rebuilt nor verified.

-- The latest time that was stored, as far as known: PostgreSQL's clock may have gone back since then.
CREATE TABLE ledger.clock (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  latest timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO ledger.clock DEFAULT VALUES;

-- Password guesses. A row lives two minutes.
CREATE TABLE ledger.password_tries (
  subject text COLLATE "C" NOT NULL,
  -- A keyed hash of subject and client address: it reveals no address, and not that two rows have the same one.
  client bytea NOT NULL,
  -- Guesses that are being checked, and the time at which those of a crashed process are given up.
  checking integer NOT NULL,
  checking_until timestamptz NOT NULL,
  touched_at timestamptz NOT NULL,
  -- The times of the wrong guesses of the last minute, the oldest first: a count does not show when each of them leaves
  -- the minute.
  wrong_at timestamptz[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (subject, client)
) WITH (fillfactor = 50);
CREATE INDEX password_tries_by_age ON ledger.password_tries (touched_at);

-- The key of the hashes of clients: 244 random bits, which all edges share.
CREATE TABLE ledger.client_hash_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key bytea NOT NULL
);
INSERT INTO ledger.client_hash_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- The key that signs the edges' copies of links in Redis: 244 random bits, which all edges share.
CREATE TABLE ledger.copy_key (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  key bytea NOT NULL
);
INSERT INTO ledger.copy_key (key)
VALUES (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- The keys of the visitors' hashes, by UTC day. A deleted key must leave the disk soon: one dead row is enough for
-- autovacuum.
CREATE TABLE ledger.visitor_keys (
  day date PRIMARY KEY,
  key bytea NOT NULL
) WITH (autovacuum_vacuum_threshold = 0, autovacuum_vacuum_scale_factor = 0);

-- The positions of scans over the live links, in the order of their creation. A link has no row of its own here, so
-- creating one costs nothing.
CREATE TABLE ledger.safety_scans (
  name text COLLATE "C" PRIMARY KEY,
  -- No process continues the scan before it; the process that does moves it by the time that it may take.
  due_at timestamptz NOT NULL,
  -- The last link that was checked.
  past_created_at timestamptz NOT NULL DEFAULT 'epoch',
  past_subject text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 50);

-- Sessions of the console. Only the SHA-256 of a token is stored.
CREATE TABLE ledger.console_sessions (
  token_hash bytea PRIMARY KEY,
  -- The only listener that accepts it.
  listener text NOT NULL CHECK (listener IN ('api', 'admin')),
  -- The secret with which it ends: the SHA-256 of a key's, or the HMAC of the admin token. The HMAC's key is the
  -- session's token, so that the admin token cannot be found by it.
  bound_to bytea NOT NULL,
  -- An operator's name.
  actor text CHECK ((actor IS NULL) = (listener = 'api')),
  began_at timestamptz NOT NULL,
  -- To the minute.
  used_at timestamptz NOT NULL,
  -- The family of the browser that signed in. NULL: unknown.
  browser text
);
CREATE INDEX console_sessions_by_secret ON ledger.console_sessions (listener, bound_to);

-- One-time addresses of the console.
CREATE TABLE ledger.console_addresses (
  token_hash bytea PRIMARY KEY,
  -- SHA-256 of the secret of the key whose account it opens.
  secret_hash bytea NOT NULL,
  made_at timestamptz NOT NULL
);

-- The calls of a root's consoles that cost none of the month, on the latest UTC day with such a call.
CREATE TABLE ledger.console_calls (
  root_id text COLLATE "C" PRIMARY KEY,
  day date NOT NULL,
  calls bigint NOT NULL
) WITH (fillfactor = 50);

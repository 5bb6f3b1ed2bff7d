-- The ledger: what must be decided exactly. Everything here is a fold of the log, save the working
-- state: open minutes and windows, and idempotency rows.
CREATE SCHEMA ledger;

CREATE TABLE ledger.api_keys (
  id text COLLATE "C" PRIMARY KEY,
  hash bytea NOT NULL UNIQUE,
  name text NOT NULL,
  plan text NOT NULL,
  account text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'inactive', 'revoked')),
  created_at timestamptz NOT NULL,
  -- Of the key's last event in the topic of accounts, and that event's time.
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);

-- What a key has spent. Apart from the key itself, because every call writes here.
CREATE TABLE ledger.key_meters (
  key_id text COLLATE "C" PRIMARY KEY REFERENCES ledger.api_keys (id),
  -- Of the key's events in the topic of usage.
  usage_sequence bigint NOT NULL DEFAULT 0,
  -- The open window of the per-minute limit.
  window_start timestamptz NOT NULL DEFAULT 'epoch',
  window_calls integer NOT NULL DEFAULT 0,
  -- The month (its first day, UTC) that the three counts below belong to.
  month date NOT NULL DEFAULT '1970-01-01',
  month_calls bigint NOT NULL DEFAULT 0,
  month_links bigint NOT NULL DEFAULT 0,
  month_qr_codes bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Metered calls that no CallsMetered event tells of yet.
CREATE TABLE ledger.usage_minutes (
  key_id text COLLATE "C" NOT NULL REFERENCES ledger.api_keys (id),
  minute timestamptz NOT NULL,
  calls integer NOT NULL,
  PRIMARY KEY (key_id, minute)
) WITH (fillfactor = 50);
CREATE INDEX usage_minutes_by_minute ON ledger.usage_minutes (minute);

-- Claims: a code once used is never given out again, so no row ever goes.
CREATE TABLE ledger.links (
  code text COLLATE "C" PRIMARY KEY,
  key_id text COLLATE "C" NOT NULL,
  account text NOT NULL,
  expired text CHECK (expired IN ('time', 'clicks')),
  blocked boolean NOT NULL DEFAULT false,
  expires_at timestamptz,
  max_clicks integer,
  -- The click budget: how many of max_clicks are taken.
  clicks integer NOT NULL DEFAULT 0,
  -- Of the link's last event in the topic of links, and the time of its last event in any.
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX links_to_expire ON ledger.links (expires_at)
  WHERE expired IS NULL AND expires_at IS NOT NULL;

-- The first success of a POST with an Idempotency-Key, for 24 hours.
CREATE TABLE ledger.idempotency (
  key_id text COLLATE "C" NOT NULL,
  path text NOT NULL,
  idempotency_key text NOT NULL,
  body_hash bytea NOT NULL,
  status smallint NOT NULL,
  answer text NOT NULL,
  -- The links that it tells of: it is given again when the log has them.
  codes text[] NOT NULL,
  created_at timestamptz NOT NULL,
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
  last_event_at timestamptz NOT NULL DEFAULT 'epoch'
);
INSERT INTO ledger.platform DEFAULT VALUES;

-- Accounts that may use a reserved alias (lower case); null: none any more.
CREATE TABLE ledger.alias_overrides (
  alias text COLLATE "C" PRIMARY KEY,
  account text,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);

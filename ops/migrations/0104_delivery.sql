-- Owners and claims of domains. A released domain keeps its row, because the sequence of its events continues.
CREATE TABLE ledger.domains (
  domain text COLLATE "C" PRIMARY KEY,
  -- NULL: no account has it.
  account text COLLATE "C",
  created_at timestamptz,
  verified_at timestamptz,
  -- NULL: an operator added it.
  token text,
  root_redirect text,
  not_found_redirect text,
  expired_redirect text,
  -- By account: {"token", "claimedAt"}.
  claims jsonb NOT NULL DEFAULT '{}',
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX ON ledger.domains (account) WHERE account IS NOT NULL;
CREATE INDEX ON ledger.domains USING gin (claims);

-- A webhook is a cursor in the feed of its account: see delivery.cursors.
CREATE TABLE ledger.webhooks (
  id text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  status text NOT NULL,
  -- If the webhook was deleted, the columns from url to created_at are NULL.
  url text,
  types text[],
  domain text,
  description text,
  disabled_reason text,
  -- [{"secret", "endsAt"}], the newest first.
  secrets jsonb,
  created_at timestamptz,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX ON ledger.webhooks (account) WHERE status <> 'deleted';

-- The state of webhooks' deliveries and of streams, which is no fold of the log. A webhook without a row in
-- delivery.cursors, such as after a restore, delivers nothing until an operator or its account replays.
CREATE SCHEMA delivery;

CREATE TABLE delivery.cursors (
  webhook text COLLATE "C" PRIMARY KEY,
  cursor text NOT NULL,
  -- Incremented by each new owner, and by each change of the cursor from outside: an older worker must end.
  generation bigint NOT NULL DEFAULT 0,
  -- Why nothing is delivered, although the webhook is enabled: its cursor is not of this log.
  stopped_reason text,
  -- The process that delivers until this time.
  owner text,
  leased_until timestamptz,
  -- When the deliveries began to fail without a success in between.
  failing_since timestamptz
);

CREATE TABLE delivery.deliveries (
  id uuid PRIMARY KEY,
  webhook text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  types text[] NOT NULL,
  count integer NOT NULL,
  status text NOT NULL,
  -- [{"at", "status", "durationMs", "error"}], the oldest first.
  attempts jsonb NOT NULL DEFAULT '[]',
  next_attempt_at timestamptz,
  -- The body of the request; NULL if it is no longer stored.
  body text
);
CREATE INDEX ON delivery.deliveries (webhook, id DESC);
CREATE INDEX ON delivery.deliveries (webhook, next_attempt_at) WHERE status = 'pending';
CREATE INDEX ON delivery.deliveries (created_at);

-- The streams of the feed that are open, in all processes.
CREATE UNLOGGED TABLE delivery.streams (
  id uuid PRIMARY KEY,
  root_id text COLLATE "C" NOT NULL,
  leased_until timestamptz NOT NULL
);
CREATE INDEX ON delivery.streams (root_id);

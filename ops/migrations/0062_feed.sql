-- The history has the events of accounts too, and the offset of each event in the log, by which the feed finds the events
-- of an account. The rebuild below sets the offsets; until then rows have the default.
ALTER TABLE projection_history.events
  ADD COLUMN partition smallint NOT NULL DEFAULT -1,
  ADD COLUMN record_offset bigint NOT NULL DEFAULT -1;
ALTER TABLE projection_history.events
  ALTER COLUMN partition DROP DEFAULT,
  ALTER COLUMN record_offset DROP DEFAULT,
  DROP CONSTRAINT events_pkey,
  -- The id of a key may equal a code.
  ADD PRIMARY KEY (subject, sequence, partition);
CREATE INDEX ON projection_history.events (account, partition, record_offset);

-- A projection kept for a rollback lacks the columns.
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;
DO $$
BEGIN
  IF EXISTS (SELECT FROM projection_history.checkpoints) THEN
    COMMENT ON SCHEMA projection_history IS 'rebuild due';
  END IF;
END
$$;

-- A webhook is a cursor in the feed of its account. The ledger folds its events.
CREATE TABLE ledger.webhooks (
  id text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  status text NOT NULL,
  -- NULL in the rest: the webhook was deleted.
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

-- The state of deliveries, which is no fold of the log. A webhook without a row in delivery.cursors, such as after
-- a restore, delivers nothing until an operator or its account replays.
CREATE SCHEMA delivery;

CREATE TABLE delivery.cursors (
  webhook text COLLATE "C" PRIMARY KEY,
  cursor text NOT NULL,
  -- Incremented by each change of the cursor from outside: a process that read an older cursor must read it again.
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

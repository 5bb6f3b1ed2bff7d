-- Imports: the records of a file in portions, and their outcomes. The links and visits themselves are events of the log.
CREATE SCHEMA imports;

CREATE TABLE imports.imports (
  id uuid PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  -- The key that sent the file; NULL: an operator.
  key_id text COLLATE "C",
  actor text NOT NULL,
  request_id text NOT NULL,
  format text NOT NULL,
  -- {"domain", "onConflict", "dryRun", "visits"}
  options jsonb NOT NULL,
  -- receiving: the file is not complete; running, done, stopped, failed.
  status text NOT NULL,
  -- check: decides without creating; links; visits.
  phase text NOT NULL,
  portions integer NOT NULL DEFAULT 0,
  -- The next portion of the phase; in the phase of visits, the number of the last appended visit.
  position bigint NOT NULL DEFAULT 0,
  created bigint NOT NULL DEFAULT 0,
  existing bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  conflicts bigint NOT NULL DEFAULT 0,
  visits bigint NOT NULL DEFAULT 0,
  error text,
  started_at timestamptz NOT NULL,
  ended_at timestamptz,
  -- Whether an ended import has nothing but its outcomes.
  cleaned boolean NOT NULL DEFAULT false,
  -- The process that decides the next portion until this time, or receives the file.
  owner uuid,
  leased_until timestamptz NOT NULL,
  -- When its last portion ended: running imports take turns.
  turn_at timestamptz NOT NULL,
  -- The trace context of the request that started it.
  traceparent text,
  -- Columns of the file that are not imported.
  ignored_columns text[] NOT NULL DEFAULT '{}',
  -- Invalid rows that are counted, and in no portion.
  unlisted bigint NOT NULL DEFAULT 0,
  -- The size of the outcomes, which is bounded.
  bytes bigint NOT NULL DEFAULT 0
);
CREATE INDEX ON imports.imports (account, started_at DESC);
CREATE INDEX ON imports.imports (turn_at) WHERE status = 'running';
CREATE INDEX ON imports.imports (ended_at);
CREATE INDEX ON imports.imports (id) WHERE ended_at IS NOT NULL AND NOT cleaned;

CREATE TABLE imports.portions (
  import uuid NOT NULL REFERENCES imports.imports ON DELETE CASCADE,
  number integer NOT NULL,
  -- A JSON array; NULL after its links are created.
  records text,
  -- JSON Lines; NULL before its records are decided.
  outcomes text,
  PRIMARY KEY (import, number)
);
-- Records are stored for minutes: their compression would cost more than their space.
ALTER TABLE imports.portions ALTER COLUMN records SET STORAGE EXTERNAL;

-- The links of a file that a check would create, by which it finds conflicts within the file.
CREATE TABLE imports.checked (
  import uuid NOT NULL REFERENCES imports.imports ON DELETE CASCADE,
  subject text COLLATE "C" NOT NULL,
  url text NOT NULL,
  PRIMARY KEY (import, subject)
);

-- The visits of a file until they are appended to the log. The domain is that of the file; '' if it has none.
CREATE TABLE imports.visits (
  import uuid NOT NULL REFERENCES imports.imports ON DELETE CASCADE,
  number bigint NOT NULL,
  domain text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  visit text NOT NULL,
  PRIMARY KEY (import, number)
);
CREATE INDEX ON imports.visits (import, code, domain);

-- The links that an import with visits created, by their domain and code in the file.
CREATE TABLE imports.created (
  import uuid NOT NULL REFERENCES imports.imports ON DELETE CASCADE,
  domain text COLLATE "C" NOT NULL,
  code text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  PRIMARY KEY (import, domain, code)
);

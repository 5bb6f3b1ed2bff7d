-- The running processes: see ops/app/registration.ts. A crash of PostgreSQL may empty it, because processes write their
-- rows again.
CREATE UNLOGGED TABLE public.processes (
  id uuid PRIMARY KEY,
  -- Of package.json.
  version text NOT NULL,
  generation integer NOT NULL,
  -- The services of the process, separated by commas.
  services text NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL
);

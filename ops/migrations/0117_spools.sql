-- How many visits an edge has answered, by its spool: an audit finds those that never reached the log, because the volume of
-- the edge was lost. See redirect-edge/spool/registration.ts.
CREATE TABLE log.spools (
  id text COLLATE "C" PRIMARY KEY,
  host text NOT NULL,
  -- The highest sequence of each partition of visits, from partition 0.
  acknowledged bigint[] NOT NULL,
  registered_at timestamptz NOT NULL
);

-- Templates of UTM parameters of an account.
CREATE TABLE ledger.utm_templates (
  -- `account:name`
  id text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  status text NOT NULL,
  -- If the template was deleted, the columns from name to content are NULL.
  name text COLLATE "C",
  source text,
  medium text,
  campaign text,
  term text,
  content text,
  sequence bigint NOT NULL,
  last_event_at timestamptz NOT NULL
);
CREATE INDEX ON ledger.utm_templates (account, name) WHERE status = 'saved';

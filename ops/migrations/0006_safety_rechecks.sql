-- An operator has lifted a block of the link: whether it is unsafe is the operators' to judge from then on.
ALTER TABLE ledger.links ADD COLUMN cleared boolean NOT NULL DEFAULT false;
UPDATE ledger.links l SET cleared = true FROM log.events e
WHERE e.key = l.code AND e.ledger_sequence IS NOT NULL
  AND e.value::json ->> 'type' = 'linklog.LinkUnblocked.v1';

-- How far each walk over the live links, in the order of their creation, has come: working state,
-- neither rebuilt nor verified. A link has no row of its own here, so making one costs nothing.
CREATE TABLE ledger.safety_walks (
  name text COLLATE "C" PRIMARY KEY,
  -- Nobody takes the walk up before; whoever has taken it pushes this ahead for as long as he may take.
  due_at timestamptz NOT NULL,
  -- The last link that was looked at.
  past_created_at timestamptz NOT NULL DEFAULT 'epoch',
  past_code text COLLATE "C" NOT NULL DEFAULT ''
) WITH (fillfactor = 50);

CREATE INDEX ON projection_redirects.links (created_at, code) WHERE status = 'active';

-- For the lists of an account's links, newest first. A link is in one of the first two indexes.
CREATE INDEX ON projection_redirects.links (account, created_at) WHERE status = 'active';
CREATE INDEX ON projection_redirects.links (account, status, created_at) WHERE status <> 'active';

-- Those of re-checks need no short code: few links have the same time.
DROP INDEX projection_redirects.links_coalesce_code_idx;
CREATE INDEX ON projection_redirects.links ((coalesce(live_since, created_at))) WHERE status = 'active';

-- The tags of links, those of deleted ones too.
CREATE TABLE projection_redirects.link_tags (
  account text COLLATE "C" NOT NULL,
  tag text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  code text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, tag, created_at, code)
);
INSERT INTO projection_redirects.link_tags
SELECT account, jsonb_array_elements_text(tags), created_at, code FROM projection_redirects.links
WHERE tags IS NOT NULL;

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;

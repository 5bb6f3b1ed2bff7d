-- Searches use an index of trigrams. Both extensions are trusted: a role with CREATE on the database may install them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

DROP SCHEMA search CASCADE;
DROP INDEX projection_redirects.links_account_updated_at_idx;

-- The folded texts of a link: see schemas/folded-text.ts. ASCII is folded here; a rebuild folds the rest.
ALTER TABLE projection_redirects.links ADD COLUMN folded text COLLATE "C";
UPDATE projection_redirects.links SET folded = lower(concat_ws(E'\n', code, url, nullif(title, ''), nullif(note, ''), (
  SELECT string_agg(tag, E'\n' ORDER BY place) FROM jsonb_array_elements_text(tags) WITH ORDINALITY AS t (tag, place)
)) COLLATE "C");

-- Tags are compared in folded form.
WITH changed AS (
  DELETE FROM projection_redirects.link_tags WHERE tag <> lower(tag) RETURNING account, tag, created_at, code
)
INSERT INTO projection_redirects.link_tags
SELECT account, lower(tag), created_at, code FROM changed ON CONFLICT DO NOTHING;

DO $$
BEGIN
  IF EXISTS (
    SELECT FROM projection_redirects.links
    WHERE octet_length(folded) <> char_length(folded)
      -- The parsed form of the host may be another one.
      OR url !~ '^[A-Za-z]+://([A-Za-z0-9-]+[.])*[A-Za-z][A-Za-z0-9-]*[.]?([:/?#]|$)'
  ) THEN
    COMMENT ON SCHEMA projection_redirects IS 'rebuild due';
  END IF;
END
$$;

-- With the account in the index, trigrams that are frequent in other accounts cost nothing. A search reads the pending
-- list from its start to its end, so it is short (kB).
CREATE INDEX ON projection_redirects.links USING gin (account, folded gin_trgm_ops)
  WITH (gin_pending_list_limit = 512);

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_redirects_previous CASCADE;

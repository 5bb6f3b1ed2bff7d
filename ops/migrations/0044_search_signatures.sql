-- For searches in accounts with many links: which parts of texts are in which links. Working state that is made of
-- `projection_redirects.links`, and made again when it is missing.
CREATE SCHEMA search;

-- The links of an account that were made from `since` to before `until`, in blocks of a few links. The signature has,
-- for each value of a hash, a bit for each block: whether three characters with that hash follow each other in a text
-- of the block's links.
CREATE TABLE search.signatures (
  account text COLLATE "C" NOT NULL,
  since timestamptz NOT NULL,
  until timestamptz NOT NULL,
  -- When each block begins, in milliseconds since 1970: an array of float8, big-endian, the newest block first.
  starts bytea NOT NULL,
  -- Not compressed, so that parts of it can be read alone.
  signature bytea NOT NULL,
  -- The table that it was made of, and what that had then: the changes from before this time.
  source oid NOT NULL,
  complete_to timestamptz NOT NULL,
  PRIMARY KEY (account, until)
);
ALTER TABLE search.signatures ALTER COLUMN signature SET STORAGE EXTERNAL;

-- Links whose texts have changed since.
CREATE INDEX ON projection_redirects.links (account, updated_at)
  WHERE updated_at IS NOT NULL AND (title IS NOT NULL OR note IS NOT NULL OR original IS NOT NULL);

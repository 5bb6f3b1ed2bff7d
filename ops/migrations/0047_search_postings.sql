-- For searches in accounts with many links: which three characters follow each other in the texts of which links.
-- Working state that is made of `projection_redirects.links`, and made again when it is missing.
DROP TABLE search.signatures;

CREATE TABLE search.accounts (
  account text COLLATE "C" PRIMARY KEY,
  -- The table that it was made of, and what that had then: the changes from before this time.
  source oid NOT NULL,
  complete_to timestamptz NOT NULL,
  -- The account's links from before this time are in so many blocks.
  until timestamptz NOT NULL,
  blocks integer NOT NULL
) WITH (fillfactor = 50);

-- When blocks of a few links begin, and the last one ends. Blocks are numbered from the oldest link on.
CREATE TABLE search.blocks (
  account text COLLATE "C" NOT NULL,
  first integer NOT NULL,
  starts timestamptz[] NOT NULL,
  PRIMARY KEY (account, first)
);
-- One block's times are read without the others.
ALTER TABLE search.blocks ALTER COLUMN starts SET STORAGE PLAIN;
CREATE INDEX ON search.blocks (account, (starts[1]));

-- Parts of the index that are made at once, and never changed. Several of a level become one of the next.
CREATE TABLE search.segments (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  level smallint NOT NULL,
  -- The first of its blocks; null: it is of links whose texts had changed, wherever they are.
  first integer,
  links integer NOT NULL
);
CREATE INDEX ON search.segments (account);

-- For each hash of three characters, the blocks that have it: see schemas/search/postings.ts.
CREATE TABLE search.postings (
  segment integer NOT NULL,
  page integer NOT NULL,
  lists bytea NOT NULL,
  PRIMARY KEY (segment, page)
) WITH (toast_tuple_target = 8160);
-- These bytes become no shorter.
ALTER TABLE search.postings ALTER COLUMN lists SET STORAGE EXTERNAL;

-- The books of the archive in EventStoreDB: how far each partition is copied. Emptied, they make it
-- be filled again from the log's start; what it has already is left as it is.
CREATE SCHEMA archive;

CREATE TABLE archive.checkpoints (
  topic text NOT NULL,
  partition smallint NOT NULL,
  log_id text NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (topic, partition)
) WITH (fillfactor = 50);

CREATE TABLE archive.marks (
  topic text NOT NULL,
  partition smallint NOT NULL,
  origin text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY (topic, partition, origin)
);

-- How many events of each stream the log has up to the checkpoint: the revision of its next one.
CREATE TABLE archive.streams (
  topic text NOT NULL,
  partition smallint NOT NULL,
  stream text COLLATE "C" NOT NULL,
  next_revision bigint NOT NULL,
  PRIMARY KEY (topic, partition, stream)
) WITH (fillfactor = 80);

CREATE TABLE archive.dead_letters (
  topic text NOT NULL,
  partition smallint NOT NULL,
  record_offset bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  value text NOT NULL,
  error text,
  PRIMARY KEY (topic, partition, record_offset)
);
CREATE INDEX ON archive.dead_letters (topic, subject);

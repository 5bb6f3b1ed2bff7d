-- What was done to each link, for operators: a projection like the others.
CREATE SCHEMA projection_history;

CREATE TABLE projection_history.checkpoints (
  topic text NOT NULL,
  partition smallint NOT NULL,
  log_id text NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (topic, partition)
) WITH (fillfactor = 50);

CREATE TABLE projection_history.marks (
  topic text NOT NULL,
  partition smallint NOT NULL,
  origin text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  PRIMARY KEY (topic, partition, origin)
);

CREATE TABLE projection_history.dead_letters (
  topic text NOT NULL,
  partition smallint NOT NULL,
  record_offset bigint NOT NULL,
  subject text COLLATE "C" NOT NULL,
  value text NOT NULL,
  error text,
  PRIMARY KEY (topic, partition, record_offset)
);
CREATE INDEX ON projection_history.dead_letters (topic, subject);

CREATE TABLE projection_history.events (
  code text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  -- The CloudEvent, less its secrets.
  event text NOT NULL,
  PRIMARY KEY (code, sequence)
);

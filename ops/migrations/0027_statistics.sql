-- Statistics as documents: who came when, from where, through what. `schemas/statistics/` has their texts.
-- `day`: UTC days since 1970. `series`: the visits of its quarters of an hour. `document`: its clicks by the
-- values of each dimension. `uniques`: visitors who were new that day.

-- A link: its visits of all time, and what its newest quarter of an hour has had so far. That quarter is in no
-- row of `days` and `quarters`, until a visit of a later one comes.
CREATE TABLE projection_stats.codes (
  code text COLLATE "C" PRIMARY KEY,
  account text COLLATE "C" NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  -- Of the last click; null while only bots came.
  last_accessed timestamptz,
  -- Of the newest quarter.
  day integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  -- The visitors of that day, and of the day before it, one after the other, 16 characters each; null when
  -- they are too many, and rows of `visitors`.
  visitors text COLLATE "C",
  visitors_before text COLLATE "C"
) WITH (fillfactor = 75);
-- Without names of ours: a rebuild's copies get PostgreSQL's choice of one too.
CREATE INDEX ON projection_stats.codes (account, day);

-- A day of a link.
CREATE TABLE projection_stats.days (
  code text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  account text COLLATE "C" NOT NULL,
  clicks integer NOT NULL,
  bots integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (code, day)
);
-- The most visited links of an account.
CREATE INDEX ON projection_stats.days (account, day) INCLUDE (code, clicks);

-- The quarters of a day that has more than one: else the day's document is its quarter's.
CREATE TABLE projection_stats.quarters (
  code text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  quarter smallint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (code, day, quarter)
);

-- The sum of a month's days, once a visit of a later month came, if it has more than one day: else the day's
-- row is the month's. Months are counted since January 1970.
CREATE TABLE projection_stats.months (
  code text COLLATE "C" NOT NULL,
  month integer NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  uniques bigint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (code, month)
);

-- Visitors of a link's newest day, or of the day before it.
CREATE TABLE projection_stats.visitors (
  code text COLLATE "C" NOT NULL,
  day integer NOT NULL,
  visitor text COLLATE "C" NOT NULL,
  PRIMARY KEY (code, day, visitor)
);

-- The same for all links of an account in one partition of the log, so that no partition waits for another.
CREATE TABLE projection_stats.accounts (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  day integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition)
) WITH (fillfactor = 75);

CREATE TABLE projection_stats.account_days (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  day integer NOT NULL,
  clicks integer NOT NULL,
  bots integer NOT NULL,
  uniques integer NOT NULL,
  series text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition, day)
);

CREATE TABLE projection_stats.account_quarters (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  day integer NOT NULL,
  quarter smallint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition, day, quarter)
);

CREATE TABLE projection_stats.account_months (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  month integer NOT NULL,
  clicks bigint NOT NULL,
  bots bigint NOT NULL,
  uniques bigint NOT NULL,
  document text COLLATE "C" NOT NULL,
  PRIMARY KEY (account, partition, month)
);

-- Days of which dead letters were applied late. An account keeps the first values of a day in the log's order:
-- of these days, a rebuild may keep others.
CREATE TABLE projection_stats.redriven_days (
  account text COLLATE "C" NOT NULL,
  partition smallint NOT NULL,
  day integer NOT NULL,
  PRIMARY KEY (account, partition, day)
);

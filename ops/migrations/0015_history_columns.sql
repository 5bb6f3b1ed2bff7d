-- The history keeps what cannot be derived of an event, in columns, instead of the whole CloudEvent once more.
CREATE TABLE projection_history.new_events (
  code text COLLATE "C" NOT NULL,
  sequence bigint NOT NULL,
  "time" timestamptz NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  account text,
  actor text,
  correlationid text,
  causationid text,
  -- JSON, less its secrets.
  data text NOT NULL
);
-- `data` is an event's last attribute, and the quotes of a text in JSON are escaped. It is cut off before the rest
-- is read: PostgreSQL refuses to read JSON with an escaped null character, which a URL may have.
INSERT INTO projection_history.new_events
SELECT code, sequence, (e ->> 'time')::timestamptz, (e ->> 'id')::uuid, e ->> 'type', e ->> 'account',
  e ->> 'actor', e ->> 'correlationid', e ->> 'causationid', data
FROM (
  SELECT code, sequence, (left(event, at - 1) || '}')::json AS e,
    substr(event, at + 8, length(event) - at - 8) AS data
  FROM (SELECT *, strpos(event, ',"data":') AS at FROM projection_history.events) AS places
) AS parts;
DROP TABLE projection_history.events;
ALTER TABLE projection_history.new_events RENAME TO events;
ALTER TABLE projection_history.events ADD PRIMARY KEY (code, sequence);

-- It has the old columns: it cannot take the place of the live tables any more.
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;

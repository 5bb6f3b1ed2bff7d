-- The trace context of the request that caused an event.
ALTER TABLE projection_history.events ADD COLUMN traceparent text;

-- The next rebuild copies the tables as they are now; the one before could not be swapped back.
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;

ALTER TABLE imports.imports ADD COLUMN traceparent text;

-- A projection kept for a rollback lacks the column.
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;

-- The name of the client that an agent used: see schemas/events/envelope.ts.
ALTER TABLE projection_history.events ADD COLUMN client text;

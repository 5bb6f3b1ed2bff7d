-- When PostgreSQL recorded a row: the time of its event lags behind after a jump of the clock.
ALTER TABLE log.records ADD COLUMN recorded_at timestamptz NOT NULL DEFAULT now();

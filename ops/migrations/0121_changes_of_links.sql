-- Operators list their changes of links beside those of accounts and the platform. Imported links are left out: an import
-- may have millions.
DROP INDEX IF EXISTS projection_history.events_time_subject_sequence_idx;
CREATE INDEX ON projection_history.events ("time", subject, sequence)
  WHERE partition >= 8 OR (type !~ '^linklog\.LinkImported\.'
    AND actor !~ '^(system|web-safety|visitor|[0-9a-f-]{36}|usr_[0-9A-Za-z]{20})$');
CREATE INDEX ON projection_history.events (account, "time", subject, sequence)
  WHERE partition >= 8 OR (type !~ '^linklog\.LinkImported\.'
    AND actor !~ '^(system|web-safety|visitor|[0-9a-f-]{36}|usr_[0-9A-Za-z]{20})$');
-- The previous schema has no such indexes.
DROP SCHEMA IF EXISTS projection_history_previous CASCADE;

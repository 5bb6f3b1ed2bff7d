-- Rows and bytes of imports are bounded.
ALTER TABLE imports.imports
  -- Columns of the file that are not imported.
  ADD COLUMN ignored_columns text[] NOT NULL DEFAULT '{}',
  -- Invalid rows that are counted, and in no portion.
  ADD COLUMN unlisted bigint NOT NULL DEFAULT 0,
  -- Of the outcomes.
  ADD COLUMN bytes bigint NOT NULL DEFAULT 0;

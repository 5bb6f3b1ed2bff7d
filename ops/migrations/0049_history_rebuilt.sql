-- Since 0030 links have titles, notes and tags, LinkCreated has a second version, and the log gives earlier links that
-- one: the history has them as they were written.
DO $$
BEGIN
  IF EXISTS (SELECT FROM projection_history.events WHERE type = 'linklog.LinkCreated.v1') THEN
    COMMENT ON SCHEMA projection_history IS 'rebuild due';
  END IF;
END
$$;

-- `custom`, `updated_at` and `live_since` of earlier links are in the log alone: see 0030.
DO $$
BEGIN
  IF EXISTS (SELECT FROM projection_redirects.checkpoints) THEN
    COMMENT ON SCHEMA projection_redirects IS 'rebuild due';
  END IF;
END
$$;

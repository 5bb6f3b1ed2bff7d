-- The rows of redirects and history have the sequences of their links' events, and repeats of these events
-- change nothing in stats. So these projections keep high-water marks of links for events that were set
-- aside only. What a rebuild has left has all of them: it cannot take the place of the live tables any more.
DO $$
DECLARE
  projection text;
BEGIN
  FOREACH projection IN ARRAY ARRAY['redirects', 'stats', 'history'] LOOP
    EXECUTE format($statements$
      DROP SCHEMA IF EXISTS projection_%1$s_previous CASCADE;
      CREATE TEMPORARY TABLE kept ON COMMIT DROP AS
        SELECT m.* FROM projection_%1$s.high_water_marks m
        WHERE m.topic <> 'linklog.links.v1' OR EXISTS (
          SELECT FROM projection_%1$s.dead_letters d
          WHERE d.topic = m.topic AND d.subject = m.origin
            AND d.value LIKE '%%"sequence":"' || lpad(m.sequence::text, 16, '0') || '"%%');
      -- Not DELETE: most rows go, and their space with them.
      TRUNCATE projection_%1$s.high_water_marks;
      INSERT INTO projection_%1$s.high_water_marks SELECT * FROM kept;
      DROP TABLE kept;
    $statements$, projection);
  END LOOP;
END
$$;

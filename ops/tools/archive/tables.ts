/** The comparison in temporary tables, so that memory depends neither on the number of events nor of streams. */
export const createTables = `
  SET statement_timeout = 0;
  SET work_mem = '64MB';
  CREATE TEMP TABLE expected (stream text COLLATE "C", position bigint, id uuid, content bytea, waiting boolean);
  CREATE TEMP TABLE found (LIKE expected);
  -- Streams without the events before \`first\`; null: without any event.
  CREATE TEMP TABLE removed (stream text COLLATE "C" PRIMARY KEY, first bigint)`;

/**
 * Events are compared by stream and revision; those that differ are then paired by their ids.
 *
 * $all still has events that retention hides until a scavenge. Only operators remove events from the start of a stream: a
 * server that loses events loses the newest.
 */
export const compareTables = `
  DELETE FROM found f USING removed r WHERE f.stream = r.stream AND (f.position >= r.first) IS NOT TRUE;
  INSERT INTO removed SELECT stream, min(position) FROM found GROUP BY stream HAVING min(position) > 0
    ON CONFLICT DO NOTHING;
  ANALYZE expected, found, removed;
  CREATE TEMP TABLE compared AS
    SELECT stream, revision, e.id, e.content, f.id AS found_id, f.content AS found_content,
      CASE WHEN e.id = f.id AND e.content = f.content THEN 'equal'
        WHEN f.id IS NOT NULL THEN NULL
        WHEN r.stream IS NOT NULL AND coalesce(revision < r.first, NOT e.waiting) THEN 'removed'
        WHEN e.waiting THEN 'waiting' END AS outcome
    FROM (SELECT stream, row_number() OVER (PARTITION BY stream ORDER BY position) - 1 AS revision,
                 id, content, waiting FROM expected) e
    FULL JOIN (SELECT stream, position AS revision, id, content FROM found) f USING (stream, revision)
    LEFT JOIN removed r USING (stream);
  CREATE TEMP TABLE differences AS
    SELECT CASE WHEN f.id IS NULL THEN 'missing' WHEN e.id IS NULL THEN 'foreign' ELSE 'different' END AS kind, id,
      coalesce(e.stream, f.stream) AS stream, coalesce(e.revision, f.revision) AS revision,
      array_remove(ARRAY[
        CASE WHEN e.stream <> f.stream THEN 'stream' WHEN e.revision <> f.revision THEN 'order' END,
        CASE WHEN substr(e.content, 1, 8) <> substr(f.content, 1, 8) THEN 'type' END,
        CASE WHEN substr(e.content, 9, 8) <> substr(f.content, 9, 8) THEN 'data' END,
        CASE WHEN substr(e.content, 17) <> substr(f.content, 17) THEN 'metadata' END], NULL) AS fields
    FROM (SELECT stream, revision, id, content FROM compared WHERE outcome IS NULL AND id IS NOT NULL) e
    FULL JOIN (SELECT stream, revision, found_id AS id, found_content AS content
               FROM compared WHERE outcome IS NULL AND found_id IS NOT NULL) f USING (id)`;

-- The generation of the tables, and the fence: a statement that writes to a fenced table fails in sessions that do not
-- state this generation (`SET linklog.generation`), such as those of an earlier release. Each transaction of Linklog that
-- must be exact writes to a fenced table. `migrate.ts` runs this file before migrations; it can be repeated.

CREATE TABLE IF NOT EXISTS public.generation (generation integer NOT NULL);
INSERT INTO public.generation SELECT 0 WHERE NOT EXISTS (SELECT FROM public.generation);

CREATE TABLE IF NOT EXISTS public.migrations (
  file text PRIMARY KEY,
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- The running processes: see ops/app/registration.ts. A crash of PostgreSQL may empty it, because processes write their
-- rows again.
CREATE UNLOGGED TABLE IF NOT EXISTS public.processes (
  id uuid PRIMARY KEY,
  -- The version in package.json.
  version text NOT NULL,
  generation integer NOT NULL,
  -- The services of the process, separated by commas.
  services text NOT NULL,
  host text NOT NULL,
  pid integer NOT NULL,
  started_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL
);

CREATE OR REPLACE FUNCTION public.refuse_generation() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF current_setting('linklog.generation', true) IS DISTINCT FROM TG_ARGV[0] THEN
    -- Class 57P, because all releases respond to it with 503, and never with a dead letter.
    RAISE EXCEPTION 'the tables have generation %, this session writes generation %', TG_ARGV[0],
      coalesce(nullif(current_setting('linklog.generation', true), ''), '0')
      USING ERRCODE = '57PLG';
  END IF;
  RETURN NULL;
END
$function$;

-- The trigger costs 3 microseconds for each statement; as a WHEN condition, the comparison would cost 8. The creation of
-- the trigger waits for transactions that have written to the table, so no write of an earlier generation is committed
-- after a raise.
CREATE OR REPLACE FUNCTION public.fence_table(fenced regclass) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  current integer := (SELECT generation FROM public.generation);
BEGIN
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER generation BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH STATEMENT
     EXECUTE FUNCTION public.refuse_generation(%L)', fenced, current);
END
$function$;

-- Fences the tables that are not fenced with the current generation yet.
CREATE OR REPLACE FUNCTION public.fence_tables() RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  current integer := (SELECT generation FROM public.generation);
  fenced regclass;
BEGIN
  FOR fenced IN
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind = 'r' AND (
        -- Each batch of a projection moves a checkpoint; a redrive deletes dead letters.
        (n.nspname LIKE 'projection\_%' AND c.relname IN ('checkpoints', 'dead_letters'))
        OR (n.nspname, c.relname) IN (
          ('ledger', 'key_meters'), ('imports', 'imports'), ('delivery', 'cursors'), ('seals', 'chains'),
          ('archive', 'checkpoints'),
          -- The relay, and each transaction that appends events.
          ('log', 'relayed'), ('log', 'partitions')))
      AND NOT EXISTS (
        SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'generation'
          AND encode(t.tgargs, 'escape') = current || '\000')
    -- In the order in which transactions write to them.
    ORDER BY n.nspname = 'log', n.nspname <> 'ledger', n.nspname, c.relname DESC
  LOOP
    PERFORM public.fence_table(fenced);
  END LOOP;
END
$function$;

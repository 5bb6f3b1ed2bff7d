import { startEmbeddedPostgres } from '../local/postgres/index.js';
import { keepRunning } from '../local/process/server.js';
import { migrate } from '../migrations/migrate.js';
import type { Config } from '../config/config.js';
import type { Logger } from '../platform/logging.js';
import type { Gauges } from '../platform/metrics/figure.js';
import { requireNotifications, type Channel } from '../platform/postgres/listener.js';
import { createPool, type Pool } from '../platform/postgres/pool.js';
import type { Tracer } from '../platform/tracing.js';
import { connectDatabase } from './connections.js';
import { hasNoSpace } from './full-disk.js';
import { startInOrder } from '../platform/process/lifecycle.js';
import { periodically } from '../platform/concurrency/periodic.js';

/** @throws ConfigError; the error of the connection */
const prepare = async (url: string, isEmbedded: boolean, logger: Logger): Promise<void> => {
  const pool = createPool({ url, name: 'migrate', max: 2, deadlines: 'patient', logger });
  try {
    if (!isEmbedded) await requireNotifications(url);
    await migrate(pool);
  } finally {
    await pool.end();
  }
};

/**
 * Connects to the configured or the embedded PostgreSQL and migrates it. The embedded PostgreSQL is restarted whenever
 * it exits unexpectedly, as on a full disk.
 */
export const openDatabase = ({
  config,
  channels,
  metrics,
  tracer,
  logger,
}: {
  readonly config: Pick<Config, 'databaseUrl' | 'dataDir'>;
  readonly channels: readonly Channel[];
  readonly metrics: Gauges;
  readonly tracer: Tracer | null;
  readonly logger: Logger;
}) =>
  startInOrder(logger, async (onStop) => {
    const { databaseUrl, dataDir } = config;
    const embedded = databaseUrl === null ? await startEmbeddedPostgres({ dataDir, logger }) : null;
    onStop(() => embedded?.stop());
    // After a second signal, or a stop that hangs at a failed start.
    process.once('exit', () => embedded?.kill('SIGINT'));
    const url = embedded?.nearestUrl ?? databaseUrl ?? '';
    await prepare(url, embedded !== null, logger);
    if (embedded) {
      const stopping = new AbortController();
      const message = (): string =>
        hasNoSpace(dataDir)
          ? 'no space left in DATA_DIR; PostgreSQL is down until there is'
          : 'restarting a process that is down';
      keepRunning(embedded, { name: 'PostgreSQL', signal: stopping.signal, message, logger });
      onStop(() => {
        stopping.abort();
      });
      const erasing = keepErasingDeletedKeys(url, logger);
      onStop(() => erasing.stop());
    }
    const database = connectDatabase({ url, channels, metrics, tracer, logger });
    onStop(() => database.stop());
    return { ...database, stopPostgres: async () => embedded?.stop() };
  });

const intervalMs = 600_000;

/**
 * Overwrites the WAL of the embedded PostgreSQL if a key of the visitor hashes was deleted since the last call. The
 * comment on the table stores the oldest key at that call, so that a deletion is detected even after a restart.
 */
export const eraseDeletedKeys = async (pool: Pool): Promise<void> => {
  const { rows } = await pool.query<{ oldest: string | null; previous: string | null }>(
    `SELECT (SELECT min(day)::text FROM ledger.visitor_keys) AS oldest,
            obj_description('ledger.visitor_keys'::regclass, 'pg_class') AS previous`,
  );
  const { oldest = null, previous = null } = rows[0] ?? {};
  if (oldest === null || oldest === previous) return;
  // Without a comment, no key has been deleted yet.
  if (previous !== null) await overwriteWal(pool);
  // COMMENT accepts no parameter; `oldest` is a date that PostgreSQL formatted.
  await pool.query(`COMMENT ON TABLE ledger.visitor_keys IS '${oldest}'`);
};

const keepErasingDeletedKeys = (url: string, logger: Logger) => {
  const pool = createPool({ url, name: 'erase keys', max: 1, deadlines: 'patient', logger });
  const periodic = periodically({
    ...{ name: 'erase deleted keys', everyMs: intervalMs, logger },
    task: () => eraseDeletedKeys(pool),
  });
  return {
    async stop(): Promise<void> {
      await periodic.stop();
      await pool.end();
    },
  };
};

/** Ends the current WAL segment, whose remainder PostgreSQL fills with zeros. */
const switchSegment = async (pool: Pool): Promise<void> => {
  // PostgreSQL does not switch a segment without a record.
  await pool.query("SELECT pg_switch_wal() FROM pg_logical_emit_message(false, 'linklog', '')");
};

/**
 * Overwrites old WAL: afterwards, no file of `pg_wal` contains data that was written before the call.
 *
 * A checkpoint recycles old segments: it renames them for later use and keeps their content. Therefore all recycled
 * segments are written after a first checkpoint. Each one is a write of 16 MB; an idle database has about five.
 *
 * The pool's user must be a superuser, and its statement timeout must be longer than a checkpoint.
 */
const overwriteWal = async (pool: Pool): Promise<void> => {
  await switchSegment(pool);
  await pool.query('CHECKPOINT');
  const { rows } = await pool.query<{ waiting: number }>(
    `SELECT count(*) AS waiting FROM pg_ls_waldir()
     WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_insert_lsn())`,
  );
  const waiting = rows[0]?.waiting ?? 0;
  for (let segment = 0; segment <= waiting; segment += 1) await switchSegment(pool);
  await pool.query('CHECKPOINT');
};

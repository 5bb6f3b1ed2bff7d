import { rm } from 'node:fs/promises';
import path from 'node:path';
import { liveSchema, projectionNames } from '../../../projectors/runtime/projection.js';
import { foldedTables, workingState } from '../../ledger/rebuild/working-state.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { stopTestKafka, testKafka } from '../support/kafka.js';
import { backUpNewLog, defaultLinks, defaultVisits, measured, withPostgres } from './backup.js';
import { temporaryDir } from '../support/process.js';

/**
 * Moves an embedded installation to Kafka, by `backup` and `restore`, and compares every row of the
 * ledger's folds and of the read models: `node dist/ops/test/bench/move.js [LINKS] [VISITS]`.
 */
const [links = defaultLinks, visits = defaultVisits] = process.argv.slice(2).map(Number);

/** They name the log and its offsets, which are others there. */
const aboutTheLog = ['checkpoints', 'high_water_marks'];

const tablesOf = async (pool: Pool): Promise<readonly string[]> => {
  const { rows } = await pool.query<{ table: string }>(
    `SELECT schemaname || '.' || tablename AS table FROM pg_tables
     WHERE schemaname = ANY ($1) AND NOT tablename = ANY ($2) ORDER BY 1`,
    [projectionNames.map(liveSchema), aboutTheLog],
  );
  return [...foldedTables.map((table) => `ledger.${table}`), ...rows.map(({ table }) => table)];
};

interface Digest {
  readonly rows: number;
  readonly digest: string;
}

/** A digest of each table's rows, whatever their order. */
const digestsOf = (dataDir: string): Promise<ReadonlyMap<string, Digest>> =>
  withPostgres(dataDir, async (pool) => {
    const left = Object.values(workingState.columns).flat();
    const digests = new Map<string, Digest>();
    for (const table of await tablesOf(pool)) {
      const { rows } = await pool.query<Digest>(
        `SELECT count(*)::integer AS rows, md5(string_agg(md5(content), '' ORDER BY content)) AS digest
         FROM (SELECT (to_jsonb(t) - $1::text[])::text AS content FROM ${table} t) contents`,
        [left],
      );
      if (rows[0]) digests.set(table, rows[0]);
    }
    return digests;
  });

const dirs = await Promise.all([temporaryDir(), temporaryDir(), temporaryDir()]);
const [filled, embedded, moved] = dirs;
try {
  const first = path.join(filled, 'filled.backup');
  const second = path.join(filled, 'embedded.backup');
  await backUpNewLog(filled, { file: first, links, visits });
  // A log alone is no installation: restored once, it is.
  await measured(['restore', first], { DATA_DIR: embedded });
  const before = await digestsOf(embedded);
  const backup = await withPostgres(embedded, () =>
    measured(['backup', second], { DATA_DIR: embedded }),
  );
  const { brokers, prefix } = await testKafka('move');
  const onKafka = { DATA_DIR: moved, KAFKA_BROKERS: brokers, KAFKA_TOPIC_PREFIX: prefix };
  const restore = await measured(['restore', second], onKafka);
  const after = await digestsOf(moved);
  process.stdout.write(`${JSON.stringify({ links, visits, backup, restore })}\n\n`);
  process.stdout.write('| table | rows | the same on Kafka |\n|---|---|---|\n');
  for (const [table, { rows, digest }] of before) {
    const same = after.get(table)?.digest === digest;
    if (!same) process.exitCode = 1;
    process.stdout.write(`| ${table} | ${rows} | ${same ? 'yes' : 'NO'} |\n`);
  }
} finally {
  await stopTestKafka();
  for (const dir of dirs) await rm(dir, { recursive: true, force: true });
}

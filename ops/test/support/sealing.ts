import { rmSync } from 'node:fs';
import path from 'node:path';
import type { EventLog } from '../../event-log/port.js';
import { recordsIn, type LogRow } from '../../event-log/postgres-batches.js';
import { createLogger } from '../../platform/logging.js';
import type { Pool } from '../../platform/postgres/pool.js';
import { openSealKey, type SealKey } from '../../../projectors/log/seals/seal-key.js';
import { retireKey } from '../../../projectors/log/seals/seal-store.js';
import { temporaryDir } from './process.js';
import { eventually } from './waiting.js';
import { topicNames, type TopicName } from '../../../schemas/events/topics.js';
import { extendChain, fingerprintBytes, genesisOf } from '../../../projectors/log/seals/chain.js';
import { startSealing, type SealingPace } from '../../../projectors/log/seals/sealing.js';

const keyDirs: string[] = [];
process.once('exit', () => {
  for (const dir of keyDirs) rmSync(dir, { recursive: true });
});

/** Replaces the seal key of the database. */
export const newSealKey = async (pool: Pool): Promise<SealKey> => {
  const dir = await temporaryDir();
  keyDirs.push(dir);
  await retireKey(pool);
  return openSealKey(path.join(dir, 'seal-key.pem'), pool);
};

/** Resolves when chains and checkpoints cover the whole log. */
export const allSealed = async (pool: Pool, log: EventLog): Promise<void> => {
  let records = 0;
  for (const topic of topicNames) {
    for (const { next } of await log.ranges(topic)) records += next;
  }
  await eventually('the log is sealed', async () => {
    const { rows } = await pool.query<{ chained: number; tails: number }>(
      `SELECT coalesce(sum(next_offset), 0)::int AS chained, count(tail_since)::int AS tails
       FROM seals.chains`,
    );
    return rows[0]?.chained === records && rows[0].tails === 0;
  });
};

/** Seals the whole log, with a checkpoint after `pace.records` records of a partition. */
export const sealAll = async (
  deps: { readonly pool: Pool; readonly log: EventLog; readonly signer: SealKey },
  pace: SealingPace = { records: 5, ms: 50 },
): Promise<void> => {
  const sealing = await startSealing({ ...deps, pace, logger: createLogger('silent') });
  try {
    await allSealed(deps.pool, deps.log);
  } finally {
    await sealing.stop();
  }
};

/** Splits the batches of the embedded log into one row for each record, the old format. */
export const splitRows = async (pool: Pool): Promise<void> => {
  await pool.query(`
    CREATE TEMP TABLE split ON COMMIT DROP AS
      SELECT e.* FROM log.events e JOIN log.records r
        ON r.partition_id = e.partition_id AND r.first_offset <= e.record_offset
       AND r.first_offset + r.records > e.record_offset
      WHERE r.key IS NULL;
    DELETE FROM log.records WHERE key IS NULL;
    INSERT INTO log.records (partition_id, first_offset, key, value)
      SELECT partition_id, record_offset, key, value FROM split`);
};

/** An attack with write access to PostgreSQL: changes the text of a record, in a batch or a segment. */
export const alterRecord = async (
  pool: Pool,
  position: { readonly topic: TopicName; readonly partition: number; readonly offset: number },
  alter: (value: string) => string,
): Promise<void> => {
  for (const table of ['records', 'segments']) {
    const { rows } = await pool.query<LogRow & { readonly id: number }>(
      `SELECT p.id, first_offset AS "firstOffset", records, key, value
       FROM log.${table} r JOIN log.partitions p ON p.id = r.partition_id
       WHERE topic = $1 AND partition = $2 AND $3 >= first_offset AND $3 < first_offset + records`,
      [position.topic, position.partition, position.offset],
    );
    for (const { id, ...row } of rows) {
      const values = recordsIn(row).map(({ offset, value }) =>
        offset === position.offset ? alter(value) : value,
      );
      await pool.query(
        `UPDATE log.${table} SET value = $3 WHERE partition_id = $1 AND first_offset = $2`,
        [id, row.firstOffset, values.join('\n')],
      );
    }
  }
};

/**
 * An attack with write access to PostgreSQL: replaces the chain by that of the current log up to `to`, and deletes the
 * checkpoints after `from`.
 */
export const forgeChain = async (
  pool: Pool,
  log: EventLog,
  chain: { readonly topic: TopicName; readonly partition: number },
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> => {
  const { topic, partition } = chain;
  let hash = genesisOf(log.logId(topic), chain);
  const fingerprints: Buffer[] = [];
  for await (const { records } of log.read(topic, partition, 0, to)) {
    const added = extendChain(chain, hash, records);
    hash = added.hash;
    fingerprints.push(added.fingerprints);
  }
  const tail = Buffer.concat(fingerprints).subarray(from * fingerprintBytes);
  const { rows } = await pool.query<{ id: number }>(
    `UPDATE seals.chains SET hash = $3, tail = $4, next_offset = $5,
       tail_since = CASE WHEN $4 = ''::bytea THEN NULL ELSE clock_timestamp() END
     WHERE topic = $1 AND partition = $2 RETURNING id`,
    [topic, partition, hash, tail, to],
  );
  await pool.query('DELETE FROM seals.checkpoints WHERE chain_id = $1 AND next_offset > $2', [
    rows[0]?.id,
    from,
  ]);
};

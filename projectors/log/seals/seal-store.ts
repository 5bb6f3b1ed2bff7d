import type { EventLog, TopicPartition } from '../../../ops/event-log/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { fingerprintBytes } from './chain.js';
import {
  checkpointOfRow,
  isSigned,
  sealColumns,
  type SealRow,
  type SignedCheckpoint,
  type TrustedKeys,
} from './signed-checkpoint.js';

/** A checkpoint in the database, whose content is not trusted. */
export interface StoredSeal extends SignedCheckpoint {
  readonly from: number;
  /** The fingerprints of all records that it covers. */
  readonly storedFingerprints: Buffer;
}

/** Bounds memory: a seal has about 8 KB, and up to 80 KB if it covers a backlog. */
const pageSize = 20;

const select = `SELECT ${sealColumns} FROM seals.checkpoints
  WHERE chain_id = (SELECT id FROM seals.chains WHERE topic = $1 AND partition = $2)`;

export const sealStore = (pool: Pool, log: Pick<EventLog, 'logId'>) => {
  const checkpointOf = (topicPartition: TopicPartition, row: SealRow): SignedCheckpoint =>
    checkpointOfRow({ logId: log.logId(topicPartition.topic), ...topicPartition }, row);

  /** Returns the nearest checkpoint to an offset that a trusted key has signed; `null` if there is none. */
  const nearest = async (
    topicPartition: TopicPartition,
    keys: TrustedKeys,
    offset: number,
    [comparison, order]: readonly ['<=', 'DESC'] | readonly ['>=', 'ASC'],
  ): Promise<SignedCheckpoint | null> => {
    const values = [topicPartition.topic, topicPartition.partition, offset, [...keys.keys()]];
    for (let passed = 0; ; passed += 1) {
      const { rows } = await pool.query<SealRow>(
        `${select} AND next_offset ${comparison} $3 AND key_id = ANY ($4)
         ORDER BY next_offset ${order} LIMIT 1 OFFSET $5`,
        [...values, passed],
      );
      const [row] = rows;
      if (!row) return null;
      const seal = checkpointOf(topicPartition, row);
      if (isSigned(seal, keys)) return seal;
    }
  };

  return {
    /** Returns the newest trusted checkpoint up to `to`. */
    newest: (topicPartition: TopicPartition, keys: TrustedKeys, to = Number.MAX_SAFE_INTEGER) =>
      nearest(topicPartition, keys, to, ['<=', 'DESC']),

    /** Returns the oldest trusted checkpoint from `from` on. */
    oldest: (topicPartition: TopicPartition, keys: TrustedKeys, from: number) =>
      nearest(topicPartition, keys, from, ['>=', 'ASC']),

    async lastOfAll(keys: TrustedKeys): Promise<readonly SignedCheckpoint[]> {
      const { rows: topicPartitions } = await pool.query<TopicPartition>(
        'SELECT topic, partition FROM seals.chains ORDER BY topic, partition',
      );
      const found: SignedCheckpoint[] = [];
      for (const topicPartition of topicPartitions) {
        const seal = await this.newest(topicPartition, keys);
        if (seal !== null) found.push(seal);
      }
      return found;
    },

    /** Reads the checkpoints that cover records before `to`, in order. A newer one may have replaced the last. */
    async *upTo(topicPartition: TopicPartition, to: number): AsyncGenerator<StoredSeal> {
      for (let after = 0; ;) {
        const { rows } = await pool.query<SealRow>(
          `${select} AND next_offset > $3
             AND next_offset - length(fingerprints) / ${fingerprintBytes} < $4 ORDER BY next_offset LIMIT $5`,
          [topicPartition.topic, topicPartition.partition, after, to, pageSize],
        );
        for (const row of rows) {
          const { nextOffset, storedFingerprints } = row;
          const from = nextOffset - Math.floor(storedFingerprints.length / fingerprintBytes);
          yield { ...checkpointOf(topicPartition, row), from, storedFingerprints };
        }
        const last = rows.at(-1);
        if (!last) return;
        after = last.nextOffset;
      }
    },
  };
};

export type SealStore = ReturnType<typeof sealStore>;

/** Returns the current key, then the retired keys, newest first. */
export const publishedKeys = async (pool: Pool) => {
  const { rows } = await pool.query<{
    id: string;
    publicKey: string;
    since: Date;
    retiredAt: Date | null;
  }>(
    `SELECT id, public_key AS "publicKey", since, retired_at AS "retiredAt" FROM seals.keys
     ORDER BY retired_at DESC NULLS FIRST`,
  );
  return rows;
};

/** Retires the current key, so that the next projector may sign with another one. Returns its id. */
export const retireKey = async (pool: Pool): Promise<string | null> => {
  const { rows } = await pool.query<{ id: string }>(
    'UPDATE seals.keys SET retired_at = clock_timestamp() WHERE retired_at IS NULL RETURNING id',
  );
  return rows[0]?.id ?? null;
};

import type { TopicName } from '../../../schemas/events/topics.js';
import type { EventLog } from '../../../ops/event-log/port.js';
import type { Pool } from '../../../ops/platform/postgres/pool.js';
import { fingerprintBytes, type ChainPlace } from './chain.js';
import {
  checkpointOfRow,
  isSigned,
  sealColumns,
  type SealRow,
  type SignedCheckpoint,
  type TrustedKeys,
} from './signed-checkpoint.js';

/** A checkpoint as the database has it. Whoever can write there can write anything into it. */
export interface StoredSeal extends SignedCheckpoint {
  /** The offset of the first record that it covers. */
  readonly from: number;
  /** Of each record from there on. */
  readonly storedFingerprints: Buffer;
}

type Place = ChainPlace & { readonly topic: TopicName };

/** Bounds memory: a seal has some 8 KB, and up to 80 KB where it covers a backlog. */
const pageSize = 20;

const select = `SELECT ${sealColumns} FROM seals.checkpoints
  WHERE chain_id = (SELECT id FROM seals.chains WHERE topic = $1 AND partition = $2)`;

/** Reads the checkpoints of one log, which they all must name. */
export const sealStore = (pool: Pool, log: Pick<EventLog, 'logId'>) => {
  const checkpointOf = (place: Place, row: SealRow): SignedCheckpoint =>
    checkpointOfRow({ logId: log.logId(place.topic), ...place }, row);

  /** The nearest one to an offset that a trusted key has signed; `null` where there is none. */
  const nearest = async (
    place: Place,
    keys: TrustedKeys,
    offset: number,
    [comparison, order]: readonly ['<=', 'DESC'] | readonly ['>=', 'ASC'],
  ): Promise<SignedCheckpoint | null> => {
    const values = [place.topic, place.partition, offset, [...keys.keys()]];
    for (let passed = 0; ; passed += 1) {
      const { rows } = await pool.query<SealRow>(
        `${select} AND next_offset ${comparison} $3 AND key_id = ANY ($4)
         ORDER BY next_offset ${order} LIMIT 1 OFFSET $5`,
        [...values, passed],
      );
      const [row] = rows;
      if (!row) return null;
      const seal = checkpointOf(place, row);
      if (isSigned(seal, keys)) return seal;
    }
  };

  return {
    /** The newest one, at `to` at the latest, that a trusted key has signed; `null` where there is none. */
    newest: (place: Place, keys: TrustedKeys, to = Number.MAX_SAFE_INTEGER) =>
      nearest(place, keys, to, ['<=', 'DESC']),

    /** The oldest one, at `from` at the earliest. */
    oldest: (place: Place, keys: TrustedKeys, from: number) =>
      nearest(place, keys, from, ['>=', 'ASC']),

    /** The newest one of every partition that has one. */
    async lastOfAll(keys: TrustedKeys): Promise<readonly SignedCheckpoint[]> {
      const { rows: places } = await pool.query<Place>(
        'SELECT topic, partition FROM seals.chains ORDER BY topic, partition',
      );
      const found: SignedCheckpoint[] = [];
      for (const place of places) {
        const seal = await this.newest(place, keys);
        if (seal !== null) found.push(seal);
      }
      return found;
    },

    /** In their order, those that cover records before `to`. A newer one may have taken over the last. */
    async *upTo(place: Place, to: number): AsyncGenerator<StoredSeal> {
      for (let after = 0; ;) {
        const { rows } = await pool.query<SealRow>(
          `${select} AND next_offset > $3
             AND next_offset - length(fingerprints) / ${fingerprintBytes} < $4 ORDER BY next_offset LIMIT $5`,
          [place.topic, place.partition, after, to, pageSize],
        );
        for (const row of rows) {
          const { nextOffset, storedFingerprints } = row;
          const from = nextOffset - Math.floor(storedFingerprints.length / fingerprintBytes);
          yield { ...checkpointOf(place, row), from, storedFingerprints };
        }
        const last = rows.at(-1);
        if (!last) return;
        after = last.nextOffset;
      }
    },
  };
};

export type SealStore = ReturnType<typeof sealStore>;

/** The key that signs now first, then those that were retired, newest first. */
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

/** Lets the next projector that starts sign with another key. Returns the id of the retired key. */
export const retireKey = async (pool: Pool): Promise<string | null> => {
  const { rows } = await pool.query<{ id: string }>(
    'UPDATE seals.keys SET retired_at = clock_timestamp() WHERE retired_at IS NULL RETURNING id',
  );
  return rows[0]?.id ?? null;
};

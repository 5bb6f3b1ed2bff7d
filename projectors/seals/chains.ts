import { checkPosition, type Batch, type EventLog } from '../../ops/platform/event-log/port.js';
import type { Client, Pool, Queryable } from '../../ops/platform/postgres/pool.js';
import { fingerprintBytes, genesisOf } from './chain.js';
import { fingerprintsDigest, type Signer } from './checkpoint.js';
import { topics, type TopicName } from '../../schemas/events/topics.js';

/** Where the chain of a partition stands. */
export interface Chain {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  readonly logId: string;
  /** The next record to add. */
  readonly offset: number;
  readonly hash: Buffer;
  /** The fingerprints of the records that no checkpoint covers yet. */
  readonly tail: Buffer;
  /** For how long there are any; `null`: there are none. */
  readonly tailMs: number | null;
  /** PostgreSQL's. */
  readonly now: Date;
}

const columns = `id, topic, partition, log_id AS "logId", next_offset AS "offset", hash, tail,
  (extract(epoch FROM clock_timestamp() - tail_since) * 1000)::float8 AS "tailMs",
  clock_timestamp() AS now`;

export const readChain = async (
  client: Queryable,
  { topic, partition }: Pick<Batch, 'topic' | 'partition'>,
  lock: 'FOR UPDATE' | '' = '',
): Promise<Chain | null> => {
  const { rows } = await client.query<Chain>(
    `SELECT ${columns} FROM seals.chains WHERE topic = $1 AND partition = $2 ${lock}`,
    [topic, partition],
  );
  return rows[0] ?? null;
};

/** The chains with records that no checkpoint covers, kept where they are until the commit. */
export const lockTails = async (tx: Client): Promise<readonly Chain[]> => {
  const { rows } = await tx.query<Chain>(
    `SELECT ${columns} FROM seals.chains WHERE tail_since IS NOT NULL ORDER BY id FOR UPDATE`,
  );
  return rows;
};

/** Writes down where a chain that is locked has come to. */
export const saveChain = async (
  tx: Client,
  { id, offset, hash, tail }: Pick<Chain, 'id' | 'offset' | 'hash' | 'tail'>,
): Promise<void> => {
  await tx.query(
    `UPDATE seals.chains SET next_offset = $2, hash = $3, tail = $4,
       tail_since = CASE WHEN $4 = ''::bytea THEN NULL
                         ELSE coalesce(tail_since, clock_timestamp()) END
     WHERE id = $1`,
    [id, offset, hash, tail],
  );
};

/** Signs where a chain that is locked has come to, for what it gained since the last checkpoint. */
export const sealChain = async (tx: Client, chain: Chain, signer: Signer): Promise<void> => {
  const { id, topic, partition, logId, offset, hash, tail, now } = chain;
  const seal = signer.sign({
    ...{ logId, topic, partition, nextOffset: offset },
    hash: hash.toString('hex'),
    fingerprints: fingerprintsDigest(tail),
    time: now.toISOString(),
  });
  await tx.query(
    `INSERT INTO seals.checkpoints
       (chain_id, next_offset, hash, fingerprints, sealed_at, key_id, signature)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, offset, hash, tail, seal.time, seal.keyId, Buffer.from(seal.signature, 'base64')],
  );
  await saveChain(tx, { ...chain, tail: Buffer.alloc(0) });
};

export const recordsIn = (fingerprints: Buffer): number => fingerprints.length / fingerprintBytes;

/**
 * Sees that every partition has its chain, of this log and within what that holds.
 *
 * @throws ForeignPosition
 */
export const ensureChains = async (pool: Pool, log: EventLog): Promise<void> => {
  for (const topic of Object.values(topics)) {
    const places = Array.from({ length: topic.partitions }, (_, partition) => ({
      topic: topic.name,
      partition,
    }));
    const logId = log.logId(topic.name);
    await pool.query(
      `INSERT INTO seals.chains (topic, partition, log_id, hash)
       SELECT $1, partition, $2, hash FROM unnest($3::smallint[], $4::bytea[]) AS c (partition, hash)
       WHERE partition NOT IN (SELECT partition FROM seals.chains WHERE topic = $1)
       ON CONFLICT DO NOTHING`,
      [
        topic.name,
        logId,
        places.map(({ partition }) => partition),
        places.map((place) => genesisOf(logId, place)),
      ],
    );
    const chains = await Promise.all(places.map((place) => readChain(pool, place)));
    for (const range of await log.ranges(topic.name)) {
      const chain = chains.find((known) => known?.partition === range.partition);
      if (chain) checkPosition(topic.name, range, logId, chain);
    }
  }
};

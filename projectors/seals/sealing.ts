import { firstFailure } from '../../ops/platform/concurrency/deferred.js';
import {
  checkPosition,
  PositionMoved,
  type Batch,
  type EventLog,
} from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import {
  transaction,
  type Client,
  type Pool,
  type Queryable,
} from '../../ops/platform/postgres/pool.js';
import { topicNames, topics, type TopicName } from '../../schemas/events/topics.js';
import { extendChain, fingerprintBytes, genesisOf } from './chain.js';
import {
  checkpointOfRow,
  fingerprintsDigest,
  isSigned,
  sealColumns,
  type SealRow,
  type Signer,
} from './signed-checkpoint.js';

/** A checkpoint is signed after this many records, or this long after the first unsigned one. */
export interface SealingPace {
  /** Also the most records of a checkpoint that takes over smaller ones. */
  readonly records: number;
  readonly ms: number;
}

const usualPace: SealingPace = { records: 1_000, ms: 5_000 };

/** Milliseconds that records may wait for a larger batch: nobody reads what is not signed yet. */
const mayWaitMs = 1_000;

interface SealingContext {
  readonly log: Pick<EventLog, 'logId'>;
  readonly signer: Signer;
  readonly pace: SealingPace;
}

/** The chain of a partition, as the table `seals.chains` has it. */
interface Chain {
  readonly id: number;
  readonly topic: TopicName;
  readonly partition: number;
  readonly logId: string;
  /** The offset of the next record to add. */
  readonly offset: number;
  readonly hash: Buffer;
  /** The fingerprints of the records that no checkpoint covers yet. */
  readonly tail: Buffer;
  /** The age of the tail in milliseconds, also by a clock that went back; `null` when it is empty. */
  readonly tailMs: number | null;
  /** PostgreSQL's time. */
  readonly now: Date;
}

const selectChains = `SELECT id, topic, partition, log_id AS "logId", next_offset AS "offset", hash,
  tail, abs(extract(epoch FROM clock_timestamp() - tail_since) * 1000)::float8 AS "tailMs",
  clock_timestamp() AS now FROM seals.chains`;

const readChain = async (
  client: Queryable,
  { topic, partition }: Pick<Batch, 'topic' | 'partition'>,
  lock: 'FOR UPDATE' | '' = '',
): Promise<Chain | null> => {
  const { rows } = await client.query<Chain>(
    `${selectChains} WHERE topic = $1 AND partition = $2 ${lock}`,
    [topic, partition],
  );
  return rows[0] ?? null;
};

/** Saves a chain that this transaction has locked. */
const saveChain = async (
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

/**
 * Deletes the checkpoints right before a locked chain's tail that are small. Returns their fingerprints
 * with the tail's: the next checkpoint covers their records too, and a record costs its fingerprint, not
 * a share of a signature.
 *
 * A checkpoint is taken over by one that covers at least as many records. So their sizes double, and a
 * fingerprint is written again ten times at most, not with each checkpoint up to 1,000 records.
 *
 * One that was altered in the database stays: a signature would make its fingerprints true.
 */
const takeOverSmaller = async (
  tx: Client,
  chain: Chain,
  { signer, pace }: SealingContext,
): Promise<Buffer> => {
  const trusted = new Map([[signer.keyId, signer.publicKey]]);
  let fingerprints = chain.tail;
  for (;;) {
    const records = fingerprints.length / fingerprintBytes;
    const before = [chain.id, chain.offset - records];
    const { rows } = await tx.query<SealRow>(
      `SELECT ${sealColumns} FROM seals.checkpoints
       WHERE chain_id = $1 AND next_offset = $2 AND length(fingerprints) <= $3`,
      [...before, Math.min(records, pace.records - records) * fingerprintBytes],
    );
    const [row] = rows;
    if (!row || !isSigned(checkpointOfRow(chain, row), trusted)) return fingerprints;
    await tx.query(
      'DELETE FROM seals.checkpoints WHERE chain_id = $1 AND next_offset = $2',
      before,
    );
    fingerprints = Buffer.concat([row.storedFingerprints, fingerprints]);
  }
};

/**
 * Signs a checkpoint at the end of a locked chain. It covers the tail, which is empty after that, and the
 * small checkpoints before it.
 */
const signCheckpoint = async (tx: Client, chain: Chain, context: SealingContext): Promise<void> => {
  const { id, topic, partition, logId, offset, hash, now } = chain;
  const { signer } = context;
  const covered = await takeOverSmaller(tx, chain, context);
  const seal = signer.sign({
    ...{ logId, topic, partition, nextOffset: offset },
    hash: hash.toString('hex'),
    fingerprints: fingerprintsDigest(covered),
    time: now.toISOString(),
  });
  await tx.query(
    `INSERT INTO seals.checkpoints
       (chain_id, next_offset, hash, fingerprints, sealed_at, key_id, signature)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, offset, hash, covered, seal.time, seal.keyId, Buffer.from(seal.signature, 'base64')],
  );
  await saveChain(tx, { ...chain, tail: Buffer.alloc(0) });
};

/**
 * Makes the chains that are missing, and checks that each is a chain of this log and within the log.
 *
 * @throws ForeignPosition
 */
const ensureChains = async (pool: Pool, log: EventLog): Promise<void> => {
  for (const { name: topic, partitions } of Object.values(topics)) {
    const logId = log.logId(topic);
    const all = Array.from({ length: partitions }, (_, partition) => partition);
    await pool.query(
      `INSERT INTO seals.chains (topic, partition, log_id, hash)
       SELECT $1, partition, $2, hash FROM unnest($3::smallint[], $4::bytea[]) AS c (partition, hash)
       WHERE partition NOT IN (SELECT partition FROM seals.chains WHERE topic = $1)
       ON CONFLICT DO NOTHING`,
      [topic, logId, all, all.map((partition) => genesisOf(logId, { topic, partition }))],
    );
    const { rows: chains } = await pool.query<Chain>(`${selectChains} WHERE topic = $1`, [topic]);
    for (const range of await log.ranges(topic)) {
      const chain = chains.find((known) => known.partition === range.partition);
      if (chain) checkPosition(topic, range, logId, chain);
    }
  }
};

/** The batch does not begin where the chain ends: another projector has added it. */
class BatchNotAtChain extends PositionMoved {
  override readonly code = 'BATCH_NOT_AT_CHAIN';

  constructor({ topic, partition, records }: Batch, chain: Chain | null) {
    super(
      `The chain of ${topic}/${partition} ends at ${chain?.offset ?? 'none'}; ` +
        `the batch begins at ${records[0]?.offset ?? 'no record'}`,
    );
  }
}

const isDue = ({ tail, tailMs }: Chain, pace: SealingPace): boolean =>
  tail.length >= pace.records * fingerprintBytes || (tailMs ?? 0) >= pace.ms;

/**
 * Adds a batch to its chain in the caller's transaction, and signs a checkpoint if one is due.
 * Returns whether some records are still unsigned. A chain depends on its records alone, so a retry,
 * or another projector, gives the same chain.
 *
 * @throws BatchNotAtChain
 */
const addToChain = async (tx: Client, context: SealingContext, batch: Batch): Promise<boolean> => {
  // As in applyBatch: a crash of PostgreSQL may undo the last batches, which are then added again.
  await tx.query('SET LOCAL synchronous_commit = off');
  const chain = await readChain(tx, batch, 'FOR UPDATE');
  if (
    chain?.logId !== context.log.logId(batch.topic) ||
    chain.offset !== batch.records[0]?.offset
  ) {
    throw new BatchNotAtChain(batch, chain);
  }
  const { hash, fingerprints } = extendChain(batch, chain.hash, batch.records);
  const tail = Buffer.concat([chain.tail, fingerprints]);
  const grown = { ...chain, offset: chain.offset + batch.records.length, hash, tail };
  if (isDue(grown, context.pace)) {
    await signCheckpoint(tx, grown, context);
    return false;
  }
  await saveChain(tx, grown);
  return true;
};

/** Signs the tails that are due. Returns the milliseconds until the next is; `null`: there is none. */
const signDueTails = async (tx: Client, context: SealingContext): Promise<number | null> => {
  const { pace } = context;
  const { rows: chains } = await tx.query<Chain>(
    `${selectChains} WHERE tail_since IS NOT NULL ORDER BY id FOR UPDATE`,
  );
  let nextMs: number | null = null;
  for (const chain of chains) {
    if (isDue(chain, pace)) await signCheckpoint(tx, chain, context);
    else nextMs = Math.min(nextMs ?? Infinity, pace.ms - (chain.tailMs ?? 0));
  }
  return nextMs;
};

/**
 * Keeps a chain of hashes over each partition of the log, and signs checkpoints of it. Any number of
 * processes may do so at once.
 *
 * @throws ForeignPosition when the chains are of another log, or the log was cut
 */
export const startSealing = async (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly signer: Signer;
  readonly pace?: SealingPace;
}) => {
  const { pool, log, logger, pace = usualPace } = deps;
  const context = { ...deps, pace };
  await ensureChains(pool, log);

  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let signing: Promise<void> = Promise.resolve();

  /** No timer runs while everything is signed. */
  const signLater = (ms: number): void => {
    if (stopped || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      signing = signTails();
    }, ms);
  };
  const signTails = async (): Promise<void> => {
    try {
      const nextMs = await transaction(pool, (tx) => signDueTails(tx, context));
      if (nextMs !== null) signLater(nextMs);
    } catch (err) {
      logger.warn({ err }, 'checkpoints could not be signed; trying again');
      signLater(pace.ms);
    }
  };

  const subscription = log.subscribe({
    group: 'seals',
    topics: topicNames,
    mayWaitMs,
    position: async (topic, partition) => {
      const chain = await readChain(pool, { topic, partition });
      // A projector that is gone may have left a tail unsigned.
      if (chain !== null && chain.tailMs !== null) signLater(pace.ms);
      return chain;
    },
    handle: async (batch) => {
      const isUnsigned = await transaction(pool, (tx) => addToChain(tx, context, batch));
      if (isUnsigned) signLater(pace.ms);
    },
  });

  return {
    /** Never resolves; rejects with what no retry can mend, such as `ForeignPosition`. */
    failed: firstFailure([subscription.done]),
    /** Resolves when nothing is being sealed and nothing will be. */
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await subscription.stop();
      await signing;
    },
  };
};

export type Sealing = Awaited<ReturnType<typeof startSealing>>;

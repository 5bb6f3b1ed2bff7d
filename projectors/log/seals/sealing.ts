import pLimit from 'p-limit';
import { firstFailure } from '../../../ops/platform/concurrency/deferred.js';
import {
  checkPosition,
  PositionMoved,
  type Delivery,
  type EventLog,
  type TopicPartition,
} from '../../../ops/event-log/port.js';
import { periodically } from '../../../ops/platform/concurrency/periodic.js';
import type { Logger } from '../../../ops/platform/logging.js';
import {
  transaction,
  type Client,
  type Pool,
  type Queryable,
} from '../../../ops/platform/postgres/pool.js';
import { topicNames, topics } from '../../../schemas/events/topics.js';
import { fingerprintBytes, genesisOf } from './chain.js';
import {
  ChainBroken,
  extendRecomputed,
  isPastLast,
  recompute,
  type RecomputedChain,
} from './recomputed-chain.js';
import type { SealKey } from './seal-key.js';
import {
  checkpointOfRow,
  fingerprintsDigest,
  isSigned,
  sealColumns,
  type SealRow,
  type SignedCheckpoint,
  type Signer,
} from './signed-checkpoint.js';

/** A checkpoint is signed after `records` records, or `ms` milliseconds after the first unsigned record. */
export interface SealingPace {
  /** The number is also the maximum size of merged checkpoints. */
  readonly records: number;
  readonly ms: number;
}

const usualPace: SealingPace = { records: 1_000, ms: 5_000 };

/**
 * Records of a batch of a backlog. A batch takes a dozen statements, a check of the last signature and a file write; for
 * 1,000 records, that is as expensive as their hashes.
 */
const maxBatch = 10_000;

/** How long records may wait for a larger batch (ms). */
const mayWaitMs = 1_000;

interface SealingContext {
  readonly pool: Pool;
  readonly log: Pick<EventLog, 'logId' | 'read' | 'ranges'>;
  readonly signer: SealKey;
  readonly pace: SealingPace;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** A row of `seals.chains`. */
interface Chain extends TopicPartition {
  readonly id: number;
  readonly logId: string;
  /** The offset of the next record to add. */
  readonly offset: number;
  readonly hash: Buffer;
  /** The fingerprints of records without a checkpoint. */
  readonly tail: Buffer;
  /** The absolute age of the tail (ms), because the clock may go back; `null` if the tail is empty. */
  readonly tailMs: number | null;
  /** PostgreSQL's clock. */
  readonly now: Date;
}

const selectChains = `SELECT id, topic, partition, log_id AS "logId", next_offset AS "offset", hash,
  tail, abs(extract(epoch FROM clock_timestamp() - tail_since) * 1000)::float8 AS "tailMs",
  clock_timestamp() AS now FROM seals.chains`;

const readChain = async (
  client: Queryable,
  { topic, partition }: TopicPartition,
  lock: 'FOR UPDATE' | '' = '',
): Promise<Chain | null> => {
  const { rows } = await client.query<Chain>(
    `${selectChains} WHERE topic = $1 AND partition = $2 ${lock}`,
    [topic, partition],
  );
  return rows[0] ?? null;
};

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
 * Deletes the small checkpoints before a locked chain's tail, and returns their fingerprints with those of the tail. The
 * next checkpoint covers their records too, which saves their signatures.
 *
 * A checkpoint is merged into a checkpoint of at least as many records. Sizes double, so a fingerprint is rewritten ten
 * times at most.
 *
 * A checkpoint that was altered in the database stays, because a new signature would confirm its fingerprints.
 */
const mergeSmaller = async (
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

/** Signs a checkpoint at the end of a locked chain. It covers the tail and the small checkpoints before it. */
const signCheckpoint = async (
  tx: Client,
  chain: Chain,
  context: SealingContext,
): Promise<SignedCheckpoint> => {
  const { id, topic, partition, logId, offset, hash, now } = chain;
  const { signer } = context;
  const covered = await mergeSmaller(tx, chain, context);
  const seal = signer.sign({
    ...{ logId, topic, partition, nextOffset: offset },
    hash: hash.toString('hex'),
    fingerprints: fingerprintsDigest(covered),
    time: now.toISOString(),
  });
  // Stored first, because PostgreSQL may commit the signature although the transaction fails here.
  await signer.memory.remember(seal);
  await tx.query(
    `INSERT INTO seals.checkpoints
       (chain_id, next_offset, hash, fingerprints, sealed_at, key_id, signature)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [id, offset, hash, covered, seal.time, seal.keyId, Buffer.from(seal.signature, 'base64')],
  );
  await saveChain(tx, { ...chain, tail: Buffer.alloc(0) });
  return seal;
};

/**
 * Creates missing chains, and checks that each chain belongs to this log and ends within it.
 *
 * @throws ForeignPosition
 */
const ensureChains = async (pool: Pool, log: EventLog): Promise<void> => {
  for (const { name: topic, partitions } of Object.values(topics)) {
    const logId = log.logId(topic);
    const numbers = Array.from({ length: partitions }, (_, partition) => partition);
    await pool.query(
      `INSERT INTO seals.chains (topic, partition, log_id, hash)
       SELECT $1, partition, $2, hash FROM unnest($3::smallint[], $4::bytea[]) AS c (partition, hash)
       WHERE partition NOT IN (SELECT partition FROM seals.chains WHERE topic = $1)
       ON CONFLICT DO NOTHING`,
      [topic, logId, numbers, numbers.map((partition) => genesisOf(logId, { topic, partition }))],
    );
    const { rows: chains } = await pool.query<Chain>(`${selectChains} WHERE topic = $1`, [topic]);
    for (const range of await log.ranges(topic)) {
      const chain = chains.find((known) => known.partition === range.partition);
      if (chain) checkPosition(topic, range, logId, chain);
    }
  }
};

/** Another projector has extended or signed the chain, or PostgreSQL has lost its end. */
class ChainMoved extends PositionMoved {
  override readonly code = 'CHAIN_MOVED';
}

const isDue = ({ tail, tailMs }: Chain, pace: SealingPace): boolean =>
  tail.length >= pace.records * fingerprintBytes || (tailMs ?? 0) >= pace.ms;

const isAsComputed = (chain: Chain, { offset, hash, fingerprints }: RecomputedChain): boolean =>
  chain.offset === offset && chain.hash.equals(hash) && chain.tail.equals(fingerprints);

/** Returns the checkpoint that ends at an offset, if this process's key has signed it. */
const ownCheckpointAt = async (
  client: Queryable,
  chain: Chain,
  offset: number,
  { keyId, publicKey }: Signer,
): Promise<SignedCheckpoint | null> => {
  const { rows } = await client.query<SealRow>(
    `SELECT ${sealColumns} FROM seals.checkpoints WHERE chain_id = $1 AND next_offset = $2`,
    [chain.id, offset],
  );
  const seal = rows[0] ? checkpointOfRow(chain, rows[0]) : null;
  return seal && isSigned(seal, new Map([[keyId, publicKey]])) ? seal : null;
};

interface Step<Result> {
  readonly chain: RecomputedChain;
  readonly result: Result;
}

/**
 * Seals one partition. The database's chain is not trusted: this process computes the chain from the log, starting at a
 * checkpoint that the key has signed. A broken chain is not signed until the next start.
 */
class PartitionSealing {
  /** The chain after the last transaction; `null` if it must be computed from the log. */
  #computed: RecomputedChain | null = null;
  #broken: ChainBroken | null = null;
  #hasLoggedMissingMemory = false;
  /** The subscription and the timer exclude each other. */
  readonly #mutex = pLimit(1);

  constructor(
    private readonly topicPartition: TopicPartition,
    private readonly context: SealingContext,
  ) {}

  get broken(): ChainBroken | null {
    return this.#broken;
  }

  /**
   * Adds a batch and signs a checkpoint if one is due. Returns whether unsigned records remain. A chain depends on its
   * records alone, so retries and other projectors compute the same chain.
   *
   * @throws ChainMoved
   */
  async add({ records: delivered }: Delivery): Promise<boolean> {
    const records = delivered.slice();
    const isUnsigned = await this.#step(async (tx, chain, computed) => {
      if (records[0]?.offset !== chain.offset)
        throw new ChainMoved('The batch is not at the chain');
      // A crash of PostgreSQL may undo the last batches, which are then added again.
      await tx.query('SET LOCAL synchronous_commit = off');
      const grown = extendRecomputed(this.topicPartition, computed, records);
      const { offset, hash, fingerprints: tail } = grown;
      const next = { ...chain, offset, hash, tail };
      if (isDue(next, this.context.pace) && isPastLast(grown)) {
        return { chain: await this.#sign(tx, next, grown), result: false };
      }
      await saveChain(tx, next);
      return { chain: grown, result: true };
    });
    return isUnsigned ?? false;
  }

  /**
   * Signs the tail if it is due. Returns the milliseconds until it is due; `null` if the tail is empty.
   *
   * @throws ChainMoved
   */
  signTail(): Promise<number | null> {
    const { pace } = this.context;
    return this.#step<number | null>(async (tx, chain, computed) => {
      if (chain.tailMs === null) return { chain: computed, result: null };
      if (isDue(chain, pace) && isPastLast(computed)) {
        return { chain: await this.#sign(tx, chain, computed), result: null };
      }
      // A due tail waits until the chain reaches the last checkpoint again after a crash.
      return { chain: computed, result: isDue(chain, pace) ? pace.ms : pace.ms - chain.tailMs };
    });
  }

  /** Runs `work` on the locked chain if it equals the computed one. Returns `null` if the chain is broken. */
  #step<Result>(
    work: (tx: Client, chain: Chain, computed: RecomputedChain) => Promise<Step<Result>>,
  ): Promise<Result | null> {
    const { pool, logger } = this.context;
    return this.#mutex(async () => {
      if (this.#broken) return null;
      const known = this.#computed;
      this.#computed = null;
      try {
        const computed = known ?? (await this.#compute());
        const step = await transaction(pool, async (tx) => {
          const chain = await readChain(tx, this.topicPartition, 'FOR UPDATE');
          if (!chain || !isAsComputed(chain, computed)) throw new ChainMoved('The chain was moved');
          return work(tx, chain, computed);
        });
        this.#computed = step.chain;
        return step.result;
      } catch (err) {
        if (!(err instanceof ChainBroken)) throw err;
        this.#broken = err;
        logger.error(
          { err, ...this.topicPartition },
          'the chain of a partition does not continue what was sealed: it is not signed',
        );
        return null;
      }
    });
  }

  /** @throws ChainBroken; ChainMoved */
  async #compute(): Promise<RecomputedChain> {
    const { pool, log, signer, logger, signal } = this.context;
    const { topicPartition } = this;
    const logId = log.logId(topicPartition.topic);
    const last = await signer.memory.last(logId, topicPartition);
    const chain = await readChain(pool, topicPartition);
    if (chain?.logId !== logId) throw new ChainMoved('The chain is of another log');
    const to = chain.offset;
    const from = to - Math.ceil(chain.tail.length / fingerprintBytes);
    const stored = await ownCheckpointAt(pool, chain, from, signer);
    if (last === null && stored !== null && !this.#hasLoggedMissingMemory) {
      this.#hasLoggedMissingMemory = true;
      logger.warn(
        topicPartition,
        'state file with the last seal is missing; using the last seal of the database',
      );
    }
    const computed = await recompute(topicPartition, log, { last, stored }, { from, to, signal });
    if (isAsComputed(chain, computed)) return computed;
    const { topic, partition } = topicPartition;
    throw new ChainBroken(`The chain of ${topic}/${partition} in the database is not the log's`);
  }

  async #sign(tx: Client, chain: Chain, computed: RecomputedChain): Promise<RecomputedChain> {
    const last = await this.context.signer.memory.last(chain.logId, this.topicPartition);
    if (last?.signature !== computed.last?.signature) throw new ChainMoved('The chain was signed');
    const seal = await signCheckpoint(tx, chain, this.context);
    return { ...computed, fingerprints: Buffer.alloc(0), last: seal };
  }
}

/**
 * Maintains a hash chain over each partition of the log and signs checkpoints of it. Several processes may do so
 * concurrently.
 *
 * @throws ForeignPosition if the chains are of another log, or the log was truncated
 */
export const startSealing = async (deps: {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly signer: SealKey;
  readonly pace?: SealingPace;
}) => {
  const { pool, log, logger, pace = usualPace } = deps;
  await ensureChains(pool, log);

  const stopping = new AbortController();
  const context = { ...deps, pace, signal: stopping.signal };
  const partitions = new Map<string, PartitionSealing>();
  const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`;
  for (const { name: topic, partitions: count } of Object.values(topics)) {
    for (let partition = 0; partition < count; partition += 1) {
      const topicPartition = { topic, partition };
      partitions.set(nameOf(topicPartition), new PartitionSealing(topicPartition, context));
    }
  }
  const sealingOf = (topicPartition: TopicPartition): PartitionSealing => {
    const sealing = partitions.get(nameOf(topicPartition));
    if (!sealing) throw new RangeError(`the log has no partition ${nameOf(topicPartition)}`);
    return sealing;
  };

  /** When an unsigned tail may be due (`performance.now()`). */
  const unsigned = new Map<PartitionSealing, number>();
  const signSoon = (sealing: PartitionSealing): void => {
    if (!unsigned.has(sealing)) unsigned.set(sealing, performance.now() + pace.ms);
  };
  const signing = periodically({
    ...{ name: 'sign checkpoints', everyMs: pace.ms / 5, logger },
    async task() {
      for (const [sealing, dueAt] of unsigned) {
        if (dueAt > performance.now()) continue;
        const ms = await sealing.signTail().catch((error: unknown) => {
          if (!(error instanceof PositionMoved)) throw error;
          return pace.ms;
        });
        if (ms === null) unsigned.delete(sealing);
        else unsigned.set(sealing, performance.now() + ms);
      }
    },
  });

  const subscription = log.subscribe({
    group: 'seals',
    topics: topicNames,
    maxBatch,
    mayWaitMs,
    // A seal proves what the table has.
    isUnshared: true,
    position: async (topic, partition) => {
      const topicPartition = { topic, partition };
      const chain = await readChain(pool, topicPartition);
      // A killed projector may have left an unsigned tail.
      if (chain !== null && chain.tailMs !== null) signSoon(sealingOf(topicPartition));
      return chain;
    },
    handle: async (batch) => {
      const sealing = sealingOf(batch);
      if (await sealing.add(batch)) signSoon(sealing);
    },
  });

  return {
    /** The broken chains that this process has detected, by partition. */
    brokenChains: (): ReadonlyMap<string, ChainBroken> =>
      new Map(
        [...partitions].flatMap(([name, { broken }]) => (broken ? [[name, broken] as const] : [])),
      ),
    /** Never resolves. Rejects with an error that a retry cannot fix, such as `ForeignPosition`. */
    failed: firstFailure([subscription.done]),
    async stop(): Promise<void> {
      stopping.abort(new ChainMoved('The sealing was stopped'));
      await Promise.all([subscription.stop(), signing.stop()]);
    },
  };
};

export type Sealing = Awaited<ReturnType<typeof startSealing>>;

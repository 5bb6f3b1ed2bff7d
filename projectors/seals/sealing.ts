import { PositionMoved, type Batch, type EventLog } from '../../ops/platform/event-log/port.js';
import type { Logger } from '../../ops/platform/logging.js';
import { transaction, type Client, type Pool } from '../../ops/platform/postgres/pool.js';
import { extendChain } from './chain.js';
import type { Signer } from './checkpoint.js';
import { topicNames } from '../../schemas/events/topics.js';
import {
  ensureChains,
  lockTails,
  readChain,
  recordsIn,
  saveChain,
  sealChain,
  type Chain,
} from './chains.js';

/** A checkpoint is signed when so many records came since the last, or so long after the first. */
export interface Pace {
  readonly records: number;
  readonly ms: number;
}

const usualPace: Pace = { records: 1_000, ms: 5_000 };

/** Nobody asks for what is not signed yet, so records come in few large batches. */
const mayWaitMs = 1_000;

export interface Sealing {
  /** Never resolves; rejects with what no retry can mend, such as `ForeignPosition`. */
  readonly failed: Promise<never>;
  /** Resolves when nothing is being sealed and nothing will be. */
  stop(): Promise<void>;
}

/** A batch that does not begin exactly where the chain ends: another projector has it already. */
class BatchNotAtChain extends PositionMoved {
  override readonly code = 'BATCH_NOT_AT_CHAIN';

  constructor({ topic, partition, records }: Batch, chain: Chain | null) {
    super(
      `The chain of ${topic}/${partition} ends at ${chain?.offset ?? 'none'}; ` +
        `the batch begins at ${records[0]?.offset ?? 'no record'}`,
    );
  }
}

const isDue = ({ tail, tailMs }: Chain, pace: Pace): boolean =>
  recordsIn(tail) >= pace.records || (tailMs ?? 0) >= pace.ms;

interface Means {
  readonly log: Pick<EventLog, 'logId'>;
  readonly signer: Signer;
  readonly pace: Pace;
}

/**
 * Adds a batch to its chain, in the caller's transaction, and signs if that is due; whether some of
 * it is still to be signed. A chain is a function of its records alone, so whoever adds them, and
 * however often that is tried, there is one chain.
 *
 * @throws BatchNotAtChain
 */
export const addToChain = async (
  tx: Client,
  { log, signer, pace }: Means,
  batch: Batch,
): Promise<boolean> => {
  const { topic, records } = batch;
  // As in applyBatch: a crash of PostgreSQL may take back the last batches, to be added once more.
  await tx.query('SET LOCAL synchronous_commit = off');
  const chain = await readChain(tx, batch, 'FOR UPDATE');
  if (chain?.logId !== log.logId(topic) || chain.offset !== records[0]?.offset) {
    throw new BatchNotAtChain(batch, chain);
  }
  const { hash, fingerprints } = extendChain(batch, chain.hash, records);
  const tail = Buffer.concat([chain.tail, fingerprints]);
  const grown = { ...chain, offset: chain.offset + records.length, hash, tail };
  if (isDue(grown, pace)) {
    await sealChain(tx, grown, signer);
    return false;
  }
  await saveChain(tx, grown);
  return true;
};

/** Signs what has waited for long enough; for how long the next one may still wait, if there is one. */
const sealTails = async (tx: Client, { signer, pace }: Means): Promise<number | null> => {
  let nextMs: number | null = null;
  for (const chain of await lockTails(tx)) {
    if (isDue(chain, pace)) await sealChain(tx, chain, signer);
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
  readonly pace?: Pace;
}): Promise<Sealing> => {
  const { pool, log, logger, pace = usualPace } = deps;
  const means = { ...deps, pace };
  await ensureChains(pool, log);

  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let signing: Promise<void> = Promise.resolve();

  /** No clock runs while everything is signed. */
  const signLater = (ms: number): void => {
    if (stopped || timer !== undefined) return;
    timer = setTimeout(() => {
      timer = undefined;
      signing = signTails();
    }, ms);
  };
  const signTails = async (): Promise<void> => {
    try {
      const nextMs = await transaction(pool, (tx) => sealTails(tx, means));
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
      // What a projector that is gone has left unsigned.
      if (chain !== null && chain.tailMs !== null) signLater(pace.ms);
      return chain;
    },
    handle: async (batch) => {
      const isUnsigned = await transaction(pool, (tx) => addToChain(tx, means, batch));
      if (isUnsigned) signLater(pace.ms);
    },
  });
  const failed = new Promise<never>((_, reject) => {
    subscription.done.catch(reject);
  });
  // The subscription has logged it.
  failed.catch(() => undefined);

  return {
    failed,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await subscription.stop();
      await signing;
    },
  };
};

import { topicNames } from '../../../../schemas/events/topics.js';
import type { EventLog } from '../../../event-log/port.js';
import type { Pool } from '../../../platform/postgres/pool.js';
import type { ChainPartition } from '../../../../projectors/log/seals/chain.js';
import {
  isSigned,
  type SignedCheckpoint,
  type TrustedKeys,
} from '../../../../projectors/log/seals/signed-checkpoint.js';
import { CliError } from '../../cli/errors.js';
import type { ProgressOptions } from '../../cli/long-work.js';
import { verifyPartition, type PartitionInput, type PartitionVerdict } from './partition.js';
import { publishedKeys, sealStore } from '../../../../projectors/log/seals/seal-store.js';

const cannotVerify = (why: string): CliError => new CliError('REFUSED', why);

interface VerifySealsOptions extends ProgressOptions {
  readonly pool: Pool;
  readonly log: EventLog;
  readonly keys: TrustedKeys;
  readonly known: readonly SignedCheckpoint[];
  /** The last checkpoints in the folder next to the key; empty if the key is on another machine. */
  readonly remembered?: readonly SignedCheckpoint[];
}

type PartitionSeals = Pick<PartitionInput, 'topic' | 'range' | 'newest' | 'known'>;

const isSameChain = (chain: ChainPartition, other: ChainPartition): boolean =>
  chain.topic === other.topic && chain.partition === other.partition;

/** @throws CliError unless a checkpoint is of this log, and signed by a trusted key */
const requireFitting = (seal: SignedCheckpoint, log: EventLog, keys: TrustedKeys): void => {
  const topic = topicNames.find((name) => name === seal.topic);
  if (topic === undefined || log.logId(topic) !== seal.logId) {
    const ours = topic === undefined ? `one without a topic ${seal.topic}` : log.logId(topic);
    throw cannotVerify(`the checkpoint is of the log ${seal.logId}, but this log is ${ours}`);
  }
  if (!keys.has(seal.keyId)) {
    const given = [...keys.keys()].join(', ');
    throw cannotVerify(
      `the checkpoint was signed with the key ${seal.keyId}, but --public-key is ${given}`,
    );
  }
  if (!isSigned(seal, keys)) {
    throw cannotVerify(
      `the checkpoint of ${seal.topic}/${seal.partition} was altered since it was signed`,
    );
  }
};

/** @throws CliError if the log is sealed with none of the keys */
const requireItsKey = async (pool: Pool, keys: TrustedKeys): Promise<void> => {
  const published = await publishedKeys(pool);
  if (published.length === 0 || published.some(({ id }) => keys.has(id))) return;
  const theirs = published.map(({ id }) => id).join(', ');
  const given = [...keys.keys()].join(', ');
  throw cannotVerify(`the log is sealed with the key ${theirs}, but --public-key is ${given}`);
};

/**
 * Reads the log up to its last seals and checks that every record is unchanged since it was sealed.
 *
 * @throws CliError
 */
export const verifySeals = async (options: VerifySealsOptions) => {
  const { pool, log, keys, known, progress, signal } = options;
  const remembered = (options.remembered ?? []).filter(({ keyId }) => keys.has(keyId));
  for (const seal of [...known, ...remembered]) requireFitting(seal, log, keys);
  await requireItsKey(pool, keys);
  const store = sealStore(pool, log);

  const inputs: PartitionSeals[] = [];
  for (const topic of topicNames) {
    // Seals are read before the ends of the log, so the log must have every record that they cover.
    const newest = new Map<number, SignedCheckpoint | null>();
    for (const { partition } of await log.ranges(topic)) {
      const chain = { topic, partition };
      const stored = await store.newest(chain, keys);
      const last = remembered.find((seal) => isSameChain(seal, chain)) ?? null;
      newest.set(partition, (last?.nextOffset ?? 0) > (stored?.nextOffset ?? 0) ? last : stored);
    }
    for (const range of await log.ranges(topic)) {
      const chain = { topic, partition: range.partition };
      const checkpoint = known.find((seal) => isSameChain(seal, chain)) ?? null;
      inputs.push({ topic, range, newest: newest.get(range.partition) ?? null, known: checkpoint });
    }
  }
  const lost = known.find(
    (seal) =>
      !inputs.some(({ topic, range }) => isSameChain({ topic, partition: range.partition }, seal)),
  );
  if (lost) throw cannotVerify(`the log contains no partition ${lost.topic}/${lost.partition}`);

  const total = inputs.reduce(
    (sum, { newest, known: checkpoint }) =>
      sum + Math.max(newest?.nextOffset ?? 0, checkpoint?.nextOffset ?? 0),
    0,
  );
  if (total === 0 && inputs.some(({ range }) => range.next > 0)) {
    throw cannotVerify('no seal of this log was signed with a --public-key');
  }

  let done = 0;
  progress?.(done, total);
  const partitions: PartitionVerdict[] = [];
  const onRecords = (count: number): void => {
    done += count;
    progress?.(done, total);
  };
  for (const input of inputs) {
    partitions.push(await verifyPartition({ ...input, log, store, keys, onRecords, signal }));
  }
  const sumOf = (records: (verdict: PartitionVerdict) => number): number =>
    partitions.reduce((sum, verdict) => sum + records(verdict), 0);
  return {
    partitions,
    proven: sumOf(({ provenTo }) => provenTo),
    /** Records after the last seal of their partition. */
    unproven: sumOf(({ provenTo, end, broken }) =>
      broken === null ? Math.max(0, end - provenTo) : 0,
    ),
    isIntact: partitions.every(
      ({ broken, damagedSeals }) => broken === null && damagedSeals.length === 0,
    ),
  };
};

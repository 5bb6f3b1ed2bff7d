import type { EventLog, LogRecord, TopicPartition } from '../../../ops/event-log/port.js';
import { extendChain, fingerprintBytes, genesisOf } from './chain.js';
import type { SignedCheckpoint } from './signed-checkpoint.js';

/** The database or the log does not continue the chain that the key has signed, so it is not signed any more. */
export class ChainBroken extends Error {
  readonly code = 'CHAIN_BROKEN';
}

/** A chain that this process has computed from the log, starting at a checkpoint that the key has signed. */
export interface RecomputedChain {
  readonly offset: number;
  readonly hash: Buffer;
  /** The fingerprints of records without a checkpoint. */
  readonly fingerprints: Buffer;
  /** The last checkpoint that the key has signed; the chain may not have reached it yet. */
  readonly last: SignedCheckpoint | null;
}

export const isPastLast = ({ last, offset }: RecomputedChain): boolean =>
  last === null || last.nextOffset <= offset;

/** @throws ChainBroken if the chain's hash differs from the last checkpoint */
export const extendRecomputed = (
  topicPartition: TopicPartition,
  chain: RecomputedChain,
  records: readonly LogRecord[],
): RecomputedChain => {
  const { last, offset, fingerprints } = chain;
  const toLast = last === null ? -1 : last.nextOffset - offset;
  if (toLast > 0 && toLast < records.length) {
    const atLast = extendRecomputed(topicPartition, chain, records.slice(0, toLast));
    return extendRecomputed(topicPartition, atLast, records.slice(toLast));
  }
  const added = extendChain(topicPartition, chain.hash, records);
  if (toLast === records.length && last?.hash !== added.hash.toString('hex')) {
    throw new ChainBroken(
      `${topicPartition.topic}/${topicPartition.partition} is not what it was when it was sealed up to ${offset + toLast}`,
    );
  }
  return {
    offset: offset + records.length,
    hash: added.hash,
    fingerprints: Buffer.concat([fingerprints, added.fingerprints]),
    last,
  };
};

/**
 * Computes a chain from the log up to `to`, with the fingerprints from `from` on. It starts at the last checkpoint up to
 * `from` that the key has signed, in its state file or in the database; without one, at the first record.
 *
 * @throws ChainBroken
 */
export const recompute = async (
  topicPartition: TopicPartition,
  log: Pick<EventLog, 'logId' | 'read' | 'ranges'>,
  signed: {
    readonly last: SignedCheckpoint | null;
    readonly stored: SignedCheckpoint | null;
  },
  {
    from,
    to,
    signal,
  }: { readonly from: number; readonly to: number; readonly signal: AbortSignal },
): Promise<RecomputedChain> => {
  const { topic, partition } = topicPartition;
  const { last, stored } = signed;
  const genesis = {
    nextOffset: 0,
    hash: genesisOf(log.logId(topic), topicPartition).toString('hex'),
  };
  const base = [last, stored]
    .filter((seal) => seal !== null)
    .reduce(
      (best: Pick<SignedCheckpoint, 'nextOffset' | 'hash'>, seal) =>
        seal.nextOffset <= from && seal.nextOffset > best.nextOffset ? seal : best,
      genesis,
    );
  let chain: RecomputedChain = {
    offset: base.nextOffset,
    hash: Buffer.from(base.hash, 'hex'),
    fingerprints: Buffer.alloc(0),
    last,
  };
  const broken = (reason: string): ChainBroken =>
    new ChainBroken(`${topic}/${partition} ${reason}`);
  for await (const { records } of log.read(topic, partition, chain.offset, to)) {
    signal.throwIfAborted();
    if (records[0]?.offset !== chain.offset) throw broken(`has no record at ${chain.offset}`);
    const { fingerprints, ...grown } = extendRecomputed(topicPartition, chain, records);
    const uncovered =
      Math.max(0, grown.offset - Math.max(from, base.nextOffset)) * fingerprintBytes;
    chain = { ...grown, fingerprints: fingerprints.subarray(fingerprints.length - uncovered) };
  }
  if (chain.offset < to) throw broken(`has no record at ${chain.offset}`);
  if (!isPastLast(chain)) {
    const end = (await log.ranges(topic)).find((range) => range.partition === partition)?.next;
    const lastEnd = last?.nextOffset ?? 0;
    if (lastEnd > (end ?? 0)) throw broken(`was sealed up to ${lastEnd}, and ends at ${end ?? 0}`);
  }
  return chain;
};

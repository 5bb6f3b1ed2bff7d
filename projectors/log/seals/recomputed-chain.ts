import type { EventLog, LogRecord } from '../../../ops/event-log/port.js';
import type { TopicName } from '../../../schemas/events/topics.js';
import { extendChain, fingerprintBytes, genesisOf } from './chain.js';
import type { SignedCheckpoint } from './signed-checkpoint.js';

/**
 * What the database or the log says does not continue what the key has signed. Nothing is signed on top
 * of it.
 */
export class ChainBroken extends Error {
  readonly code = 'CHAIN_BROKEN';
}

interface Place {
  readonly topic: TopicName;
  readonly partition: number;
}

/** A chain as this process has computed it from the log, on top of what the key has signed. */
export interface RecomputedChain {
  /** The offset of the next record. */
  readonly offset: number;
  readonly hash: Buffer;
  /** Of the records that no checkpoint covers yet. */
  readonly fingerprints: Buffer;
  /** What the key signed last. A chain that ends before it has yet to come by. */
  readonly last: SignedCheckpoint | null;
}

/** Whether the chain has come to where the key has signed last. */
export const isPastLast = ({ last, offset }: RecomputedChain): boolean =>
  last === null || last.nextOffset <= offset;

/** @throws ChainBroken where the chain comes by the last checkpoint with another hash */
export const extendRecomputed = (
  place: Place,
  chain: RecomputedChain,
  records: readonly LogRecord[],
): RecomputedChain => {
  const { last, offset, fingerprints } = chain;
  const toLast = last === null ? -1 : last.nextOffset - offset;
  if (toLast > 0 && toLast < records.length) {
    const atLast = extendRecomputed(place, chain, records.slice(0, toLast));
    return extendRecomputed(place, atLast, records.slice(toLast));
  }
  const added = extendChain(place, chain.hash, records);
  if (toLast === records.length && last?.hash !== added.hash.toString('hex')) {
    throw new ChainBroken(
      `${place.topic}/${place.partition} is not what it was when it was sealed up to ${offset + toLast}`,
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
 * Computes a chain from the log, up to `to`, with the fingerprints from `from` on. It begins at the last
 * checkpoint, not past `from`, that the key has signed: the one that it remembers, or one in the database;
 * without any at the first record.
 *
 * @throws ChainBroken
 */
export const recompute = async (
  place: Place,
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
  const { topic, partition } = place;
  const { last, stored } = signed;
  const genesis = { nextOffset: 0, hash: genesisOf(log.logId(topic), place).toString('hex') };
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
  const broken = (what: string): ChainBroken => new ChainBroken(`${topic}/${partition} ${what}`);
  for await (const { records } of log.read(topic, partition, chain.offset, to)) {
    signal.throwIfAborted();
    if (records[0]?.offset !== chain.offset) throw broken(`holds no record at ${chain.offset}`);
    const { fingerprints, ...grown } = extendRecomputed(place, chain, records);
    const kept = Math.max(0, grown.offset - Math.max(from, base.nextOffset)) * fingerprintBytes;
    chain = { ...grown, fingerprints: fingerprints.subarray(fingerprints.length - kept) };
  }
  if (chain.offset < to) throw broken(`holds no record at ${chain.offset}`);
  if (!isPastLast(chain)) {
    const end = (await log.ranges(topic)).find((range) => range.partition === partition)?.next;
    const lastEnd = last?.nextOffset ?? 0;
    if (lastEnd > (end ?? 0)) throw broken(`was sealed up to ${lastEnd}, and ends at ${end ?? 0}`);
  }
  return chain;
};

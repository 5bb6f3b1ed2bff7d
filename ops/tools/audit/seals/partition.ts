import type { TopicName } from '../../../../schemas/events/topics.js';
import type { EventLog, LogRecord, PartitionRange } from '../../../platform/event-log/port.js';
import { chainOf, fingerprintBytes, genesisOf } from '../../../../projectors/seals/chain.js';
import type { SignedCheckpoint } from '../../../../projectors/seals/signed-checkpoint.js';
import type { StoredSeal } from './stored.js';

/** Where the log is not what was sealed. */
export interface Break {
  /** The first bad offset; of several that it may be, the lowest. */
  readonly first: number;
  /** The same, unless the seals that would tell it exactly are gone or forged. */
  readonly last: number;
  /**
   * The record is another one (changed, put in, or moved); there is none; or the chain ends in another
   * hash than the verifier knows, though it is sealed: who did it has the key.
   */
  readonly what: 'differs' | 'missing' | 'sealed anew';
}

export interface PartitionVerdict {
  readonly topic: TopicName;
  readonly partition: number;
  /** Below it, every record is what it was when it was sealed. */
  readonly provenTo: number;
  /** When that was sealed; `null` where nothing is proven by a seal. */
  readonly sealedAt: string | null;
  /** The log's end. */
  readonly end: number;
  readonly broken: Break | null;
  /** Stored seals that are gone, or not what the key has signed: where each ends. */
  readonly damagedSeals: readonly number[];
}

/** Follows the stored seals along the chain: their fingerprints tell where it leaves them. */
class SealTrail {
  readonly damaged: number[] = [];
  readonly #seals: AsyncIterator<StoredSeal>;
  #current: StoredSeal | null = null;
  /** The first record that is compared with it. */
  #since = 0;
  /** Whether it is still believed. */
  #isUsable = false;

  constructor(
    seals: AsyncIterable<StoredSeal>,
    private readonly isSigned: (seal: SignedCheckpoint) => boolean,
  ) {
    this.#seals = seals[Symbol.asyncIterator]();
  }

  /** The offset at which `advance` is due. */
  get end(): number {
    return this.#current?.nextOffset ?? Infinity;
  }

  /** Takes up the seal that covers the record at `offset`, or the next one after it. */
  async advance(offset: number): Promise<void> {
    do {
      const next = await this.#seals.next();
      this.#current = next.done === true ? null : next.value;
      if (this.#current === null) return;
      const { from } = this.#current;
      // The one before it is gone.
      if (from > offset) this.damaged.push(from);
      this.#since = Math.max(from, offset);
      this.#isUsable = true;
    } while (this.#current.nextOffset <= offset);
  }

  /** Whether the chain, with this hash after the record at `offset`, still is the one that was sealed. */
  isMet(offset: number, hash: Buffer): boolean {
    const seal = this.#current;
    if (seal === null || !this.#isUsable || offset < this.#since) return true;
    const at = (offset - seal.from) * fingerprintBytes;
    if (hash.compare(seal.storedFingerprints, at, at + fingerprintBytes, 0, fingerprintBytes) === 0)
      return true;
    if (this.isSigned(seal)) return false;
    this.damaged.push(seal.nextOffset);
    this.#isUsable = false;
    return true;
  }

  /** Whether its fingerprints prove all before `offset`: those before it in the same seal were met. */
  proves(offset: number): boolean {
    const seal = this.#current;
    if (seal === null || !this.#isUsable || offset <= this.#since) return false;
    return this.isSigned(seal);
  }

  /** Whether there is a seal whose fingerprints the chain has met up to `offset`. */
  reaches(offset: number): boolean {
    return this.#current !== null && this.#isUsable && this.#current.nextOffset >= offset;
  }
}

export interface PartitionInput {
  readonly log: Pick<EventLog, 'logId' | 'read'>;
  readonly topic: TopicName;
  readonly range: PartitionRange;
  /** The newest seal in the database that is signed; `null` where there is none. */
  readonly newest: SignedCheckpoint | null;
  /** The checkpoint that the verifier brought; `null` where it brought none. */
  readonly known: SignedCheckpoint | null;
  /** The seals in the database up to an offset, in their order. */
  readonly seals: (to: number) => AsyncIterable<StoredSeal>;
  /** The newest one of them that is signed. */
  readonly newestUpTo: (to: number) => Promise<SignedCheckpoint | null>;
  readonly isSigned: (seal: SignedCheckpoint) => boolean;
  readonly onRecords: (count: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Reads a partition from its start, and sees that it is what was sealed. */
export const verifyPartition = async (input: PartitionInput): Promise<PartitionVerdict> => {
  const { log, topic, range, newest, known, isSigned, onRecords, signal } = input;
  const { partition, first: begin, next: end } = range;
  const place = { topic, partition };
  const head = (newest?.nextOffset ?? 0) >= (known?.nextOffset ?? 0) ? newest : known;
  const to = head?.nextOffset ?? 0;
  const trail = new SealTrail(input.seals(to), isSigned);
  const link = chainOf(place);
  let hash = genesisOf(log.logId(topic), place);
  let offset = 0;

  /** What was found at `offset` may have begun before it, where seals are forged. */
  const breakAt = async (what: Break['what']): Promise<Break> => {
    const last = offset;
    if (what === 'sealed anew') return { first: 0, last, what };
    const proven = trail.proves(last) ? last : (await input.newestUpTo(last))?.nextOffset;
    return { first: proven ?? 0, last, what };
  };

  /** Whether the hash is that of the checkpoint which ends at `next`, if this one does. */
  const isAsIn = (seal: SignedCheckpoint | null, next: number): boolean =>
    seal?.nextOffset !== next || seal.hash === hash.toString('hex');

  /** Adds a record to the chain; what is wrong with it, if anything is. */
  const add = (record: LogRecord): Break['what'] | null => {
    if (record.offset !== offset) return 'missing';
    hash = link(hash, record);
    if (!trail.isMet(offset, hash) || !isAsIn(newest, offset + 1)) return 'differs';
    // Where stored seals fit the log, and not the checkpoint, they prove nothing.
    if (!isAsIn(known, offset + 1)) return trail.reaches(offset + 1) ? 'sealed anew' : 'differs';
    offset += 1;
    return null;
  };

  const read = async (): Promise<Break | null> => {
    if (to === 0) return null;
    // What retention, or somebody, has cut off.
    if (begin > 0) return { first: 0, last: 0, what: 'missing' };
    for await (const { records } of log.read(topic, partition, 0, Math.min(to, end))) {
      signal?.throwIfAborted();
      for (const record of records) {
        if (offset === 0 || offset >= trail.end) await trail.advance(offset);
        const wrong = add(record);
        if (wrong !== null) return breakAt(wrong);
      }
      onRecords(records.length);
    }
    return offset < to ? breakAt('missing') : null;
  };

  const broken = await read();
  const damagedSeals = [...trail.damaged];
  // Those that came after the one the verifier knows were there, or it could not know it.
  if (known !== null && known.nextOffset > (newest?.nextOffset ?? 0)) {
    damagedSeals.push(known.nextOffset);
  }
  return {
    ...place,
    provenTo: broken === null ? to : broken.first,
    sealedAt: head?.time ?? null,
    end,
    broken,
    damagedSeals,
  };
};

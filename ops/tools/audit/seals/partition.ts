import type { TopicName } from '../../../../schemas/events/topics.js';
import {
  DamagedRecords,
  type EventLog,
  type LogRecord,
  type PartitionRange,
} from '../../../event-log/port.js';
import { chainOf, fingerprintBytes, genesisOf } from '../../../../projectors/log/seals/chain.js';
import {
  isSigned,
  type SignedCheckpoint,
  type TrustedKeys,
} from '../../../../projectors/log/seals/signed-checkpoint.js';
import type { SealStore, StoredSeal } from '../../../../projectors/log/seals/seal-store.js';

interface Break {
  /** The lower bound of the first bad offset. */
  readonly first: number;
  /** The upper bound, which is the same unless seals between them are missing or forged. */
  readonly last: number;
  /**
   * `differs`: the record was changed, inserted or moved. `missing`: there is no record. `sealed anew`: log and seals are
   * consistent, but do not match the verifier's checkpoint, so the forger has the key.
   */
  readonly what: 'differs' | 'missing' | 'sealed anew';
}

export interface PartitionVerdict {
  readonly topic: TopicName;
  readonly partition: number;
  /** Every record below this offset is unchanged since it was sealed. */
  readonly provenTo: number;
  /** The time of that seal; `null` without a seal. */
  readonly sealedAt: string | null;
  readonly end: number;
  readonly broken: Break | null;
  /** The end offsets of stored seals that are missing, or that no trusted key has signed. */
  readonly damagedSeals: readonly number[];
}

/** Compares the chain with the fingerprints of the stored seals in order. */
class SealTrail {
  readonly damaged: number[] = [];
  readonly #seals: AsyncIterator<StoredSeal>;
  #current: StoredSeal | null = null;
  /** The first offset that is compared with the current seal. */
  #since = 0;
  /** `false` once the current seal has turned out to be forged. */
  #isUsable = false;

  constructor(
    seals: AsyncIterable<StoredSeal>,
    private readonly keys: TrustedKeys,
  ) {
    this.#seals = seals[Symbol.asyncIterator]();
  }

  /** The end of the current seal, at which `advance` must be called. */
  get end(): number {
    return this.#current?.nextOffset ?? Infinity;
  }

  /** Reads the seal that covers the record at `offset`, or the next one after it. */
  async advance(offset: number): Promise<void> {
    do {
      const next = await this.#seals.next();
      this.#current = next.done === true ? null : next.value;
      if (this.#current === null) return;
      const { from } = this.#current;
      // The seal before this one is missing.
      if (from > offset) this.damaged.push(from);
      this.#since = Math.max(from, offset);
      this.#isUsable = true;
    } while (this.#current.nextOffset <= offset);
  }

  /** Whether `hash`, the chain's hash after the record at `offset`, matches the seal. */
  fits(offset: number, hash: Buffer): boolean {
    const seal = this.#current;
    if (seal === null || !this.#isUsable || offset < this.#since) return true;
    const at = (offset - seal.from) * fingerprintBytes;
    if (hash.compare(seal.storedFingerprints, at, at + fingerprintBytes, 0, fingerprintBytes) === 0)
      return true;
    if (isSigned(seal, this.keys)) return false;
    this.damaged.push(seal.nextOffset);
    this.#isUsable = false;
    return true;
  }

  proves(offset: number): boolean {
    const seal = this.#current;
    if (seal === null || !this.#isUsable || offset <= this.#since) return false;
    return isSigned(seal, this.keys);
  }

  /** Whether the current seal, which the chain fits so far, covers the records up to `offset`. */
  reaches(offset: number): boolean {
    return this.#current !== null && this.#isUsable && this.#current.nextOffset >= offset;
  }
}

export interface PartitionInput {
  readonly log: Pick<EventLog, 'logId' | 'read'>;
  readonly store: Pick<SealStore, 'upTo' | 'newest'>;
  readonly keys: TrustedKeys;
  readonly topic: TopicName;
  readonly range: PartitionRange;
  /** The newest signed seal in the database or next to the key; `null` without one. */
  readonly newest: SignedCheckpoint | null;
  /** The verifier's checkpoint; `null` without one. */
  readonly known: SignedCheckpoint | null;
  readonly onRecords: (count: number) => void;
  readonly signal?: AbortSignal | undefined;
}

export const verifyPartition = async (input: PartitionInput): Promise<PartitionVerdict> => {
  const { log, store, keys, topic, range, newest, known, onRecords, signal } = input;
  const { partition, first: begin, next: end } = range;
  const chain = { topic, partition };
  const head = (newest?.nextOffset ?? 0) >= (known?.nextOffset ?? 0) ? newest : known;
  const to = head?.nextOffset ?? 0;
  const trail = new SealTrail(store.upTo(chain, to), keys);
  const link = chainOf(chain);
  let hash = genesisOf(log.logId(topic), chain);
  let offset = 0;

  /** Returns the break that is detected at `offset`. With forged seals, it may begin before. */
  const breakAt = async (what: Break['what']): Promise<Break> => {
    const last = offset;
    if (what === 'sealed anew') return { first: 0, last, what };
    const proven = trail.proves(last) ? last : (await store.newest(chain, keys, last))?.nextOffset;
    return { first: proven ?? 0, last, what };
  };

  /** Whether the chain matches a checkpoint; true if the checkpoint does not end at `next`. */
  const matches = (seal: SignedCheckpoint | null, next: number): boolean =>
    seal?.nextOffset !== next || seal.hash === hash.toString('hex');

  /** Adds a record to the chain. Returns the kind of break; `null` if the record is as it was sealed. */
  const add = (record: LogRecord): Break['what'] | null => {
    if (record.offset !== offset) return 'missing';
    hash = link(hash, record);
    if (!trail.fits(offset, hash) || !matches(newest, offset + 1)) return 'differs';
    // Stored seals that contradict the verifier's checkpoint prove nothing.
    if (!matches(known, offset + 1)) return trail.reaches(offset + 1) ? 'sealed anew' : 'differs';
    offset += 1;
    return null;
  };

  const take = async (records: readonly LogRecord[]): Promise<Break | null> => {
    signal?.throwIfAborted();
    for (const record of records) {
      if (offset === 0 || offset >= trail.end) await trail.advance(offset);
      const wrong = add(record);
      if (wrong !== null) return breakAt(wrong);
    }
    onRecords(records.length);
    return null;
  };

  const read = async (): Promise<Break | null> => {
    if (to === 0) return null;
    // The beginning was deleted, for example by retention.
    if (begin > 0) return { first: 0, last: 0, what: 'missing' };
    try {
      for await (const { records } of log.read(topic, partition, 0, Math.min(to, end))) {
        const found = await take(records);
        if (found !== null) return found;
      }
    } catch (error) {
      if (!(error instanceof DamagedRecords)) throw error;
      return (await take(error.records)) ?? breakAt('missing');
    }
    return offset < to ? breakAt('missing') : null;
  };

  const broken = await read();
  const damagedSeals = [...trail.damaged];
  // The verifier's checkpoint was once stored here, so a newer stored seal is missing.
  if (known !== null && known.nextOffset > (newest?.nextOffset ?? 0)) {
    damagedSeals.push(known.nextOffset);
  }
  return {
    ...chain,
    provenTo: broken === null ? to : broken.first,
    sealedAt: head?.time ?? null,
    end,
    broken,
    damagedSeals,
  };
};

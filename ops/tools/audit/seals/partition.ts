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

/** Where the log is not what was sealed. */
interface Break {
  /** The first bad offset; of several that it may be, the lowest. */
  readonly first: number;
  /** The same, unless the seals that would tell it exactly are gone or forged. */
  readonly last: number;
  /**
   * `differs`: another record is there, one that was changed, put in or moved. `missing`: there is none.
   * `sealed anew`: log and seals fit each other, but not the verifier's checkpoint. Whoever did that
   * has the key.
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
  /** Where each stored seal ends that is gone, or that no trusted key has signed. */
  readonly damagedSeals: readonly number[];
}

/** Compares the chain with the fingerprints of the stored seals, one seal after the other. */
class SealTrail {
  readonly damaged: number[] = [];
  readonly #seals: AsyncIterator<StoredSeal>;
  #current: StoredSeal | null = null;
  /** The first record that is compared with the current seal. */
  #since = 0;
  /** `false` once the current seal has turned out to be forged. */
  #isUsable = false;

  constructor(
    seals: AsyncIterable<StoredSeal>,
    private readonly keys: TrustedKeys,
  ) {
    this.#seals = seals[Symbol.asyncIterator]();
  }

  /** The end of the current seal: `advance` is due there. */
  get end(): number {
    return this.#current?.nextOffset ?? Infinity;
  }

  /** Goes on to the seal that covers the record at `offset`, or to the next one after it. */
  async advance(offset: number): Promise<void> {
    do {
      const next = await this.#seals.next();
      this.#current = next.done === true ? null : next.value;
      if (this.#current === null) return;
      const { from } = this.#current;
      // The seal before this one is gone.
      if (from > offset) this.damaged.push(from);
      this.#since = Math.max(from, offset);
      this.#isUsable = true;
    } while (this.#current.nextOffset <= offset);
  }

  /** Whether `hash`, the chain's after the record at `offset`, is the one that was sealed. */
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

  /** Whether the current seal proves all records before `offset`. */
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
  /** The newest seal that is signed, in the database or beside the key; `null` where there is none. */
  readonly newest: SignedCheckpoint | null;
  /** The checkpoint that the verifier brought; `null` where it brought none. */
  readonly known: SignedCheckpoint | null;
  readonly onRecords: (count: number) => void;
  readonly signal?: AbortSignal | undefined;
}

/** Reads a partition from its start, and checks that it is what was sealed. */
export const verifyPartition = async (input: PartitionInput): Promise<PartitionVerdict> => {
  const { log, store, keys, topic, range, newest, known, onRecords, signal } = input;
  const { partition, first: begin, next: end } = range;
  const place = { topic, partition };
  const head = (newest?.nextOffset ?? 0) >= (known?.nextOffset ?? 0) ? newest : known;
  const to = head?.nextOffset ?? 0;
  const trail = new SealTrail(store.upTo(place, to), keys);
  const link = chainOf(place);
  let hash = genesisOf(log.logId(topic), place);
  let offset = 0;

  /** A break that shows at `offset`. Where seals are forged, it may have begun before. */
  const breakAt = async (what: Break['what']): Promise<Break> => {
    const last = offset;
    if (what === 'sealed anew') return { first: 0, last, what };
    const proven = trail.proves(last) ? last : (await store.newest(place, keys, last))?.nextOffset;
    return { first: proven ?? 0, last, what };
  };

  /** Whether the chain fits a checkpoint. One that does not end at `next` always fits. */
  const isAsIn = (seal: SignedCheckpoint | null, next: number): boolean =>
    seal?.nextOffset !== next || seal.hash === hash.toString('hex');

  /** Adds a record to the chain. Returns what is wrong with the record, if anything is. */
  const add = (record: LogRecord): Break['what'] | null => {
    if (record.offset !== offset) return 'missing';
    hash = link(hash, record);
    if (!trail.fits(offset, hash) || !isAsIn(newest, offset + 1)) return 'differs';
    // Stored seals that fit the log but not the verifier's checkpoint prove nothing.
    if (!isAsIn(known, offset + 1)) return trail.reaches(offset + 1) ? 'sealed anew' : 'differs';
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
    // Retention, or somebody, has cut off the beginning.
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
  // The verifier's checkpoint was once the newest seal here: so a later one than any stored is gone.
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

import type { Queryable } from '../platform/postgres/pool.js';
import type { LogRecord } from './port.js';
import {
  readRows,
  unpack,
  type LogRow,
  type OffsetRange,
  type UnpackedRecords,
} from './postgres-batches.js';

interface Recent {
  readonly records: readonly LogRecord[];
  /** Total length of the values. */
  readonly characters: number;
}

/** Characters for each partition, which are some seconds of link events under full load. */
const maxCharacters = 1_000_000;

const charactersOf = (records: readonly LogRecord[]): number =>
  records.reduce((sum, { value }) => sum + value.length, 0);

const firstOf = (records: readonly LogRecord[]): number => records[0]?.offset ?? 0;
const endOf = (records: readonly LogRecord[]): number => (records.at(-1)?.offset ?? -1) + 1;

const isWithoutGap = (records: readonly LogRecord[], from: number): boolean =>
  records.length > 0 && firstOf(records) === from && endOf(records) === from + records.length;

/** Drops the older half if there are too many. */
const shortened = ({ records, characters }: Recent): Recent => {
  if (characters <= maxCharacters) return { records, characters };
  let size = 0;
  const last = records.findLastIndex(({ value }) => (size += value.length) > maxCharacters / 2);
  const newest = records.slice(last + 1);
  return { records: newest, characters: charactersOf(newest) };
};

/** Caches recent records, because the readers of a process read the same records within a second. */
export class RecentRecords {
  /** By partition id. */
  readonly #recent = new Map<number, Recent>();

  constructor(private readonly postgres: Queryable) {}

  /** Returns the records of ranges by partition id, with the rest of the last row. Queries uncached records only. */
  async read(ranges: readonly OffsetRange[]): Promise<ReadonlyMap<number, UnpackedRecords>> {
    const known = ranges.map(({ partitionId, from, to }) => {
      const records = this.#from(partitionId, from);
      return { records, rest: { partitionId, from: from + records.length, to } };
    });
    const unread = known.map(({ rest }) => rest).filter(({ from, to }) => from < to);
    const rows = unread.length > 0 ? await readRows(this.postgres, unread) : null;
    const found = known.map(({ records, rest }): [number, UnpackedRecords] => {
      const { partitionId, from } = rest;
      const { records: added, damaged } = this.#unpack(rows?.get(partitionId), partitionId, from);
      return [partitionId, { records: [...records, ...added], damaged }];
    });
    return new Map(found.filter(([, { records, damaged }]) => records.length > 0 || damaged));
  }

  forget(partitionId: number): void {
    this.#recent.delete(partitionId);
  }

  #from(partitionId: number, offset: number): readonly LogRecord[] {
    const { records = [] } = this.#recent.get(partitionId) ?? {};
    const first = firstOf(records);
    return offset < first ? [] : records.slice(offset - first);
  }

  #unpack(rows: readonly LogRow[] = [], partitionId: number, from: number): UnpackedRecords {
    const found = unpack(rows, from);
    // Damaged rows are not cached, because they may be repaired.
    if (found.damaged === null && isWithoutGap(found.records, from)) {
      this.#remember(partitionId, found.records);
    }
    return found;
  }

  #remember(partitionId: number, added: readonly LogRecord[]): void {
    const known = this.#recent.get(partitionId);
    const end = known ? endOf(known.records) : 0;
    // Another reader has cached them, or this one is behind.
    if (firstOf(added) < end) return;
    const isNext = known !== undefined && firstOf(added) === end;
    const recent = shortened({
      records: isNext ? [...known.records, ...added] : added,
      characters: (isNext ? known.characters : 0) + charactersOf(added),
    });
    if (recent.records.length > 0) this.#recent.set(partitionId, recent);
    else this.#recent.delete(partitionId);
  }
}

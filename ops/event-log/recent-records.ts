import type { Queryable } from '../platform/postgres/pool.js';
import type { DamagedRecords, LogRecord } from './port.js';
import { readRows, unpack, type LogRow, type OffsetRange } from './postgres-batches.js';

/** Records of a partition, in order, up to the first row that is not what it says. */
export interface FoundRecords {
  readonly records: readonly LogRecord[];
  readonly damaged: DamagedRecords | null;
}

/** Without a gap, at least one. */
interface Recent {
  readonly records: readonly LogRecord[];
  /** Of their values. */
  readonly characters: number;
}

/** What is kept of a partition: some seconds of events of links under a full load. */
const mostCharacters = 1_000_000;

const charactersOf = (records: readonly LogRecord[]): number =>
  records.reduce((sum, { value }) => sum + value.length, 0);

const firstOf = (records: readonly LogRecord[]): number => records[0]?.offset ?? 0;
const endOf = (records: readonly LogRecord[]): number => (records.at(-1)?.offset ?? -1) + 1;

const isWithoutGap = (records: readonly LogRecord[], from: number): boolean =>
  records.length > 0 && firstOf(records) === from && endOf(records) === from + records.length;

/** The newest ones, half of what may be kept, where there are more than that. */
const shortened = ({ records, characters }: Recent): Recent => {
  if (characters <= mostCharacters) return { records, characters };
  let kept = 0;
  const last = records.findLastIndex(({ value }) => (kept += value.length) > mostCharacters / 2);
  const newest = records.slice(last + 1);
  return { records: newest, characters: charactersOf(newest) };
};

/**
 * What readers of the log found lately. Those of one process read the same records within a second, and to find,
 * send and parse them costs more than what some of them do with them.
 */
export class RecentRecords {
  /** By partition id. */
  readonly #recent = new Map<number, Recent>();

  constructor(private readonly postgres: Queryable) {}

  /**
   * The records of the ranges, by partition id, with the rest of the last row; nothing of a range that has
   * none. PostgreSQL is asked for those alone that nobody has read before.
   */
  async read(ranges: readonly OffsetRange[]): Promise<ReadonlyMap<number, FoundRecords>> {
    const known = ranges.map(({ partitionId, from, to }) => {
      const records = this.#from(partitionId, from);
      return { records, rest: { partitionId, from: from + records.length, to } };
    });
    const unread = known.map(({ rest }) => rest).filter(({ from, to }) => from < to);
    const rows = unread.length > 0 ? await readRows(this.postgres, unread) : null;
    const found = known.map(({ records, rest }): [number, FoundRecords] => {
      const { partitionId, from } = rest;
      const { records: added, damaged } = this.#unpack(rows?.get(partitionId), partitionId, from);
      return [partitionId, { records: [...records, ...added], damaged }];
    });
    return new Map(found.filter(([, { records, damaged }]) => records.length > 0 || damaged));
  }

  /** Has the next reader of the partition ask PostgreSQL. */
  forget(partitionId: number): void {
    this.#recent.delete(partitionId);
  }

  #from(partitionId: number, offset: number): readonly LogRecord[] {
    const { records = [] } = this.#recent.get(partitionId) ?? {};
    const first = firstOf(records);
    return offset < first ? [] : records.slice(offset - first);
  }

  #unpack(rows: readonly LogRow[] = [], partitionId: number, from: number): FoundRecords {
    const found = unpack(rows, from);
    // What was altered may be mended: it is looked at again.
    if (found.damaged === null && isWithoutGap(found.records, from)) {
      this.#remember(partitionId, found.records);
    }
    return found;
  }

  #remember(partitionId: number, added: readonly LogRecord[]): void {
    const known = this.#recent.get(partitionId);
    const end = known ? endOf(known.records) : 0;
    // Another reader has found them meanwhile, or this one is behind.
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

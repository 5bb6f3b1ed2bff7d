/**
 * Rows of `log.records`, for appends, and of `log.segments`, which the compactor creates. A row is a record with its key,
 * or a batch of records as lines, without a key.
 */
import { groupBy } from '../platform/collections.js';
import { valuesByField, type Queryable } from '../platform/postgres/pool.js';
import { isLine, lineLimits, readLines } from './lines.js';
import {
  DamagedRecords,
  type Batch,
  type LogRecord,
  type NewLines,
  type NewRecord,
  type Records,
} from './port.js';
import type { KnownPartition } from './postgres-partitions.js';

export interface PlacedRecord extends NewRecord {
  readonly partitionId: number;
  /** The sequence of an event of the ledger, which has its own row, so that it can be found by key and sequence. */
  readonly sequence: number | null;
}

export interface PlacedLines extends Omit<NewLines, 'partition'> {
  readonly partitionId: number;
}

interface NewRow {
  readonly partitionId: number;
  readonly records: number;
  /** `null` for a batch. */
  readonly key: string | null;
  readonly sequence: number | null;
  readonly value: string | Buffer;
}

export interface LogRow extends Pick<NewRow, 'records' | 'key'> {
  readonly firstOffset: number;
  readonly value: string;
}

type Placed = PlacedRecord | PlacedLines;
type PlacedBatch = readonly [PlacedRecord, ...PlacedRecord[]];

const rowOf = (batch: PlacedBatch | PlacedLines): NewRow => {
  if ('lines' in batch) {
    const { partitionId, records, lines } = batch;
    return { partitionId, records, key: null, sequence: null, value: lines };
  }
  const [{ partitionId, key, sequence, value }] = batch;
  const records = batch.length;
  if (records === 1) return { partitionId, records, key, sequence, value };
  const lines = batch.map((record) => record.value).join('\n');
  return { partitionId, records, key: null, sequence: null, value: lines };
};

/** Returns rows for records, in the order of each partition. */
export const rowsOf = (records: readonly Placed[]): readonly NewRow[] => {
  const batches: (PlacedBatch | PlacedLines)[] = [];
  /** The last batch of each partition, if it may grow. */
  const open = new Map<number, { readonly batch: PlacedRecord[]; bytes: number }>();
  for (const record of records) {
    if ('lines' in record) {
      batches.push(record);
      open.delete(record.partitionId);
      continue;
    }
    const { partitionId, sequence, value } = record;
    const mayJoin = sequence === null && isLine(record);
    const bytes = Buffer.byteLength(value);
    const last = mayJoin ? open.get(partitionId) : undefined;
    if (last && last.batch.length < lineLimits.records && last.bytes + bytes <= lineLimits.bytes) {
      last.batch.push(record);
      last.bytes += bytes;
      continue;
    }
    const batch: [PlacedRecord] = [record];
    batches.push(batch);
    if (mayJoin) open.set(partitionId, { batch, bytes });
    else open.delete(partitionId);
  }
  return batches.map(rowOf);
};

export const recordsIn = ({ firstOffset, key, value }: LogRow): readonly LogRecord[] =>
  key !== null
    ? [{ offset: firstOffset, key, value }]
    : // Field by field, because a spread is slower.
      readLines(value).map(({ key: subject, value: line }, index) => {
        return { offset: firstOffset + index, key: subject, value: line };
      });

/** Offsets from `from` to `to` (exclusive). */
export interface OffsetRange {
  readonly partitionId: number;
  readonly from: number;
  readonly to: number;
}

/** Selects the rows of a table that have records of a range `s`, also if they begin before it. */
const rowsIn = (table: 'records' | 'segments'): string => `
  SELECT first_offset, records, key, value FROM log.${table}
  WHERE partition_id = s.id AND first_offset < s.to_offset AND first_offset + records > s.from_offset
    AND first_offset >= coalesce(
      (SELECT max(first_offset) FROM log.${table}
       WHERE partition_id = s.id AND first_offset <= s.from_offset), s.from_offset)`;

const maxRowsContaining = 2;

/**
 * Returns the rows of ranges by partition, in order. One statement reads a row before or after the compactor moves it.
 *
 * @param containing omits rows without this text, and rows beyond `maxRowsContaining`
 */
export const readRows = async (
  postgres: Queryable,
  ranges: readonly OffsetRange[],
  containing?: string,
): Promise<ReadonlyMap<number, readonly LogRow[]>> => {
  const { rows } = await postgres.query<LogRow & { readonly partitionId: number }>({
    name: containing === undefined ? 'log-rows' : 'log-rows-containing',
    text: `SELECT s.id AS "partitionId", r.first_offset AS "firstOffset", r.records, r.key, r.value
           FROM unnest($1::smallint[], $2::bigint[], $3::bigint[]) AS s (id, from_offset, to_offset)
           JOIN log.partitions p ON p.id = s.id AND p.next_offset > s.from_offset
           CROSS JOIN LATERAL (${rowsIn('segments')} UNION ALL ${rowsIn('records')}) r
           ${containing === undefined ? '' : 'WHERE strpos(r.value, $4) > 0'}
           ORDER BY s.id, r.first_offset ${containing === undefined ? '' : `LIMIT ${maxRowsContaining}`}`,
    values: [
      ...valuesByField(ranges, 'partitionId', 'from', 'to'),
      ...(containing === undefined ? [] : [containing]),
    ],
  });
  return groupBy(rows, ({ partitionId }) => partitionId);
};

/** Records of a partition, up to the first damaged row. */
interface Unpacked<Type extends Records = readonly LogRecord[]> {
  readonly records: Type;
  readonly damaged: DamagedRecords | null;
}

/** Unpacks the records of a range. */
export const unpack = (rows: readonly LogRow[], from: number, to: number): Unpacked => {
  const records: LogRecord[] = [];
  let next = 0;
  for (const row of rows) {
    const found = recordsIn(row);
    const wanted = found.filter(({ offset }) => offset >= from && offset < to);
    if (found.length !== row.records || row.firstOffset < next) {
      return { records, damaged: new DamagedRecords(row.firstOffset, wanted) };
    }
    records.push(...wanted);
    next = row.firstOffset + row.records;
  }
  return { records, damaged: null };
};

const linesOf = (text: string): number => {
  let lines = 1;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
};

/** Unpacks rows lazily, because the young-generation GC would copy all records of a large batch. */
class RowRecords implements Records {
  readonly #from: number;
  readonly #to: number;
  #unpacked: { readonly row: LogRow; readonly records: readonly LogRecord[] } | undefined;

  /** @param rows contiguous and undamaged */
  constructor(
    private readonly rows: readonly LogRow[],
    from: number,
    to: number,
  ) {
    const [first, last] = [rows[0], rows.at(-1)];
    this.#from = Math.max(from, first?.firstOffset ?? from);
    this.#to = Math.min(to, last ? endOf(last) : from);
  }

  get length(): number {
    return this.#to - this.#from;
  }

  at(index: number): LogRecord | undefined {
    const start = index < 0 ? this.length + index : index;
    return start < 0 ? undefined : this.slice(start, start + 1)[0];
  }

  slice(start = 0, end = this.length): LogRecord[] {
    const from = this.#from + start;
    const to = this.#from + Math.min(end, this.length);
    // `flatMap` is ten times as slow.
    const records: LogRecord[] = [];
    for (const row of this.rows) {
      if (row.firstOffset >= to || endOf(row) <= from) continue;
      const first = Math.max(0, from - row.firstOffset);
      records.push(...this.#recordsIn(row).slice(first, to - row.firstOffset));
    }
    return records;
  }

  #recordsIn(row: LogRow): readonly LogRecord[] {
    if (this.#unpacked?.row !== row) this.#unpacked = { row, records: recordsIn(row) };
    return this.#unpacked.records;
  }
}

export const endOf = ({ firstOffset, records }: LogRow): number => firstOffset + records;

/** Whether the rows are contiguous and undamaged. */
export const areWhole = (rows: readonly LogRow[]): boolean =>
  rows.every(({ firstOffset, records, key, value }, index) => {
    const before = rows[index - 1];
    const isNext = before === undefined || firstOffset === endOf(before);
    return isNext && records === (key === null ? linesOf(value) : 1);
  });

export type DueRecords = Unpacked<Records>;

/** Does what `unpack` does, but unpacks undamaged rows lazily. */
export const unpackLater = (rows: readonly LogRow[], from: number, to: number): DueRecords =>
  areWhole(rows)
    ? { records: new RowRecords(rows, from, to), damaged: null }
    : unpack(rows, from, to);

/** Records of a query, besides the rest of the first and last rows. */
const pageSize = 1_000;
/** PostgreSQL reads 10,000 records in 15 ms, and returns few of them. */
const pageSizeContaining = 10_000;

/**
 * Reads the records from offset `from` to `to` (exclusive) in batches, including those after a gap.
 *
 * @param containing omits rows without this text
 * @throws DamagedRecords
 */
export async function* readOffsetRange(
  postgres: Queryable,
  { id: partitionId, topic, partition }: KnownPartition,
  from: number,
  to: number,
  containing?: string,
): AsyncGenerator<Batch> {
  const size = containing === undefined ? pageSize : pageSizeContaining;
  for (let next = from; next < to;) {
    const page = { partitionId, from: next, to: Math.min(to, next + size) };
    const rows = (await readRows(postgres, [page], containing)).get(partitionId) ?? [];
    const { records, damaged } = unpack(rows, next, to);
    if (records.length > 0) yield { topic, partition, records };
    if (damaged) throw damaged;
    const last = records.at(-1)?.offset ?? page.to - 1;
    const isCut = containing !== undefined && rows.length === maxRowsContaining;
    next = (containing === undefined || isCut ? last : Math.max(last, page.to - 1)) + 1;
  }
}

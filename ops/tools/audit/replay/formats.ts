import { stringify } from 'csv-stringify/sync';
import {
  ByteWriter,
  parquetWriteRows,
  schemaFromColumnData,
  type ColumnSource,
} from 'hyparquet-writer';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import type { PlacedEvent } from './order.js';

export const formatNames = ['jsonl', 'csv', 'parquet'] as const;
export type FormatName = (typeof formatNames)[number];

/** Resolves when the destination accepts more data. */
export type Append = (chunk: Buffer) => Promise<void>;

type Format = (events: AsyncIterable<readonly PlacedEvent[]>, append: Append) => Promise<void>;

type ParquetColumn = Omit<ColumnSource, 'data' | 'name'>;
const text: ParquetColumn = { type: 'STRING', nullable: false };
const optionalText: ParquetColumn = { type: 'STRING' };

/** The columns in the order of CSV and Parquet. */
const columns = {
  topic: text,
  partition: { type: 'INT32', nullable: false },
  offset: { type: 'INT64', nullable: false },
  time: { type: 'TIMESTAMP', nullable: false },
  type: text,
  subject: text,
  account: optionalText,
  actor: optionalText,
  correlationid: optionalText,
  causationid: optionalText,
  traceparent: optionalText,
  source: text,
  sequence: { type: 'INT64', nullable: false },
  id: text,
  data: text,
  client: optionalText,
} as const;

type Row = Readonly<Record<keyof typeof columns, unknown>>;

const names = Object.keys(columns) as (keyof Row)[];

const rowOf = ({ topic, partition, offset, event }: PlacedEvent): Row => {
  const { data } = withoutSecrets(event) as { readonly data: object };
  const numbers = { partition, offset: BigInt(offset), sequence: BigInt(event.sequence) };
  const values: Partial<Row> = { ...event, topic, ...numbers, data: JSON.stringify(data) };
  return Object.fromEntries(names.map((name) => [name, values[name] ?? null])) as Row;
};

/** One CloudEvent a line; with positions, topic, partition and offset are additional attributes. */
const jsonLines =
  (withPositions: boolean): Format =>
  async (events, append) => {
    const line = ({ event, topic, partition, offset }: PlacedEvent): string => {
      const position = withPositions ? { topic, partition, offset } : {};
      return `${JSON.stringify({ ...withoutSecrets(event), ...position })}\n`;
    };
    for await (const chunk of events) await append(Buffer.from(chunk.map(line).join('')));
  };

/**
 * RFC 4180 with LF line ends and a header; an absent attribute is empty. Clients choose some values, so a value that a
 * spreadsheet would parse as a formula is prefixed by an apostrophe.
 */
const csv: Format = async (events, append) => {
  await append(Buffer.from(stringify([names])));
  for await (const chunk of events) {
    await append(
      Buffer.from(stringify(chunk.map(rowOf), { columns: names, escape_formulas: true })),
    );
  }
};

/** The time is an instant: readers otherwise take it for a local time without a zone. */
const instant = { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' } as const;

const parquetSchema = schemaFromColumnData({
  columnData: Object.entries(columns).map(([name, kind]) => ({ name, data: [], ...kind })),
}).map((element) => (element.name === 'time' ? { ...element, logical_type: instant } : element));

/** Rows of a row group, which are in memory twice: as rows and as columns. */
const rowsInGroup = 10_000;

const parquet: Format = async (events, append) => {
  async function* rows(): AsyncGenerator<Row> {
    for await (const chunk of events) {
      for (const placed of chunk) yield { ...rowOf(placed), time: new Date(placed.event.time) };
    }
  }

  const writer = new ByteWriter();
  const flush = async (): Promise<void> => {
    await append(Buffer.from(writer.getBytes()));
    writer.index = 0;
  };
  await parquetWriteRows({
    writer: Object.assign(writer, { flush, finish: flush }),
    rows: rows(),
    // An offset index would be kept in memory until the end of the file.
    columns: names.map((name) => ({ name, offsetIndex: false })),
    schema: parquetSchema,
    rowGroupSize: rowsInGroup,
    createdBy: 'linklog',
  });
};

export const formatOf = (name: FormatName, withPositions: boolean): Format =>
  ({ jsonl: jsonLines(withPositions), csv, parquet })[name];

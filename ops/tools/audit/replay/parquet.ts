import { ByteWriter, parquetWriteRows, type ColumnSource } from 'hyparquet-writer';
import type { Format } from './formats.js';
import { columns, rowOf, type Row } from './rows.js';

/** Rows that are in memory, as rows and as columns, until they are written. */
const rowsInGroup = 10_000;

type Column = Omit<ColumnSource, 'data'>;

/** Text unless told. */
const kinds: Partial<Record<keyof Row, Omit<Column, 'name'>>> = {
  partition: { type: 'INT32', nullable: false },
  offset: { type: 'INT64', nullable: false },
  time: { type: 'TIMESTAMP', nullable: false },
  sequence: { type: 'INT64', nullable: false },
  account: { type: 'STRING' },
  actor: { type: 'STRING' },
  correlationid: { type: 'STRING' },
  causationid: { type: 'STRING' },
};

/** A Parquet file, a group of rows after the other. */
export const writeParquet: Format = async (events, append) => {
  async function* rows(): AsyncGenerator<Record<keyof Row, unknown>> {
    for await (const piece of events) {
      for (const event of piece) {
        const row = rowOf(event);
        yield {
          ...row,
          offset: BigInt(row.offset),
          time: new Date(row.time),
          sequence: BigInt(row.sequence),
        };
      }
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
    columns: columns.map((name): Column => ({
      name,
      // For readers that skip pages; what it takes would be in memory until the end.
      offsetIndex: false,
      ...(kinds[name] ?? { type: 'STRING', nullable: false }),
    })),
    rowGroupSize: rowsInGroup,
    createdBy: 'linklog',
  });
};

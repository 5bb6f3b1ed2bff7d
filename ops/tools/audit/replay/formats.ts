import { stringify } from 'csv-stringify/sync';
import { withoutSecrets } from '../../../../schemas/events/redact.js';
import type { PlacedEvent } from './order.js';
import { writeParquet } from './parquet.js';
import { columns, rowOf } from './rows.js';

export const formatNames = ['jsonl', 'csv', 'parquet'] as const;
export type FormatName = (typeof formatNames)[number];

/** Takes bytes; resolves when it can take more. */
export type Append = (chunk: Buffer) => Promise<void>;

/** Writes events as they come; memory holds a bounded number of them. */
export type Format = (
  events: AsyncIterable<readonly PlacedEvent[]>,
  append: Append,
) => Promise<void>;

/** A CloudEvent a line, its place in the log beside its attributes if that is asked for. */
const jsonLines =
  (withPositions: boolean): Format =>
  async (events, append) => {
    const line = ({ event, topic, partition, offset }: PlacedEvent): string => {
      const place = withPositions ? { topic, partition, offset } : {};
      return `${JSON.stringify({ ...withoutSecrets(event), ...place })}\n`;
    };
    for await (const piece of events) await append(Buffer.from(piece.map(line).join('')));
  };

/** RFC 4180, but for its line ends: a first line of names; what an event has not is empty. */
const csv: Format = async (events, append) => {
  await append(Buffer.from(stringify([columns])));
  for await (const piece of events) {
    await append(Buffer.from(stringify(piece.map(rowOf), { columns })));
  }
};

export const formatOf = (name: FormatName, withPositions: boolean): Format => {
  switch (name) {
    case 'jsonl':
      return jsonLines(withPositions);
    case 'csv':
      return csv;
    case 'parquet':
      return writeParquet;
  }
};

/** Support for the specs of import files. */
import { expect } from 'chai';
import {
  emptyLink,
  ImportFileFault,
  type ReaderOptions,
  type SourceLink,
  type SourceReader,
  type SourceRecord,
} from '../imports/formats/records.js';
import { scanLength } from '../imports/formats/scan.js';

export const utc: ReaderOptions = { linkZone: 'UTC', visitZone: 'UTC' };

export async function* toAsync<T>(values: Iterable<T>): AsyncIterable<T> {
  await Promise.resolve();
  yield* values;
}

/** A text in chunks of `size` characters. */
export const cutText = (text: string, size: number): readonly string[] =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
    text.slice(index * size, (index + 1) * size),
  );

export const readRecords = async (
  reader: SourceReader,
  chunks: string | Iterable<string>,
  options: Partial<ReaderOptions> = {},
): Promise<readonly SourceRecord[]> => {
  const records: SourceRecord[] = [];
  const list = typeof chunks === 'string' ? [chunks] : [...chunks];
  const file = { head: list.join('').slice(0, scanLength), text: toAsync(list) };
  for await (const record of reader(file, { ...utc, ...options })) records.push(record);
  return records;
};

/** The record of a link with these fields; the others are empty. */
export const linkRecord = (row: number, fields: Partial<SourceLink>): SourceRecord => ({
  ...{ type: 'link', row },
  link: { ...emptyLink, ...fields },
});

export const invalidRecord = (
  row: number,
  message: string,
  { code = null, url = null }: { code?: string | null; url?: string | null } = {},
): SourceRecord => ({ ...{ type: 'invalid', row, code, url }, message });

/** Expects that a file is rejected as a whole. @param message `undefined`: any */
export const expectFault = async (reading: Promise<unknown>, message?: string): Promise<void> => {
  const fault = await reading.catch((error: unknown) => error);
  expect(fault).to.be.instanceOf(ImportFileFault);
  if (message !== undefined) expect(fault).to.have.property('message', message);
};

/** Expects the same records, or the same fault, from the whole text and from chunks of `size` characters. */
export const expectSameFromChunks = async (
  reader: SourceReader,
  text: string,
  size: number,
): Promise<void> => {
  const whole = await readRecords(reader, text).catch((error: unknown) => error);
  const cut = await readRecords(reader, cutText(text, size)).catch((error: unknown) => error);
  if (whole instanceof Error) {
    expect(whole).to.be.instanceOf(ImportFileFault);
    expect(cut).to.have.property('message', whole.message);
  } else expect(cut).to.deep.equal(whole);
};

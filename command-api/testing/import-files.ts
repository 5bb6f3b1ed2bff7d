/** Support for the specs of import files. */
import type {
  ReaderOptions,
  SourceReader,
  SourceRecord,
} from '../imports/formats/source-record.js';

export async function* toAsync<T>(values: Iterable<T>): AsyncIterable<T> {
  await Promise.resolve();
  yield* values;
}

/** The rejection of an action. */
export const failure = async (action: () => Promise<unknown>): Promise<unknown> => {
  try {
    await action();
  } catch (error) {
    return error;
  }
  throw new Error('the action did not fail');
};

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
  const text = toAsync(typeof chunks === 'string' ? [chunks] : chunks);
  const zones = { linkZone: 'UTC', visitZone: 'UTC', ...options };
  for await (const record of reader(text, zones)) records.push(record);
  return records;
};

/** Records as lines of one text, without keys, because the key of a record is its subject. */
import type { NewLines, NewRecord } from './port.js';

/** Limits of a batch; a single record may be larger. */
export const lineLimits = { records: 1_000, bytes: 512 * 1_024 };

/** Finds the subject of an event as the view `log.events` does, because readers parse the event later. */
const subjectOf = (value: string): string | undefined => /"subject":"([^"\\]*)"/.exec(value)?.[1];

/** Whether a record can be a line, so that its key and its offset can be restored. */
export const isLine = ({ key, value }: NewRecord): boolean =>
  subjectOf(value) === key && !value.includes('\n');

export const readLines = (lines: string): readonly NewRecord[] =>
  lines.split('\n').map((value) => ({ key: subjectOf(value) ?? '', value }));

const lineFeed = 0x0a;
const beforeSubject = Buffer.from('"subject":"');
const quote = 0x22;

/** Does what `readLines` does; keys and values are views of the bytes. */
export function* linesIn({
  lines,
}: NewLines): Generator<{ readonly key: Buffer; readonly value: Buffer }> {
  for (let start = 0; start < lines.length;) {
    const next = lines.indexOf(lineFeed, start);
    const end = next === -1 ? lines.length : next;
    const key = lines.indexOf(beforeSubject, start) + beforeSubject.length;
    yield {
      key: lines.subarray(key, lines.indexOf(quote, key)),
      value: lines.subarray(start, end),
    };
    start = end + 1;
  }
}

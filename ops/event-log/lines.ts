/** Records as lines of one text, without keys: the subject of each is its key. */
import type { NewLines, NewRecord } from './port.js';

/** What lines hold together at most, unless it is a single record that is larger. */
export const lineLimits = { records: 1_000, bytes: 512 * 1_024 };

/**
 * The subject of an event by its text alone, as the view `log.events` finds it: a reader parses the event
 * anyway, and should not have to do it twice.
 */
const subjectOf = (value: string): string | undefined => /"subject":"([^"\\]*)"/.exec(value)?.[1];

/** Whether a record can be a line: its offset and its key are found again. */
export const isLine = ({ key, value }: NewRecord): boolean =>
  subjectOf(value) === key && !value.includes('\n');

/** The records of lines; as many as there are lines. */
export const readLines = (lines: string): readonly NewRecord[] =>
  lines.split('\n').map((value) => ({ key: subjectOf(value) ?? '', value }));

const lineFeed = 0x0a;
const beforeSubject = Buffer.from('"subject":"');
const quote = 0x22;

/** The same as bytes, which are parts of those given. */
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

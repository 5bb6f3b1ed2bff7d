/** The loop that readers share: it keeps the text that is not read yet, and counts lines. */

import { ImportFileFault, maxRecordLength } from './source-record.js';

/** What a scanner read at a position. */
export interface Step<T> {
  /** `null`: the text is skipped. */
  readonly item: T | null;
  /** The position after it, which is not before the current position. */
  readonly next: number;
}

/**
 * Reads one item of `text` at `position`, or skips text.
 *
 * @param isEnd whether no text follows
 * @returns `null` if it needs more text; not if `isEnd`
 */
export type Scanner<T> = (text: string, position: number, isEnd: boolean) => Step<T> | null;

/** Characters per call of a scanner. A scanner gets at least as many at the start of the file, or the whole file. */
export const scanLength = 65_536;

const lineFeed = 10;
const carriageReturn = 13;

/** LF, CR LF and CR end a line. */
const countLines = (text: string, start: number, end: number): number => {
  let lines = 0;
  for (let position = start; position < end; position += 1) {
    const char = text.charCodeAt(position);
    if (char === lineFeed) lines += 1;
    else if (char === carriageReturn && text.charCodeAt(position + 1) !== lineFeed) lines += 1;
  }
  return lines;
};

/** Joins small chunks, so that a scanner does not read a long item again for each of them. */
async function* joinChunks(text: AsyncIterable<string>): AsyncIterable<string> {
  let joined = '';
  try {
    for await (const chunk of text) {
      joined += chunk;
      if (joined.length <= scanLength) continue;
      // CR LF is not cut.
      const end = joined.length - (joined.endsWith('\r') ? 1 : 0);
      yield joined.slice(0, end);
      joined = joined.slice(end);
    }
  } catch (error) {
    // The items before a fault of the file are returned.
    if (joined !== '') yield joined;
    throw error;
  }
  if (joined !== '') yield joined;
}

/**
 * The items of a text, with the line on which each one starts.
 *
 * If the text ends with an error, the items before it are returned first. The memory used is that of one item.
 */
export async function* scan<T>(
  text: AsyncIterable<string>,
  scanner: Scanner<T>,
): AsyncIterable<{ readonly row: number; readonly item: T }> {
  let [buffer, position, row] = ['', 0, 1];
  const read = function* (isEnd: boolean): Iterable<{ readonly row: number; readonly item: T }> {
    while (position < buffer.length) {
      const step = scanner(buffer, position, isEnd);
      if (step === null) return;
      if (step.item !== null) yield { row, item: step.item };
      row += countLines(buffer, position, step.next);
      position = step.next;
    }
  };
  for await (const chunk of joinChunks(text)) {
    buffer = buffer.slice(position) + chunk;
    position = 0;
    yield* read(false);
  }
  yield* read(true);
}

/** Characters of a file that readers read again after malformed records. */
const maxRescanned = 300 * maxRecordLength;

/**
 * After a malformed record, a reader continues at the next line or object and reads the rest of the record again. This
 * bounds the total, so that the time that a file takes stays proportional to its length.
 *
 * @returns a function that throws ImportFileFault when the budget is used up
 */
export const rescanBudget = (): ((characters: number) => void) => {
  let rescanned = 0;
  return (characters) => {
    rescanned += Math.max(0, characters);
    if (rescanned > maxRescanned) {
      throw new ImportFileFault('The file has too many malformed records.');
    }
  };
};

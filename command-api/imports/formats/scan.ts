/** The loop that readers share: it keeps the text that is not read yet, and counts lines. */

import { ImportFileFault, maxRecordLength } from './file-fault.js';

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

/** The position after the match of a sticky or global pattern; -1: there is none. */
export const matchEnd = (pattern: RegExp, text: string, position: number): number => {
  pattern.lastIndex = position;
  return pattern.test(text) ? pattern.lastIndex : -1;
};

export const lineEnd = /\r\n|\r|\n/g;

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

interface ScannedItem<T> {
  readonly row: number;
  readonly item: T;
}

/** A text, and the position up to which it is scanned. */
interface ScanState {
  buffer: string;
  position: number;
  row: number;
}

/** Scans the buffer until the scanner needs more text. */
function* scanBuffer<T>(
  state: ScanState,
  scanner: Scanner<T>,
  isEnd: boolean,
): Iterable<ScannedItem<T>> {
  while (state.position < state.buffer.length) {
    const { buffer, position, row } = state;
    const step = scanner(buffer, position, isEnd);
    if (step === null) return;
    if (step.item !== null) yield { row, item: step.item };
    state.row += countLines(buffer, position, step.next);
    state.position = step.next;
  }
}

/** The items of a whole text. @param start the position of the first one */
export const scanText = <T>(
  text: string,
  scanner: Scanner<T>,
  start = 0,
): Iterable<ScannedItem<T>> =>
  scanBuffer({ buffer: text, position: start, row: 1 + countLines(text, 0, start) }, scanner, true);

/**
 * The items of a text that arrives in chunks.
 *
 * If the text ends with an error, the items before it are returned first. The memory used is that of one item.
 *
 * @param start the position of the first item
 */
export async function* scan<T>(
  text: AsyncIterable<string>,
  scanner: Scanner<T>,
  start = 0,
): AsyncIterable<ScannedItem<T>> {
  const state: ScanState = { buffer: '', position: 0, row: 1 };
  let isFirst = true;
  for await (const chunk of joinChunks(text)) {
    state.buffer = state.buffer.slice(state.position) + chunk;
    state.position = isFirst ? start : 0;
    if (isFirst) state.row += countLines(chunk, 0, start);
    isFirst = false;
    yield* scanBuffer(state, scanner, false);
  }
  yield* scanBuffer(state, scanner, true);
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

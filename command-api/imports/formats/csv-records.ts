/**
 * The records of CSV files (RFC 4180).
 *
 * The records are split here and not by a library: after an unclosed quote, libraries that were tested read the rest of
 * the file as one cell. Here a record with a fault ends on its first line, and the next line is read as a record.
 */
import { lineEnd, matchEnd, rescanBudget, type Scanner } from './scan.js';
import { maxRecordLength } from './file-fault.js';

export type Cells = readonly string[];

/** A record of the file, or why it has none. */
type CsvRecord = { readonly cells: Cells } | { readonly fault: string };

const [lineFeed, carriageReturn, space, quoteMark] = [10, 13, 32, 34];

const tooLong = `The record is longer than ${maxRecordLength.toLocaleString('en')} characters.`;
const unclosedQuote = 'The record has a quote that is not closed.';
const textAfterQuote = 'The record has text after a closing quote.';

/** The position after the quoted cell that starts at `start`, and its text; `null`: the text ends before. */
const readQuoted = (
  text: string,
  start: number,
): { readonly cell: string; readonly next: number } | null => {
  let [cell, from] = ['', start + 1];
  for (;;) {
    const close = text.indexOf('"', from);
    if (close < 0) return null;
    cell += text.slice(from, close);
    if (text.charCodeAt(close + 1) !== quoteMark) return { cell, next: close + 1 };
    cell += '"';
    from = close + 2;
  }
};

/** Reads one record. After a fault, `next` is where the reader found it. `null`: the record does not end in `text`. */
const readCells = (
  text: string,
  start: number,
  delimiter: number,
  isEnd: boolean,
): { readonly record: CsvRecord; readonly next: number } | null => {
  const cells: string[] = [];
  const skipSpaces = (from: number): number => {
    if (delimiter === space) return from;
    let position = from;
    while (text.charCodeAt(position) === space) position += 1;
    return position;
  };
  let position = start;
  for (;;) {
    const cellStart = skipSpaces(position);
    if (text.charCodeAt(cellStart) === quoteMark) {
      const quoted = readQuoted(text, cellStart);
      if (quoted === null)
        return isEnd ? { record: { fault: unclosedQuote }, next: text.length } : null;
      cells.push(quoted.cell);
      position = skipSpaces(quoted.next);
    } else {
      const from = position;
      for (; position < text.length; position += 1) {
        const char = text.charCodeAt(position);
        if (char === delimiter || char === lineFeed || char === carriageReturn) break;
      }
      cells.push(text.slice(from, position));
    }
    if (position >= text.length) return isEnd ? { record: { cells }, next: position } : null;
    const end = text.charCodeAt(position);
    if (end === delimiter) position += 1;
    else if (end === lineFeed) return { record: { cells }, next: position + 1 };
    else if (end === carriageReturn) {
      if (position + 1 === text.length && !isEnd) return null;
      const length = text.charCodeAt(position + 1) === lineFeed ? 2 : 1;
      return { record: { cells }, next: position + length };
    } else return { record: { fault: textAfterQuote }, next: position };
  }
};

/** Reads records of bounded length. After a fault it continues on the next line. */
export const recordScanner = (delimiter: number): Scanner<CsvRecord> => {
  const takeRescan = rescanBudget();
  let skipsLine = false;
  return (text, position, isEnd) => {
    const nextLine = (): number => {
      const end = matchEnd(lineEnd, text, position);
      skipsLine = end < 0;
      return skipsLine ? text.length : end;
    };
    if (skipsLine) return { item: null, next: nextLine() };
    const isLonger = text.length - position > maxRecordLength;
    const window = isLonger ? text.slice(0, position + maxRecordLength) : text;
    const read = readCells(window, position, delimiter, isEnd && !isLonger);
    if (read === null && !isLonger) return null;
    if (read && 'cells' in read.record) return { item: read.record, next: read.next };
    const next = nextLine();
    takeRescan((read?.next ?? window.length) - next);
    return { item: read?.record ?? { fault: tooLong }, next };
  };
};

export const isBlank = (cells: Cells): boolean => cells.every((cell) => cell.trim() === '');

/** Several spaces separate cells like one space. */
export const withoutGaps = (cells: Cells, delimiter: string): Cells =>
  delimiter === ' ' ? cells.filter((cell) => cell !== '') : cells;

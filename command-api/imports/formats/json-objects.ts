/**
 * The objects of JSON listings and JSON Lines.
 *
 * They are split here and not by a library: streaming parsers end at the first malformed object. Here the objects after
 * it are read.
 */
import { maxRecordLength, storageFault } from './records.js';
import { lineEnd, matchEnd, rescanBudget, type Scanner } from './scan.js';

/** An object of the file, or why it has none. */
type JsonRecord = { readonly value: object } | { readonly fault: string };

const tooLong = `The record does not end within ${maxRecordLength.toLocaleString('en')} characters.`;
const malformed = 'The record is not a JSON object.';

const [quoteMark, backslash, openBrace, closeBrace] = [34, 92, 123, 125];

/** The position after the object that starts at `start`; -1: it does not end before `end`. */
const objectEnd = (text: string, start: number, end: number): number => {
  let [depth, isString] = [0, false];
  for (let position = start; position < end; position += 1) {
    const char = text.charCodeAt(position);
    if (isString) {
      if (char === backslash) position += 1;
      else if (char === quoteMark) isString = false;
    } else if (char === quoteMark) isString = true;
    else if (char === openBrace) depth += 1;
    else if (char === closeBrace) {
      depth -= 1;
      if (depth === 0) return position + 1;
    }
  }
  return -1;
};

/** Raw control characters, which JSON does not allow in strings, are read as spaces. */
const parseObject = (text: string): JsonRecord => {
  if (!text.isWellFormed()) return { fault: `The record has ${storageFault(text)}.` };
  for (const json of [text, text.replaceAll(/[\u0001-\u001f]/g, ' ')]) {
    try {
      const value: unknown = JSON.parse(json);
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
      return isObject ? { value } : { fault: malformed };
    } catch {
      continue;
    }
  }
  return { fault: malformed };
};

/** An object whose `links` or `data` is a list. Its members before that have no nested objects with objects. */
const listing =
  /\{\s*(?:"[^"\\]*"\s*:\s*(?:"(?:[^"\\]|\\[^])*"|\{[^{}]*\}|[^\s,"{}[\]]+)\s*,\s*)*"(?:links|data)"\s*:\s*\[/y;

/** Characters from the start of a listing that `listing` gets, unless the file ends before. */
const minHeadLength = 8_192;

/** What separates values. */
const separators = /[\s,\ufeff]+/y;

/** The next object of a list after a malformed one. */
const nextObject = /\}\s*,\s*(?=\{)/g;

/** The next value of a list after a value that is not an object. */
const nextValue = /[,\]{]/g;

/** Where the scanner is: between the values of the file, in a list, after the list of a listing, or in a skipped value. */
type Mode = 'file' | 'list' | 'listing end' | 'skip object' | 'skip line';

interface ObjectScanner {
  readonly scanner: Scanner<JsonRecord>;
  /** Whether the end of the text is within a list. */
  readonly isIncomplete: () => boolean;
}

/** Reads the objects of arrays, of listings, and of lines. */
export const objectScanner = (): ObjectScanner => {
  const takeRescan = rescanBudget();
  let mode: Mode = 'file';
  let isListing = false;

  const skip = (next: number): { item: null; next: number } => ({ item: null, next });

  /** One line of JSON Lines. */
  const readLine: Scanner<JsonRecord> = (text, position, isEnd) => {
    const end = matchEnd(lineEnd, text, position);
    if (end < 0 && text.length - position <= maxRecordLength && !isEnd) return null;
    const next = end < 0 ? text.length : end;
    if (end < 0 && !isEnd) mode = 'skip line';
    const isLonger = next - position > maxRecordLength;
    const item = isLonger ? { fault: tooLong } : parseObject(text.slice(position, next));
    return { item, next };
  };

  /** One object of a list. */
  const readElement: Scanner<JsonRecord> = (text, position, isEnd) => {
    const limit = Math.min(text.length, position + maxRecordLength);
    const end = objectEnd(text, position, limit);
    if (end < 0 && limit === text.length && !isEnd) return null;
    if (end < 0) {
      takeRescan(limit - position);
      mode = 'skip object';
      return { item: { fault: tooLong }, next: position + 1 };
    }
    const item = parseObject(text.slice(position, end));
    if ('value' in item) return { item, next: end };
    const next = matchEnd(nextObject, text, position);
    if (next < 0 || next > end) return { item, next: end };
    takeRescan(end - next);
    return { item, next };
  };

  const readInList: Scanner<JsonRecord> = (text, position, isEnd) => {
    if (text.startsWith('{', position)) return readElement(text, position, isEnd);
    if (text.startsWith(']', position)) {
      mode = isListing ? 'listing end' : 'file';
      return skip(position + 1);
    }
    const next = matchEnd(nextValue, text, position);
    if (next < 0 && !isEnd && text.length - position <= maxRecordLength) return null;
    return { item: { fault: malformed }, next: next < 0 ? text.length : next - 1 };
  };

  const scanner: Scanner<JsonRecord> = (text, position, isEnd) => {
    if (mode === 'skip line') {
      const end = matchEnd(lineEnd, text, position);
      if (end >= 0) mode = 'file';
      return skip(end < 0 ? text.length : end);
    }
    if (mode === 'skip object') {
      const next = matchEnd(nextObject, text, position);
      if (next >= 0) mode = 'list';
      // The brace and the comma between two objects can be at the end of the text.
      const brace = text.lastIndexOf('}');
      if (next >= 0 || isEnd) return skip(next < 0 ? text.length : next);
      const isCut = brace >= position && ['', ','].includes(text.slice(brace + 1).trim());
      if (!isCut || text.length - brace > maxRecordLength) return skip(text.length);
      return brace === position ? null : skip(brace);
    }
    const value = matchEnd(separators, text, position);
    if (value >= 0) return skip(value);
    switch (mode) {
      case 'list':
        return readInList(text, position, isEnd);
      case 'listing end': {
        // The members after the list, such as `pagination`, end with the object.
        const members = `{${text.slice(position, position + maxRecordLength)}`;
        const end = objectEnd(members, 0, members.length);
        if (end < 0 && !isEnd && text.length - position <= maxRecordLength) return null;
        mode = 'file';
        return skip(end < 0 ? text.length : position + end - 1);
      }
      case 'file': {
        if (!isEnd && text.length - position < minHeadLength) return null;
        if (text.startsWith('[', position)) {
          [mode, isListing] = ['list', false];
          return skip(position + 1);
        }
        const list = matchEnd(listing, text, position);
        if (list < 0) return readLine(text, position, isEnd);
        [mode, isListing] = ['list', true];
        return skip(list);
      }
    }
  };
  return { scanner, isIncomplete: () => mode === 'list' || mode === 'listing end' };
};

/** The first object at the start of a file; `null` if it has none. */
export const firstObject = (head: string): object | null => {
  const { scanner } = objectScanner();
  // The number of steps is bounded, so that malformed objects do not use up the budget of the scanner.
  for (let [position, steps] = [0, 0]; position < head.length && steps < 100; steps += 1) {
    const step = scanner(head, position, true);
    if (step === null) return null;
    const { item, next } = step;
    if (item && 'value' in item) return item.value;
    position = next;
  }
  return null;
};

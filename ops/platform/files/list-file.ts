export interface ListEntry {
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
}

/**
 * The entries of a list: one a line, white space around them is dropped. A `#` at the start of a line,
 * or after white space, begins a comment.
 */
export const parseList = (text: string): readonly ListEntry[] =>
  text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\n|\r/)
    .map((line, index) => ({ text: line.replace(/(^|\s)#.*$/, '').trim(), line: index + 1 }))
    .filter((entry) => entry.text !== '');

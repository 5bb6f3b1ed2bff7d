/** The tokens, literals and heads of statements of SQL dumps of MySQL and MariaDB. Nothing is evaluated. */

import { matchEnd } from './scan.js';

/** A literal. NULL is `null`. */
export interface SqlValue {
  readonly type: 'string' | 'number' | 'hex';
  /** A string has no quotes and escapes, a number is as in the file, a blob has an even number of hex digits. */
  readonly text: string;
}

/** `end`: the text ends before or within the token, or the token touches its end and may continue. */
export interface Token {
  readonly type: 'word' | 'string' | 'name' | 'delimiter' | 'other' | 'end';
  /** The text with its quotes. */
  readonly text: string;
  /** The position after it. */
  readonly end: number;
}

// The alternatives of each pattern start with different characters, and a quoted text has one end, so that matching
// takes linear time for any text.
const space = String.raw`[\0- \ufeff]`;
const string = String.raw`(?:'(?:[^'\\]|\\[^]|'')*'(?!')|"(?:[^"\\]|\\[^]|"")*"(?!"))`;
const name = '(?:`(?:[^`]|``)*`(?!`))';
const lineComment = String.raw`(?:(?:#|--(?=${space}))[^\n]*\n)`;
const comment = String.raw`(?:/\*(?:[^*]|\*(?!/))*\*/)`;
/** A character of a comment such as `/*!40101 …`, which MySQL executes, outside of quoted texts and comments. */
const executed = String.raw`(?:[^'"\x60#/*-]|\*(?!/)|/(?!\*)|-(?!-(?:${space}|$)))`;
const executable = String.raw`(?:/\*M?!(?:${string}|${name}|${lineComment}|${comment}|${executed})*\*/)`;
/** `$` is no part of words, because `$$` is a usual delimiter. */
const wordPart = String.raw`[\w@\x80-\ufefe\uff00-\uffff]`;
const number = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?`;

const sticky = (pattern: string): RegExp => new RegExp(pattern, 'iy');

const blanks = sticky(`(?:${space}+|${lineComment}|${executable}|(?!/\\*M?!)${comment})*`);
const tokens = sticky(`(?<string>${string})|(?<name>${name})|(?<word>${wordPart}+)|[^]`);
/** The character set before a literal, such as `_binary`. */
const introducer = String.raw`(?:_\w+(?!${wordPart})${space}*)?`;
const strings = sticky(`(?:${introducer}|n)(?<string>${string})`);
const otherLiterals = sticky(
  `${introducer}(?:x'(?<hex>(?:[\\da-f]{2})*)'|` +
    `(?:0x(?<digits>[\\da-f]+)|\\+?(?<number>-?${number})|null)(?!${wordPart}))`,
);
/** What starts a quoted text or a comment. */
const openings = sticky(String.raw`['"\x60#]|/\*|--(?:${space}|$)`);

/** The position after white space and comments. */
export const skipBlanks = (text: string, position: number): number =>
  matchEnd(blanks, text, position);

/** Takes the token after white space and comments. @param isEnd whether no text follows */
export const takeToken = (
  text: string,
  position: number,
  delimiter: string,
  isEnd: boolean,
): Token => {
  const start = skipBlanks(text, position);
  if (text.startsWith(delimiter, start)) {
    return { type: 'delimiter', text: delimiter, end: start + delimiter.length };
  }
  tokens.lastIndex = start;
  const match = tokens.exec(text);
  const [found, quoted, identifier, word] = match ?? [''];
  const end = start + found.length;
  const isQuoted = quoted !== undefined || identifier !== undefined;
  const isOpen = !isQuoted && matchEnd(openings, text, start) >= 0;
  if (!match || isOpen || (end === text.length && !isEnd)) {
    return { type: 'end', text: '', end: text.length };
  }
  if (word !== undefined) return { type: 'word', text: found, end };
  if (!isQuoted) return { type: 'other', text: found, end };
  return { type: quoted === undefined ? 'name' : 'string', text: found, end };
};

/** MySQL keeps the backslash before `%` and `_` outside of LIKE. Before all other characters it is removed. */
const escapes: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ...{ 0: '\0', b: '\b', n: '\n', r: '\r', t: '\t', Z: '\x1a', '%': '\\%', _: '\\_' },
  }),
);

const unquote = (quoted: string): string => {
  const mark = quoted.charAt(0);
  const content = quoted.slice(1, -1);
  if (!content.includes('\\') && !content.includes(mark)) return content;
  return content.replaceAll(/\\([^])|''|""/g, (match, escaped?: string) => {
    if (escaped !== undefined) return escapes.get(escaped) ?? escaped;
    return match.startsWith(mark) ? mark : match;
  });
};

/** The literal at a position, and the position after it; `null`: there is none. */
export const readLiteral = (
  text: string,
  position: number,
): { readonly value: SqlValue | null; readonly end: number } | null => {
  strings.lastIndex = position;
  const quoted = strings.exec(text)?.groups?.['string'];
  if (quoted !== undefined) {
    return { value: { type: 'string', text: unquote(quoted) }, end: strings.lastIndex };
  }
  otherLiterals.lastIndex = position;
  const groups = otherLiterals.exec(text)?.groups;
  const end = otherLiterals.lastIndex;
  if (!groups) return null;
  const { digits, number: written } = groups;
  if (written !== undefined) return { value: { type: 'number', text: written }, end };
  const padding = digits !== undefined && digits.length % 2 === 1 ? '0' : '';
  const hex = digits ?? groups['hex'];
  return { value: hex === undefined ? null : { type: 'hex', text: padding + hex }, end };
};

/** The words between INSERT, REPLACE or CREATE and the name of a table. */
const modifiers = new Set([
  ...['low_priority', 'high_priority', 'delayed', 'ignore', 'into'],
  ...['or', 'replace', 'table', 'if', 'not', 'exists'],
]);

/** The first words of definitions in a CREATE TABLE that are not columns. All are reserved, so columns are quoted. */
const keyWords = new Set([
  ...['primary', 'key', 'index', 'unique', 'fulltext', 'spatial', 'constraint', 'foreign', 'check'],
]);

export class StatementHead {
  token: Token;

  constructor(private readonly takeAt: (position: number) => Token) {
    this.token = takeAt(0);
  }

  take(): Token {
    this.token = this.takeAt(this.token.end);
    return this.token;
  }

  is(text: string): boolean {
    return this.token.text.toLowerCase() === text;
  }

  /** The last token as a name; with `ANSI_QUOTES`, names have double quotes. */
  name(): string | null {
    const { type, text } = this.token;
    if (type === 'word') return text;
    if (type === 'name') return text.slice(1, -1).replaceAll('``', '`');
    return type === 'string' && text.startsWith('"') ? unquote(text) : null;
  }

  /** The table of the statement; `null` if it has none. Takes the token after it. */
  table(): string | null {
    while (modifiers.has(this.take().text.toLowerCase()));
    for (;;) {
      const name = this.name();
      if (name === null || this.take().text !== '.') return name;
      this.take();
    }
  }

  /** The names in parentheses; `null` if they are malformed. Takes the token after them. */
  columnList(): readonly string[] | null {
    const names: string[] = [];
    do {
      this.take();
      const name = this.name();
      if (name === null) return null;
      names.push(name);
    } while (this.take().text === ',');
    if (!this.is(')')) return null;
    this.take();
    return names;
  }

  /** The columns of a CREATE TABLE, without keys; empty if it has no end. */
  definedColumns(): readonly string[] {
    const columns: string[] = [];
    let isFirst = true;
    for (let depth = 1; depth > 0;) {
      const { type, text } = this.take();
      if (type === 'end' || type === 'delimiter') return [];
      const name = isFirst && !keyWords.has(text.toLowerCase()) ? this.name() : null;
      if (name !== null) columns.push(name);
      if (text === '(') depth += 1;
      if (text === ')') depth -= 1;
      isFirst = text === ',' && depth === 1;
    }
    return columns;
  }
}

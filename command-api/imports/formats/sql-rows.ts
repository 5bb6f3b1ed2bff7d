/** Reads the rows of INSERT statements from SQL dumps of MySQL and MariaDB (mysqldump, phpMyAdmin, Adminer). */
import { BoundedMap } from '../../../ops/platform/collections.js';
import { matchEnd, rescanBudget, scan, type Step } from './scan.js';
import { maxRecordLength } from './records.js';
import {
  readLiteral,
  skipBlanks,
  StatementHead,
  takeToken,
  type SqlValue,
  type Token,
} from './sql-tokens.js';

interface SqlInsert {
  /** The name has no database. */
  readonly table: string;
  /** The columns of the statement, otherwise of the CREATE TABLE before it; `null` if the file has neither. */
  readonly columns: readonly string[] | null;
  /** An invalid row has the values before the fault. */
  readonly values: readonly (SqlValue | null)[];
}

type Item =
  | ({ readonly type: 'row' } & SqlInsert)
  | ({ readonly type: 'invalid'; readonly message: string } & SqlInsert)
  | { readonly type: 'table'; readonly table: string; readonly columns: readonly string[] };

/** `line`: the line on which the row or the statement starts, from 1. */
export type SqlRecord = Item & { readonly line: number };

/** What is read next. */
type Mode = 'statement' | 'row' | 'separator' | 'rest of statement' | 'rest of row' | 'comment';
const discarded: ReadonlySet<Mode> = new Set(['rest of statement', 'rest of row', 'comment']);

/** Characters that a token needs after its end. */
const margin = 16;

/** Dumps create a table immediately before its rows, so the oldest columns are forgotten. */
const maxTables = 100;

const faults = {
  tooLong: (maxLength: number) => `The row is longer than ${maxLength} characters.`,
  cut: 'The file ends within this row.',
  notLiteral: 'The row is not a list of literal values.',
  malformed: 'The INSERT statement is malformed.',
  headTooLong: (maxLength: number) =>
    `The INSERT statement has more than ${maxLength} characters before its rows.`,
  headCut: 'The file ends within this INSERT statement.',
  unsupported: 'The INSERT statement has no VALUES.',
};

/** Other delimiters are ignored. */
const delimiterPattern = new RegExp(`^[^'"\`\\\\]{1,${margin}}$`);

/**
 * Where the next row or statement starts, at the position of `)` or of a line feed. Dumps escape line feeds in strings.
 * The characters that a pattern needs are at most `margin`.
 */
const nextRow = /(?:\),\r?\n?|\n)(?=\((?:['"\d_-]|null\b))/iy;
const nextStatement =
  /\n(?=(?:INSERT|REPLACE|CREATE|DROP|ALTER|LOCK|UNLOCK|COMMIT|SET)\s|\/\*!|-- )/y;

/** The scanner of one dump. A unit (a row or the head of a statement) that is incomplete is read again from its start. */
class SqlScanner {
  readonly #columnsByTable = new BoundedMap<string, readonly string[]>(maxTables);
  readonly #takeRescan = rescanBudget();
  #mode: Mode = 'statement';
  #delimiter = ';';
  /** The statement of the rows. */
  #insert: Pick<SqlInsert, 'table' | 'columns'> = { table: '', columns: null };

  /** What ends the quoted text or the comment at the position of discarded text; otherwise empty. */
  #within = '';
  /** Whether the position is in a comment such as `/*!40101 …`, which contains statements. */
  #isExecuted = false;
  /** Open parentheses in the rest of a row. */
  #depth = 0;
  /** The characters of the rest of a row that were read before. */
  #readBefore = 0;
  /** The mode after a comment. */
  #nextMode: Mode = 'statement';

  /** The longest unit at the position, and why it ends: with the file, with the text read so far, or at its limit. */
  #unit = '';
  #end: 'file' | 'chunk' | 'limit' = 'chunk';
  #position = 0;

  constructor(
    private readonly isWanted: (table: string) => boolean,
    private readonly maxLength: number,
  ) {}

  scan(text: string, position: number, isEnd: boolean): Step<Item> | null {
    const limit = position + this.maxLength + margin;
    if (text.length > limit) this.#end = 'limit';
    else this.#end = isEnd ? 'file' : 'chunk';
    this.#position = position;
    if (discarded.has(this.#mode)) return this.#discard(text, text.length - (isEnd ? 0 : margin));
    this.#unit = text.slice(position, limit);
    const start = skipBlanks(this.#unit, 0);
    if (start > 0) return this.#skip(start);
    const first = this.#tokenAt(0);
    if (first.type === 'end' && this.#end === 'chunk') return null;
    if (first.type === 'end' && this.#end === 'limit' && /^(?:#|--|\/\*)/.test(this.#unit)) {
      this.#nextMode = this.#mode;
      return this.#skip(0, 'comment');
    }
    if (this.#mode === 'statement') return this.#readStatement(first);
    return this.#mode === 'row' ? this.#readRow(first) : this.#readSeparator(first);
  }

  #tokenAt(position: number): Token {
    return takeToken(this.#unit, position, this.#delimiter, this.#end === 'file');
  }

  #skip(length: number, mode: Mode = this.#mode): Step<Item> {
    this.#mode = mode;
    return { item: null, next: this.#position + length };
  }

  #fault(message: string, mode: Mode, length = 0, values: SqlInsert['values'] = []): Step<Item> {
    const item = { type: 'invalid' as const, ...this.#insert, values, message };
    return { ...this.#skip(length, mode), item };
  }

  #readStatement({ type, text, end }: Token): Step<Item> | null {
    if (type === 'delimiter') return this.#skip(end);
    switch (type === 'word' ? text.toLowerCase() : '') {
      case 'insert':
      case 'replace':
        return this.#readHead(true);
      case 'create':
        return this.#readHead(false);
      case 'delimiter':
        return this.#readDelimiter(end);
    }
    return this.#skip(0, 'rest of statement');
  }

  /** Reads the head of an INSERT or REPLACE up to VALUES, or a CREATE TABLE. */
  #readHead(isInsert: boolean): Step<Item> | null {
    const head = new StatementHead((position) => this.#tokenAt(position));
    const table = head.table();
    const isRead = table !== null && this.isWanted(table);
    const hasList = isRead && head.is('(');
    const list = hasList && isInsert ? head.columnList() : null;
    const defined = hasList && !isInsert ? head.definedColumns() : [];
    const { type, end } = head.token;
    const isLast = skipBlanks(this.#unit, end) === this.#unit.length;
    if (isLast && this.#end === 'chunk') return null;
    if (!isRead) return this.#skip(0, 'rest of statement');
    const isTooLong = end > this.maxLength;
    if (!isInsert) {
      if (defined.length === 0 || isTooLong) return this.#skip(0, 'rest of statement');
      this.#columnsByTable.set(table, defined);
      const item = { type: 'table' as const, table, columns: defined };
      return { ...this.#skip(end, 'rest of statement'), item };
    }
    this.#insert = { table, columns: list ?? this.#columnsByTable.get(table) ?? null };
    const isMalformed = hasList && list === null;
    const isCut = isLast && this.#end === 'file' && (type === 'end' || type === 'word');
    let message = isMalformed ? faults.malformed : faults.unsupported;
    if (isTooLong) message = faults.headTooLong(this.maxLength);
    else if (isCut) message = faults.headCut;
    else if (!isMalformed && (head.is('values') || head.is('value'))) return this.#skip(end, 'row');
    return this.#fault(message, 'rest of statement');
  }

  /** DELIMITER is a command of the mysql client, which ends with its line. */
  #readDelimiter(start: number): Step<Item> | null {
    const lineFeed = this.#unit.indexOf('\n', start);
    if (lineFeed < 0 && this.#end === 'chunk') return null;
    const end = lineFeed < 0 ? this.#unit.length : lineFeed;
    const [delimiter = ''] = this.#unit.slice(start, end).trim().split(/\s/, 1);
    if (delimiterPattern.test(delimiter)) this.#delimiter = delimiter;
    return this.#skip(end);
  }

  #readRow(first: Token): Step<Item> | null {
    if (first.type === 'delimiter') return this.#skip(first.end, 'statement');
    if (first.text !== '(') {
      const isCut = first.type === 'end' && this.#end === 'file';
      const message = isCut ? faults.headCut : faults.malformed;
      return this.#fault(message, 'rest of statement');
    }
    const values: (SqlValue | null)[] = [];
    let [position, separator] = [first.end, ','];
    while (separator === ',') {
      const literal = readLiteral(this.#unit, skipBlanks(this.#unit, position));
      if (literal === null || literal.end > this.maxLength) break;
      values.push(literal.value);
      position = skipBlanks(this.#unit, literal.end);
      separator = this.#unit.charAt(position);
      if (separator === ',') position += 1;
    }
    if (separator === ')' && position < this.maxLength) {
      const item = { type: 'row' as const, ...this.#insert, values };
      return { ...this.#skip(position + 1, 'separator'), item };
    }
    const { type, end } = this.#tokenAt(position);
    if (type === 'end' && this.#end === 'chunk') return null;
    [this.#depth, this.#readBefore] = [1, end];
    let message = type === 'end' ? faults.cut : faults.notLiteral;
    if (end > this.maxLength) message = faults.tooLong(this.maxLength);
    return this.#fault(message, 'rest of row', 1, values);
  }

  /** Reads what follows a row. */
  #readSeparator({ type, text, end }: Token): Step<Item> | null {
    if (type === 'delimiter') return this.#skip(end, 'statement');
    // `ON DUPLICATE KEY UPDATE …` is skipped like an unknown statement. If the delimiter is missing because the dump was
    // cut, the next statement is read.
    if (type === 'word') return this.#skip(0, 'statement');
    if (type === 'end') return this.#skip(0, 'rest of statement');
    if (text !== ',') return this.#fault(faults.malformed, 'rest of statement');
    const isLast = skipBlanks(this.#unit, end) === this.#unit.length;
    if (isLast && this.#end === 'chunk') return null;
    if (isLast && this.#end === 'file') return this.#fault(faults.headCut, 'statement', end);
    return this.#skip(end, 'row');
  }

  /**
   * Discards text up to the end of the statement, of the malformed row or of the comment, as far as it is before `end`. A
   * quote of the row may be missing, so a string ends where the next row or statement starts.
   */
  #discard(text: string, end: number): Step<Item> | null {
    const position = this.#position;
    const isRow = this.#mode === 'rest of row';
    const leave = (at: number, mode: Mode): Step<Item> => {
      if (isRow) this.#takeRescan(this.#readBefore - (at - position));
      [this.#within, this.#isExecuted] = ['', false];
      return this.#skip(at - position, mode);
    };
    let at = position;
    for (; at < end; at += 1) {
      const char = text.charAt(at);
      const within = this.#within;
      if (isRow && (char === '\n' || (char === ')' && within !== ''))) {
        const statement = matchEnd(nextStatement, text, at);
        if (statement >= 0) return leave(statement, 'statement');
        const row = within === '' ? -1 : matchEnd(nextRow, text, at);
        if (row >= 0) return leave(row, 'row');
      }
      if (within !== '') {
        if (char === '\\' && `'"`.includes(within)) at += 1;
        else if (text.startsWith(within, at)) {
          at += within.length - 1;
          this.#within = '';
        }
      } else if (`'"\``.includes(char)) this.#within = char;
      else if (!this.#isExecuted && text.startsWith(this.#delimiter, at)) {
        return leave(at + this.#delimiter.length, 'statement');
      } else if (isRow) {
        if (char === '(') this.#depth += 1;
        if (char === ')') this.#depth -= 1;
        if (this.#depth === 0) return leave(at + 1, 'separator');
      } else if (this.#isExecuted && text.startsWith('*/', at)) {
        this.#isExecuted = false;
        at += 1;
      } else if ('#-/'.includes(char)) at += this.#enterComment(text, at);
      const isComment = this.#within !== '' || this.#isExecuted;
      if (this.#mode === 'comment' && !isComment) return leave(at + 1, this.#nextMode);
    }
    if (at === position) return null;
    this.#readBefore -= at - position;
    return this.#skip(Math.min(at, text.length) - position);
  }

  /** Returns the number of characters after the first one of a comment's start. */
  #enterComment(text: string, at: number): number {
    const start =
      /^(?:#|--(?=[\0- \ufeff]|$)|\/\*(?:M?!)?)/.exec(text.slice(at, at + 4))?.[0] ?? '';
    if (start.endsWith('!') && !this.#isExecuted) this.#isExecuted = true;
    else if (start !== '') this.#within = start.startsWith('/') ? '*/' : '\n';
    return Math.max(0, start.length - 1);
  }
}

/**
 * The rows and tables of a dump. The memory used is that of one row, the head of an INSERT or a CREATE TABLE: everything
 * else is discarded while it is read.
 *
 * @param isWanted whether to read the columns and rows of a table; the statements of others are discarded
 * @param maxLength of a row, of the head of an INSERT and of a CREATE TABLE, in characters
 */
export async function* readSqlRecords(
  text: AsyncIterable<string>,
  isWanted: (table: string) => boolean,
  maxLength = maxRecordLength,
): AsyncGenerator<SqlRecord, void, undefined> {
  const scanner = new SqlScanner(isWanted, maxLength);
  const items = scan(text, (buffer, position, isEnd) => scanner.scan(buffer, position, isEnd));
  for await (const { row, item } of items) yield { line: row, ...item };
}

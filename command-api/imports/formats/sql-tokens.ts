/**
 * Reads the rows of INSERT statements from SQL dumps of MySQL and MariaDB (mysqldump, phpMyAdmin, Adminer). Nothing is
 * evaluated: a row with an expression is invalid. Statements are read row by row; only one row, the head of an INSERT or
 * a CREATE TABLE are buffered, and at most `maxRecordLength` characters of them. Everything else is discarded while it
 * is read.
 */
import { rescanBudget } from './scan.js';
import { maxRecordLength } from './source-record.js';

/** A literal. NULL is `null`. */
export interface SqlValue {
  readonly type: 'string' | 'number' | 'hex';
  /** Of a string without quotes and escapes, of a number as in the file, of a blob an even number of hex digits. */
  readonly text: string;
}

interface SqlInsert {
  /** The line on which the row or the statement starts, from 1. */
  readonly line: number;
  /** Without the name of the database. */
  readonly table: string;
  /** Of the statement, otherwise of the CREATE TABLE before it; `null` if the file has neither. */
  readonly columns: readonly string[] | null;
  /** Of an invalid row, the values before the fault. */
  readonly values: readonly (SqlValue | null)[];
}

export type SqlRecord =
  | ({ readonly type: 'row' } & SqlInsert)
  | ({ readonly type: 'invalid'; readonly message: string } & SqlInsert)
  | {
      readonly type: 'table';
      readonly line: number;
      readonly table: string;
      readonly columns: readonly string[];
    };

/** `incomplete`: the token may continue in the next chunk. `end`: the file ends here, maybe within a token. */
type Token =
  | ('word' | 'string' | 'name' | 'delimiter' | 'other')
  | ('(' | ')' | ',' | '.' | '+' | '-')
  | ('incomplete' | 'tooLong' | 'end');

/** What the tokenizer reads next. */
type Mode = 'statement' | 'row' | 'separator' | 'restOfStatement' | 'restOfRow';

/** A token or comment whose rest is discarded. */
type Discarded = "'" | '"' | '`' | 'word' | 'line' | 'comment';

/** `continue`: the step had no record. `wait`: it needs more text. */
type Step = SqlRecord | 'continue' | 'wait' | 'end';

const [quote, doubleQuote, backtick, backslash] = [0x27, 0x22, 0x60, 0x5c];
const lineFeed = 0x0a;
const [hash, minus, plus, dot, slash, asterisk] = [0x23, 0x2d, 0x2b, 0x2e, 0x2f, 0x2a];
const [exclamationMark, openParenthesis, closeParenthesis, comma] = [0x21, 0x28, 0x29, 0x2c];
const byteOrderMark = 0xfeff;

/** Also the number of characters that a token needs after its end. */
const maxDelimiterLength = 16;

/** Other delimiters are ignored. */
const delimiterPattern = new RegExp(`^[^'"\`\\\\]{1,${maxDelimiterLength}}$`);

/** Dumps create a table immediately before its rows, so the oldest columns are forgotten. */
const maxTables = 100;

const isBlank = (code: number): boolean => code <= 0x20 || code === byteOrderMark;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/** Without `$`, because `$$` is a usual delimiter. */
const isWordPart = (code: number): boolean =>
  isDigit(code) ||
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  code === 0x5f ||
  code === 0x40 ||
  (code >= 0x80 && code !== byteOrderMark);

/** MySQL keeps the backslash before `%` and `_` outside of LIKE. Before all other characters it is removed. */
const escapes: ReadonlyMap<string, string> = new Map([
  ['0', '\0'],
  ['b', '\b'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['Z', '\x1a'],
  ['%', '\\%'],
  ['_', '\\_'],
]);

const unescaped = (text: string, mark: string): string =>
  text.replace(
    mark === "'" ? /\\([^])|''/g : /\\([^])|""/g,
    (_match, escaped: string | undefined) =>
      escaped === undefined ? mark : (escapes.get(escaped) ?? escaped),
  );

const numberPattern = /^(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?$/i;
const hexNumberPattern = /^0x[0-9a-f]+$/i;
const hexPattern = /^(?:[0-9a-f]{2})*$/i;

const insertModifiers = new Set(['low_priority', 'high_priority', 'delayed', 'ignore', 'into']);
const createModifiers = new Set(['temporary', 'or', 'replace']);
const existenceWords = new Set(['if', 'not', 'exists']);

/** The first words of definitions in a CREATE TABLE that are not columns. All are reserved, so columns are quoted. */
const keyWords = new Set([
  ...['primary', 'key', 'index', 'unique', 'fulltext', 'spatial', 'constraint', 'foreign', 'check'],
]);

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

/**
 * Where the next row or statement starts, at the position of `)` or of a line feed. Dumps escape line feeds in strings.
 * The characters that a pattern needs are at most `maxStartLength`.
 */
const nextRow = /(?:\),\r?\n?|\n)(?=\((?:['"\d_-]|null\b))/iy;
const nextStatement =
  /\n(?=(?:INSERT|REPLACE|CREATE|DROP|ALTER|LOCK|UNLOCK|COMMIT|SET)\s|\/\*!|-- )/y;
const maxStartLength = 16;

/** The tokenizer of one dump. A unit (a row or the head of a statement) that is incomplete is read again from its start. */
class SqlTokenizer {
  readonly #isWanted: (table: string) => boolean;
  readonly #maxLength: number;
  readonly #columnsByTable = new Map<string, readonly string[]>();
  #mode: Mode = 'statement';
  #delimiter = ';';

  #buffer = '';
  #isEnded = false;
  /** The next character; after a token, its end. */
  #at = 0;
  /** The number of unread characters that the next step needs. */
  #needed = 1;
  #discarded: Discarded | null = null;
  /** Whether the position is in a comment such as `/*!40101 …`. It is read by tokens, because it contains statements. */
  #isInExecutableComment = false;

  /** The start of the unit. */
  #start = 0;
  #token: Token = 'end';
  #tokenStart = 0;
  /** Whether the string has escapes or doubled quotes. */
  #isEscaped = false;

  /** The statement of the rows. */
  #table = '';
  #columns: readonly string[] | null = null;

  /** Open parentheses in the rest of a row, and the quote of the string at its position; 0: none. */
  #depth = 0;
  #openQuote = 0;
  /** The characters of the rest of a row that were read before. */
  #readBefore = 0;
  readonly #takeRescan = rescanBudget();

  /** The line of the position `#counted`. */
  #line = 1;
  #counted = 0;
  /** The first line feed after `#counted`; the length of the buffer if there is none. */
  #lineFeed = -1;

  constructor(isWanted: (table: string) => boolean, maxLength: number) {
    this.#isWanted = isWanted;
    this.#maxLength = maxLength;
  }

  /** @param chunk the next text; `null` at the end of the file */
  push(chunk: string | null): void {
    if (chunk === null) {
      this.#isEnded = true;
      return;
    }
    if (this.#at > 0) {
      this.#countLines(this.#at);
      this.#buffer = this.#buffer.slice(this.#at);
      this.#at = 0;
      this.#counted = 0;
    }
    this.#buffer += chunk;
    this.#lineFeed = -1;
  }

  /** The next record; `null` if it needs another chunk, or at the end. */
  next(): SqlRecord | null {
    for (;;) {
      if (this.#buffer.length - this.#at < this.#needed && !this.#isEnded) return null;
      this.#needed = 1;
      const step = this.#step();
      if (step === 'end') return null;
      if (typeof step === 'object') return step;
      if (step === 'wait' && this.#needed === 1) this.#needed = this.#buffer.length - this.#at + 1;
    }
  }

  #step(): Step {
    if (this.#discarded !== null && !this.#discard(this.#discarded)) return 'wait';
    this.#discarded = null;
    if (this.#mode === 'restOfRow') return this.#restOfRow();
    if (!this.#skipBlanks()) return this.#discardIncomplete();
    this.#start = this.#at;
    switch (this.#mode) {
      case 'statement':
        return this.#statement();
      case 'row':
        return this.#row();
      case 'separator':
        return this.#separator();
      case 'restOfStatement':
        return this.#rest();
      default: {
        const mode: never = this.#mode;
        throw new Error(`unknown mode ${String(mode)}`);
      }
    }
  }

  #statement(): Step {
    const token = this.#take();
    if (token === 'end') return 'end';
    if (token === 'delimiter') return 'continue';
    switch (token === 'word' ? this.#word().toLowerCase() : '') {
      case 'insert':
      case 'replace':
        return this.#insert();
      case 'create':
        return this.#create();
      case 'delimiter':
        return this.#delimiterCommand();
    }
    return this.#skipUnit();
  }

  /** Reads the head of an INSERT or REPLACE, up to VALUES. */
  #insert(): Step {
    this.#takeWords(insertModifiers);
    const table = this.#tableName();
    if (table === null) return this.#skipUnit();
    if (!this.#isWanted(table)) return this.#skipFrom(this.#start, 'restOfStatement');
    const known = this.#columnsByTable.get(table) ?? null;
    const columns = this.#token === '(' ? this.#columnList() : known;
    if (columns !== undefined && this.#isWord(/^values?$/i)) {
      this.#table = table;
      this.#columns = columns;
      this.#mode = 'row';
      return 'continue';
    }
    const isTooLong = this.#token === 'tooLong';
    const isLast = this.#token === 'word' && this.#at === this.#buffer.length;
    const isCut = this.#token === 'end' || isLast;
    if (this.#skipUnit() === 'wait') return 'wait';
    let message = columns === undefined ? faults.malformed : faults.unsupported;
    if (isTooLong) message = faults.headTooLong(this.#maxLength);
    else if (isCut) message = faults.headCut;
    const line = this.#countLines(this.#start);
    return { type: 'invalid', line, table, columns: columns ?? known, values: [], message };
  }

  /** The names in parentheses; `undefined` if they are malformed or incomplete. Takes the token after them. */
  #columnList(): readonly string[] | undefined {
    const names: string[] = [];
    for (;;) {
      this.#take();
      const name = this.#name();
      if (name === null) return undefined;
      names.push(name);
      const token = this.#take();
      if (token === ')') {
        this.#take();
        return names;
      }
      if (token !== ',') return undefined;
    }
  }

  /** Reads the names of the columns of a CREATE TABLE. Other statements are skipped. */
  #create(): Step {
    this.#takeWords(createModifiers);
    if (!this.#isWord(/^table$/i)) return this.#skipUnit();
    this.#takeWords(existenceWords);
    const table = this.#tableName();
    if (table === null) return this.#skipUnit();
    if (!this.#isWanted(table)) return this.#skipFrom(this.#start, 'restOfStatement');
    if (this.#token !== '(') return this.#skipUnit();
    const columns: string[] = [];
    let depth = 1;
    let isFirst = true;
    while (depth > 0) {
      const token = this.#take();
      if (token === 'incomplete' || token === 'tooLong' || token === 'end' || token === 'delimiter')
        return this.#skipUnit();
      if (isFirst) {
        const name = this.#name();
        if (name !== null && !(token === 'word' && keyWords.has(name.toLowerCase())))
          columns.push(name);
      }
      if (token === '(') depth += 1;
      if (token === ')') depth -= 1;
      isFirst = token === ',' && depth === 1;
    }
    this.#mode = 'restOfStatement';
    if (columns.length === 0) return 'continue';
    this.#columnsByTable.delete(table);
    this.#columnsByTable.set(table, columns);
    if (this.#columnsByTable.size > maxTables) {
      const [oldest = ''] = this.#columnsByTable.keys();
      this.#columnsByTable.delete(oldest);
    }
    return { type: 'table', line: this.#countLines(this.#start), table, columns };
  }

  /** DELIMITER is a command of the mysql client, which ends with its line. */
  #delimiterCommand(): Step {
    const lineEnd = this.#buffer.indexOf('\n', this.#at);
    const end = lineEnd === -1 ? this.#buffer.length : lineEnd;
    if (end - this.#start > this.#maxLength) {
      this.#discarded = 'line';
      return 'continue';
    }
    if (lineEnd === -1 && !this.#isEnded) return this.#waitForUnit();
    const [delimiter = ''] = this.#buffer.slice(this.#at, end).trim().split(/\s/, 1);
    if (delimiterPattern.test(delimiter)) this.#delimiter = delimiter;
    this.#at = end;
    return 'continue';
  }

  #row(): Step {
    const line = this.#countLines(this.#start);
    const values: (SqlValue | null)[] = [];
    const row = { line, table: this.#table, columns: this.#columns, values };
    const first = this.#take();
    if (first === 'delimiter') {
      this.#mode = 'statement';
      return 'continue';
    }
    if (first !== '(') {
      if (this.#skipUnit() === 'wait') return 'wait';
      const message = first === 'end' ? faults.headCut : faults.malformed;
      return { type: 'invalid', ...row, message };
    }
    const last = this.#values(values);
    if (last === 'incomplete') return this.#waitForUnit();
    if (last === ')') {
      this.#mode = 'separator';
      return { type: 'row', ...row };
    }
    [this.#depth, this.#openQuote] = [1, 0];
    this.#readBefore = this.#at - this.#start;
    this.#skipFrom(this.#start + 1, 'restOfRow');
    const { tooLong, cut, notLiteral } = faults;
    const message =
      last === 'tooLong' ? tooLong(this.#maxLength) : last === 'end' ? cut : notLiteral;
    return { type: 'invalid', ...row, message };
  }

  /** Reads the values of a row. Returns the token after the last value, or the token that is not a literal. */
  #values(values: (SqlValue | null)[]): Token {
    for (;;) {
      const value = this.#value();
      if (value === undefined) return this.#token === ')' ? 'other' : this.#token;
      values.push(value);
      const token = this.#take();
      if (token !== ',') return token;
    }
  }

  /** Reads what follows a row. */
  #separator(): Step {
    const token = this.#take();
    if (token === 'end') return 'end';
    if (token === ',' || token === 'delimiter') {
      this.#mode = token === ',' ? 'row' : 'statement';
      return 'continue';
    }
    // `ON DUPLICATE KEY UPDATE …` is skipped like an unknown statement. If the delimiter is missing because the dump was
    // cut, the next statement is read.
    if (token === 'word') return this.#skipFrom(this.#start, 'statement');
    if (this.#skipUnit() === 'wait') return 'wait';
    const line = this.#countLines(this.#start);
    const insert = { line, table: this.#table, columns: this.#columns, values: [] };
    return { type: 'invalid', ...insert, message: faults.malformed };
  }

  /** Discards the rest of a malformed row. Its quote may be missing, so a string ends where the next row starts. */
  #restOfRow(): Step {
    const buffer = this.#buffer;
    const { length } = buffer;
    const start = this.#at;
    const startsAt = (pattern: RegExp, at: number): number => {
      pattern.lastIndex = at;
      return pattern.test(buffer) ? pattern.lastIndex : -1;
    };
    const endAt = (at: number, mode: Mode): Step => {
      this.#takeRescan(this.#readBefore - (at - start));
      return this.#skipFrom(at, mode);
    };
    let at = start;
    for (; at < length && (this.#isEnded || length - at >= maxStartLength); at += 1) {
      const code = buffer.charCodeAt(at);
      const isInString = this.#openQuote !== 0;
      if (code === lineFeed || (isInString && code === closeParenthesis)) {
        const statement = startsAt(nextStatement, at);
        if (statement >= 0) return endAt(statement, 'statement');
        const row = isInString ? startsAt(nextRow, at) : -1;
        if (row >= 0) return endAt(row, 'row');
      }
      if (isInString) {
        if (code === this.#openQuote) this.#openQuote = 0;
        else if (code === backslash && this.#openQuote !== backtick) at += 1;
      } else if (code === quote || code === doubleQuote || code === backtick) {
        this.#openQuote = code;
      } else if (code === openParenthesis) this.#depth += 1;
      else if (code === closeParenthesis) {
        this.#depth -= 1;
        if (this.#depth === 0) return endAt(at + 1, 'separator');
      } else if (buffer.startsWith(this.#delimiter, at)) {
        return endAt(at + this.#delimiter.length, 'statement');
      }
    }
    this.#at = Math.min(at, length);
    this.#readBefore -= this.#at - start;
    return this.#at === length && this.#isEnded ? 'end' : 'wait';
  }

  /** Discards the rest of a statement, token by token. */
  #rest(): Step {
    for (;;) {
      const token = this.#skipBlanks() ? this.#lex() : 'incomplete';
      if (token === 'incomplete') return this.#discardIncomplete();
      if (token === 'end') return 'end';
      if (token === 'delimiter') {
        this.#mode = 'statement';
        return 'continue';
      }
    }
  }

  /** `undefined`: not a literal. */
  #value(): SqlValue | null | undefined {
    let token = this.#take();
    if (token === 'word' && this.#buffer.startsWith('_', this.#tokenStart)) token = this.#take();
    if (token === 'string') return { type: 'string', text: this.#text() };
    const sign = token === '-' ? '-' : '';
    const isSigned = token === '-' || token === '+';
    if (isSigned) token = this.#take();
    if (token === '.' || (token === 'word' && isDigit(this.#buffer.charCodeAt(this.#tokenStart))))
      token = this.#extendToNumber();
    if (token !== 'word') return undefined;
    const word = this.#word();
    if (numberPattern.test(word)) return { type: 'number', text: sign + word };
    if (isSigned) return undefined;
    if (hexNumberPattern.test(word))
      return { type: 'hex', text: (word.length % 2 === 0 ? '' : '0') + word.slice(2) };
    switch (word.toLowerCase()) {
      case 'null':
        return null;
      case 'n':
        return this.#take() === 'string' ? { type: 'string', text: this.#text() } : undefined;
      case 'x': {
        const text = this.#take() === 'string' ? this.#text() : '-';
        return hexPattern.test(text) ? { type: 'hex', text } : undefined;
      }
    }
    return undefined;
  }

  /** The table that starts with the last token; `null` if it is no name or incomplete. Takes the token after it. */
  #tableName(): string | null {
    for (;;) {
      const name = this.#name();
      if (name === null || this.#take() === 'incomplete') return null;
      if (this.#token !== '.') return name;
      this.#take();
    }
  }

  /** Takes all of these words, and the token after them. */
  #takeWords(words: ReadonlySet<string>): void {
    while (this.#take() === 'word' && words.has(this.#word().toLowerCase()));
  }

  /** The last token as a name; with `ANSI_QUOTES`, names have double quotes. */
  #name(): string | null {
    if (this.#token === 'word') return this.#word();
    if (this.#token === 'name')
      return this.#buffer.slice(this.#tokenStart + 1, this.#at - 1).replaceAll('``', '`');
    const isQuoted = this.#token === 'string' && this.#buffer[this.#tokenStart] === '"';
    return isQuoted ? this.#text() : null;
  }

  #word(): string {
    return this.#buffer.slice(this.#tokenStart, this.#at);
  }

  #isWord(pattern: RegExp): boolean {
    return this.#token === 'word' && pattern.test(this.#word());
  }

  /** The content of the last token, a string. */
  #text(): string {
    const text = this.#buffer.slice(this.#tokenStart + 1, this.#at - 1);
    return this.#isEscaped ? unescaped(text, this.#buffer.charAt(this.#tokenStart)) : text;
  }

  /** Adds the fraction and the exponent to the last token, which starts a number. */
  #extendToNumber(): Token {
    const buffer = this.#buffer;
    const { length } = buffer;
    let end = this.#at;
    for (; end < length; end += 1) {
      const code = buffer.charCodeAt(end);
      const isSign = code === minus || code === plus;
      const isPart = isSign
        ? (buffer.charCodeAt(end - 1) | 0x20) === 0x65
        : code === dot || isWordPart(code);
      if (!isPart) break;
    }
    if (end === length && !this.#isEnded) return this.#taken('incomplete');
    this.#at = end;
    return this.#taken('word');
  }

  /** Takes the next token of the unit. */
  #take(): Token {
    return this.#taken(this.#skipBlanks() ? this.#lex() : 'incomplete');
  }

  /** Limits the length of the unit. The result does not depend on the chunks. */
  #taken(token: Token): Token {
    this.#token = token;
    const length = this.#buffer.length - this.#start;
    if (
      this.#at - this.#start > this.#maxLength ||
      (this.#token === 'incomplete' && length > this.#maxLength + maxDelimiterLength)
    )
      this.#token = 'tooLong';
    return this.#token;
  }

  /** Reads the unit again when the text is twice as long, so that small chunks do not take quadratic time. */
  #waitForUnit(): 'wait' {
    this.#at = this.#start;
    this.#isInExecutableComment = false;
    const length = this.#buffer.length - this.#start;
    const limit = Math.max(length, this.#maxLength + maxDelimiterLength) + 1;
    this.#needed = Math.min(2 * length + 1, limit);
    return 'wait';
  }

  /** After a token that the unit does not expect: waits if it is incomplete, otherwise skips the statement. */
  #skipUnit(): 'wait' | 'continue' {
    return this.#token === 'incomplete'
      ? this.#waitForUnit()
      : this.#skipFrom(this.#start, 'restOfStatement');
  }

  #skipFrom(position: number, mode: Mode): 'continue' {
    this.#at = position;
    this.#isInExecutableComment = false;
    this.#mode = mode;
    return 'continue';
  }

  /** Starts to discard the incomplete token or comment at the position, unless it only lacks its first characters. */
  #discardIncomplete(): 'wait' | 'continue' {
    const code = this.#buffer.charCodeAt(this.#at);
    const next = this.#buffer.charCodeAt(this.#at + 1);
    if (this.#isDelimiterPrefix()) return 'wait';
    if (code === quote) this.#discarded = "'";
    else if (code === doubleQuote) this.#discarded = '"';
    else if (code === backtick) this.#discarded = '`';
    else if (code === hash) this.#discarded = 'line';
    else if (code === minus && next === minus && this.#buffer.length - this.#at > 2)
      this.#discarded = 'line';
    else if (code === slash && next === asterisk && this.#buffer.length - this.#at > 3)
      this.#discarded = 'comment';
    else if (isWordPart(code)) this.#discarded = 'word';
    else return 'wait';
    this.#at += this.#discarded === 'comment' ? 2 : 1;
    return 'continue';
  }

  /** Discards the rest of a token or comment, as far as it is in the buffer. Returns whether it ended. */
  #discard(kind: Discarded): boolean {
    const buffer = this.#buffer;
    const { length } = buffer;
    switch (kind) {
      case 'line': {
        const end = buffer.indexOf('\n', this.#at);
        this.#at = end === -1 ? length : end;
        return end !== -1 || this.#isEnded;
      }
      case 'comment': {
        const end = buffer.indexOf('*/', this.#at);
        const isCut = end === -1 && !this.#isEnded && buffer.endsWith('*') && length > this.#at;
        this.#at = end === -1 ? length - (isCut ? 1 : 0) : end + 2;
        return end !== -1 || this.#isEnded;
      }
      case 'word':
        while (this.#at < length && isWordPart(buffer.charCodeAt(this.#at))) this.#at += 1;
        return this.#at < length || this.#isEnded;
      case "'":
      case '"':
      case '`': {
        const mark = kind.charCodeAt(0);
        for (let at = this.#at; ; at += 2) {
          at = this.#endOfQuoted(at, mark);
          // The buffer may end within an escape or a doubled quote.
          const isCut = !this.#isEnded && (at > length || at + 1 === length);
          if (at >= length || isCut) {
            this.#at = isCut ? length - 1 : length;
            return this.#isEnded;
          }
          if (buffer.charCodeAt(at + 1) === mark) continue;
          this.#at = at + 1;
          return true;
        }
      }
    }
  }

  /** The first closing quote. Without one, the length of the buffer, or more if the buffer ends within an escape. */
  #endOfQuoted(from: number, mark: number): number {
    const buffer = this.#buffer;
    const { length } = buffer;
    let at = from;
    while (at < length) {
      const code = buffer.charCodeAt(at);
      if (code === mark) return at;
      if (code === backslash && mark !== backtick) {
        this.#isEscaped = true;
        at += 1;
      }
      at += 1;
    }
    return at;
  }

  /** Skips white space and comments. Returns whether a token starts at the position, or the file ends there. */
  #skipBlanks(): boolean {
    const buffer = this.#buffer;
    const { length } = buffer;
    for (;;) {
      while (this.#at < length && isBlank(buffer.charCodeAt(this.#at))) this.#at += 1;
      if (this.#at === length) return this.#isEnded;
      const code = buffer.charCodeAt(this.#at);
      const isComment = code === hash || code === minus || code === slash;
      if (!this.#isInExecutableComment && (!isComment || this.#isAtDelimiter())) return true;
      const start = this.#at;
      const isSkipped = isComment ? this.#skipComment(code) : this.#skipExecutable(code);
      if (!isSkipped) return false;
      if (this.#at === start && !this.#isInExecutableComment) return true;
      if (this.#at === start && this.#lex() === 'incomplete') return false;
    }
  }

  /** Returns false if the comment is incomplete. The position does not change if there is no comment. */
  #skipComment(code: number): boolean {
    const buffer = this.#buffer;
    const { length } = buffer;
    const at = this.#at;
    if (code === slash) {
      if (length - at < 4 && !this.#isEnded) return false;
      if (buffer.charCodeAt(at + 1) !== asterisk) return true;
      const isExecutable =
        buffer.charCodeAt(at + 2) === exclamationMark || buffer.startsWith('M!', at + 2);
      if (isExecutable && !this.#isInExecutableComment) {
        this.#isInExecutableComment = true;
        this.#at += 3;
        return true;
      }
      const end = buffer.indexOf('*/', at + 2);
      if (end === -1 && !this.#isEnded) return false;
      this.#at = end === -1 ? length : end + 2;
      return true;
    }
    if (code === minus) {
      if (length - at < 3 && !this.#isEnded) return false;
      const isDouble = buffer.charCodeAt(at + 1) === minus;
      if (!isDouble || (at + 2 < length && !isBlank(buffer.charCodeAt(at + 2)))) return true;
    }
    const end = buffer.indexOf('\n', at);
    if (end === -1 && !this.#isEnded) return false;
    this.#at = end === -1 ? length : end;
    return true;
  }

  /** Leaves an executable comment at its end. Returns false if the position may be its end. */
  #skipExecutable(code: number): boolean {
    if (code !== asterisk) return true;
    if (this.#at + 1 === this.#buffer.length && !this.#isEnded) return false;
    if (this.#buffer.charCodeAt(this.#at + 1) === slash) {
      this.#isInExecutableComment = false;
      this.#at += 2;
    }
    return true;
  }

  #isAtDelimiter(): boolean {
    return this.#buffer.startsWith(this.#delimiter, this.#at);
  }

  /** Whether the buffer ends within what may be the delimiter. */
  #isDelimiterPrefix(): boolean {
    const length = this.#buffer.length - this.#at;
    return (
      !this.#isEnded &&
      !this.#isInExecutableComment &&
      length < this.#delimiter.length &&
      this.#delimiter.startsWith(this.#buffer.slice(this.#at))
    );
  }

  /** Reads the token at the position, which is not blank. */
  #lex(): Token {
    const buffer = this.#buffer;
    const { length } = buffer;
    this.#tokenStart = this.#at;
    if (this.#at >= length) return 'end';
    if (!this.#isInExecutableComment) {
      if (this.#isAtDelimiter()) {
        this.#at += this.#delimiter.length;
        return 'delimiter';
      }
      if (this.#isDelimiterPrefix()) return 'incomplete';
    }
    const code = buffer.charCodeAt(this.#at);
    switch (code) {
      case quote:
      case doubleQuote:
      case backtick:
        return this.#lexQuoted(code);
      case openParenthesis:
        this.#at += 1;
        return '(';
      case closeParenthesis:
        this.#at += 1;
        return ')';
      case comma:
        this.#at += 1;
        return ',';
      case minus:
        this.#at += 1;
        return '-';
      case plus:
        this.#at += 1;
        return '+';
      case dot:
        this.#at += 1;
        return '.';
    }
    let end = this.#at;
    while (end < length && isWordPart(buffer.charCodeAt(end))) end += 1;
    if (end === length && !this.#isEnded) return 'incomplete';
    const isWord = end > this.#at;
    this.#at = isWord ? end : end + 1;
    return isWord ? 'word' : 'other';
  }

  #lexQuoted(mark: number): Token {
    const buffer = this.#buffer;
    const { length } = buffer;
    this.#isEscaped = false;
    for (let at = this.#at + 1; ; at += 2) {
      at = this.#endOfQuoted(at, mark);
      if (at >= length || (at + 1 === length && !this.#isEnded)) break;
      if (buffer.charCodeAt(at + 1) !== mark) {
        this.#at = at + 1;
        return mark === backtick ? 'name' : 'string';
      }
      this.#isEscaped = true;
    }
    if (!this.#isEnded) return 'incomplete';
    this.#at = length;
    return 'end';
  }

  /** Counts line feeds up to a position, which never decreases. Returns its line. */
  #countLines(position: number): number {
    const buffer = this.#buffer;
    for (;;) {
      if (this.#lineFeed < this.#counted) {
        const found = buffer.indexOf('\n', this.#counted);
        this.#lineFeed = found === -1 ? buffer.length : found;
      }
      if (this.#lineFeed >= position) break;
      this.#line += 1;
      this.#counted = this.#lineFeed + 1;
    }
    this.#counted = Math.max(this.#counted, position);
    return this.#line;
  }
}

/**
 * @param isWanted whether to read the columns and rows of a table; the statements of others are discarded
 * @param maxLength of a row, of the head of an INSERT and of a CREATE TABLE, in characters
 */
export async function* readSqlRecords(
  text: AsyncIterable<string>,
  isWanted: (table: string) => boolean,
  maxLength = maxRecordLength,
): AsyncGenerator<SqlRecord, void, undefined> {
  const tokenizer = new SqlTokenizer(isWanted, maxLength);
  for await (const chunk of text) {
    tokenizer.push(chunk);
    for (let record = tokenizer.next(); record; record = tokenizer.next()) yield record;
  }
  tokenizer.push(null);
  for (let record = tokenizer.next(); record; record = tokenizer.next()) yield record;
}

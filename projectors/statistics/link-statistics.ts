import { BoundedMap } from '../../ops/platform/collections.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { millisecondsOf } from '../../schemas/events/time.js';
import { quarterAt, type Quarter } from '../../schemas/statistics/calendar.js';
import {
  dimensionFields,
  dimensionNames,
  valuesIn,
  type ClickValues,
} from '../../schemas/statistics/document.js';
import { Statistics, type Totals } from './statistics.js';

/** The part of a visit that statistics use. */
export interface Visit extends Quarter {
  readonly subject: string;
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** `null` for a bot. */
  readonly visitor: string | null;
  readonly bot: boolean;
  /** Without the code, which only the documents of links have. */
  readonly values: ClickValues;
  /** `null`: the first code of the link. */
  readonly code: string | null;
  /** Whether it is the first visit of its visitor on its day; set when it is counted for its link. */
  isFirst: boolean;
}

/**
 * Recent accounts and click values, which thousands of visits share. They are copies, because a substring keeps its whole
 * source text in memory: a row of the log with hundreds of records.
 */
const knownAccounts = new BoundedMap<string, string>(1_000);
const knownValues = new BoundedMap<string, ClickValues>(5_000);

const copyOf = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

const intern = <Value>(known: Map<string, Value>, key: string, value: Value): Value => {
  const added = copyOf(value);
  known.set(copyOf(key), added);
  return added;
};

const sharedFields = dimensionFields.filter((field) => field !== 'code');
const codes = dimensionNames.indexOf('codes');

const valuesOf = (visited: EventNamed<'LinkVisited'>['data']): ClickValues => {
  let key = '';
  // Only a referrer may contain a line feed, so different values have different keys.
  for (const field of sharedFields) key += `${visited[field]}\n`;
  return knownValues.get(key) ?? intern(knownValues, key, valuesIn({ ...visited, code: null }));
};

export const visitOf = ({
  subject,
  account = '',
  time,
  data,
}: EventNamed<'LinkVisited'>): Visit => {
  const at = millisecondsOf(time);
  const { day, quarter } = quarterAt(at);
  return {
    day,
    quarter,
    at,
    subject,
    account: knownAccounts.get(account) ?? intern(knownAccounts, account, account),
    visitor: data.bot ? null : data.visitor,
    bot: data.bot,
    values: valuesOf(data),
    code: data.code,
    isFirst: false,
  };
};

interface VisitorOfDay {
  readonly day: number;
  readonly visitor: string;
}

/** Visitors of a day that are stored in the link's row; more are stored in their own rows. */
const maxInline = 32;

/** Characters of a visitor. */
const visitorLength = 16;

/**
 * The distinct visitors of a link on one UTC day. The column of its row is their concatenation in order of appearance;
 * `null` if they are stored in their own rows.
 */
class Visitors {
  readonly isInRows: boolean;
  #inline: string;
  /** If they are in rows, the new visitors of this batch that were not counted yet. */
  readonly #unseen: Set<string> | null;

  constructor(column: string | null = '') {
    this.isInRows = column === null;
    this.#inline = column ?? '';
    this.#unseen = this.isInRows ? new Set() : null;
  }

  /** Marks a visitor in rows as new. */
  expect(visitor: string): void {
    this.#unseen?.add(visitor);
  }

  add(visitor: string): boolean {
    if (this.#unseen) return this.#unseen.delete(visitor);
    let at = this.#inline.indexOf(visitor);
    // Skips matches that span two visitors.
    while (at % visitorLength > 0) at = this.#inline.indexOf(visitor, at + 1);
    if (at >= 0) return false;
    this.#inline += visitor;
    return true;
  }

  column(): string | null {
    return this.isInRows || this.#inline.length > maxInline * visitorLength ? null : this.#inline;
  }

  newRows(): readonly string[] {
    return !this.isInRows && this.column() === null ? (this.#inline.match(/.{16}/g) ?? []) : [];
  }
}

/** The statistics of a link that a batch affects. */
export class LinkStatistics extends Statistics {
  readonly before: { readonly account: string; readonly clicks: number };
  account = '';
  /** The time of the latest click of this batch, in milliseconds since 1970. */
  lastAccessed: number | null = null;
  /** The visitors of the newest day and the day before it. */
  #visitors: readonly [Visitors, Visitors];
  #hasExpiredRows = false;

  constructor(
    subject: string,
    totals?: Totals,
    account = '',
    visitors: readonly [string | null, string | null] = ['', ''],
  ) {
    super(subject, totals);
    this.before = { account, clicks: this.clicks };
    this.#visitors = [new Visitors(visitors[0]), new Visitors(visitors[1])];
  }

  /** Adds the visit and sets its `isFirst`. */
  count(visit: Visit): void {
    const before = this.newest?.day;
    this.advance(visit);
    if (this.newest && before !== undefined) this.#leaveDays(this.newest.day - before);
    const { visitor, at } = visit;
    visit.isFirst = visitor !== null && (this.visitorsOf(visit.day)?.add(visitor) ?? false);
    const { code, values } = visit;
    this.add(code === null ? visit : { ...visit, values: values.with(codes, code) }, visit.isFirst);
    this.account = visit.account;
    if (!visit.bot && at > (this.lastAccessed ?? -Infinity)) this.lastAccessed = at;
  }

  /** Returns the visitors of a day; `undefined` for older days, whose visitors are not distinguished. */
  visitorsOf(day: number): Visitors | undefined {
    return this.newest ? this.#visitors[this.newest.day - day] : undefined;
  }

  get visitors(): readonly [string | null, string | null] {
    const [newest, before] = this.#visitors;
    return [newest.column(), before.column()];
  }

  newVisitorRows(): readonly VisitorOfDay[] {
    const rows: VisitorOfDay[] = [];
    let day = this.newest?.day ?? 0;
    for (const visitors of this.#visitors) {
      for (const visitor of visitors.newRows()) rows.push({ day, visitor });
      day -= 1;
    }
    return rows;
  }

  /** Whether rows of older days must be deleted. */
  get hasExpiredRows(): boolean {
    return this.#hasExpiredRows;
  }

  #leaveDays(days: number): void {
    if (days === 0) return;
    const [newest, before] = this.#visitors;
    const expired = days === 1 ? [before] : [newest, before];
    this.#hasExpiredRows ||= expired.some(({ isInRows }) => isInRows);
    this.#visitors = [new Visitors(), days === 1 ? newest : new Visitors()];
  }
}

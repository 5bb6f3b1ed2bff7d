import { BoundedMap } from '../../ops/platform/bounded-map.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { millisecondsOf } from '../../schemas/events/timestamp.js';
import { quarterAt, type Quarter } from '../../schemas/statistics/calendar.js';
import { valuesIn, type ClickValues } from '../../schemas/statistics/document.js';
import { Statistics, type Totals } from './statistics.js';
import { Visitors } from './visitors.js';

/** A visit as statistics see it. */
export interface Visit extends Quarter {
  readonly code: string;
  readonly account: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Of a bot there is none. */
  readonly visitor: string | null;
  readonly bot: boolean;
  readonly values: ClickValues;
  /** Whether it is the first one of its visitor on its day, once it is counted for its link. */
  isFirst: boolean;
}

/**
 * Accounts and values of clicks that came lately: thousands of visits have them in common. They are copies: a substring
 * keeps its whole text in memory, here a row of the log with hundreds of records.
 */
const knownAccounts = new BoundedMap<string, string>(1_000);
const knownValues = new BoundedMap<string, ClickValues>(5_000);

const copyOf = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value)) as Value;

const remembered = <Value>(known: Map<string, Value>, key: string, value: Value): Value => {
  const added = copyOf(value);
  known.set(copyOf(key), added);
  return added;
};

type Visited = EventNamed<'LinkVisited'>['data'];

const valuesOf = (visited: Visited): ClickValues => {
  const { referrer, country, browser, os, device, language, trigger } = visited;
  const key = `${country} ${browser} ${os} ${device} ${language} ${trigger} ${referrer}`;
  return knownValues.get(key) ?? remembered(knownValues, key, valuesIn(visited));
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
    code: subject,
    account: knownAccounts.get(account) ?? remembered(knownAccounts, account, account),
    visitor: data.bot ? null : data.visitor,
    bot: data.bot,
    values: valuesOf(data),
    isFirst: false,
  };
};

interface VisitorOfDay {
  readonly day: number;
  readonly visitor: string;
}

/** The statistics of a link, as far as a batch touches them. */
export class LinkStatistics extends Statistics {
  /** As the tables have it. */
  readonly before: { readonly account: string; readonly clicks: number };
  account = '';
  /** Of the latest click of this batch, in milliseconds since 1970. */
  lastAccessed: number | null = null;
  /** Of the newest quarter's day, and of the day before it. */
  #visitors: readonly [Visitors, Visitors];
  #left = false;

  constructor(
    code: string,
    totals?: Totals,
    account = '',
    visitors: readonly [string | null, string | null] = ['', ''],
  ) {
    super(code, totals);
    this.before = { account, clicks: this.clicks };
    this.#visitors = [new Visitors(visitors[0]), new Visitors(visitors[1])];
  }

  /** Adds the visit, and says in it whether it is the first one of its visitor on its day. */
  count(visit: Visit): void {
    const before = this.newest?.day;
    this.advance(visit);
    if (this.newest && before !== undefined) this.#leaveDays(this.newest.day - before);
    const { visitor, at } = visit;
    visit.isFirst = visitor !== null && (this.visitorsOf(visit.day)?.add(visitor) ?? false);
    this.add(visit, visit.isFirst);
    this.account = visit.account;
    if (!visit.bot && at > (this.lastAccessed ?? -Infinity)) this.lastAccessed = at;
  }

  /** The visitors of a day; none of a day that is too old for its visitors to be told apart. */
  visitorsOf(day: number): Visitors | undefined {
    return this.newest ? this.#visitors[this.newest.day - day] : undefined;
  }

  get visitors(): readonly [string | null, string | null] {
    const [newest, before] = this.#visitors;
    return [newest.column(), before.column()];
  }

  /** Visitors that are to be rows from now on. */
  newVisitorRows(): readonly VisitorOfDay[] {
    const rows: VisitorOfDay[] = [];
    let day = this.newest?.day ?? 0;
    for (const visitors of this.#visitors) {
      for (const visitor of visitors.newRows()) rows.push({ day, visitor });
      day -= 1;
    }
    return rows;
  }

  /** Whether rows of older days are to be deleted. */
  get hasLeftRows(): boolean {
    return this.#left;
  }

  #leaveDays(days: number): void {
    if (days === 0) return;
    const [newest, before] = this.#visitors;
    const left = days === 1 ? [before] : [newest, before];
    this.#left ||= left.some(({ isInRows }) => isInRows);
    this.#visitors = [new Visitors(), days === 1 ? newest : new Visitors()];
  }
}

import type { EventNamed } from '../../schemas/events/catalogue.js';
import { quarterAt, type Quarter } from '../../schemas/statistics/calendar.js';
import { Statistics, type CountedVisit, type Totals } from './statistics.js';
import { Visitors } from './visitors.js';

/** A visit as statistics see it. */
export interface Visit extends Quarter {
  readonly code: string;
  readonly account: string;
  /** Times of one form: later ones are greater. */
  readonly time: string;
  /** Of a bot there is none. */
  readonly visitor: string | null;
  readonly bot: boolean;
  readonly values: CountedVisit['values'];
}

export const visitOf = ({ subject, account, time, data }: EventNamed<'LinkVisited'>): Visit => {
  const { day, quarter } = quarterAt(Date.parse(time));
  return {
    day,
    quarter,
    code: subject,
    account: account ?? '',
    time,
    visitor: data.bot ? null : data.visitor,
    bot: data.bot,
    values: data,
  };
};

/** The statistics of a link, as far as a batch touches them. */
export class LinkStatistics extends Statistics {
  account = '';
  /** Of the latest click of this batch. */
  lastAccessed: string | null = null;
  /** Of the newest quarter's day, and of the day before it. */
  #visitors: readonly [Visitors, Visitors];
  #left = false;

  constructor(
    code: string,
    totals?: Totals,
    visitors: readonly [string | null, string | null] = ['', ''],
  ) {
    super(code, totals);
    this.#visitors = [new Visitors(visitors[0]), new Visitors(visitors[1])];
  }

  /** Adds the visit. Returns whether it is the first one of its visitor on its day. */
  count(visit: Visit): boolean {
    const before = this.newest?.day;
    this.advance(visit);
    if (this.newest && before !== undefined) this.#leaveDays(this.newest.day - before);
    const { visitor } = visit;
    const unique = visitor !== null && (this.visitorsOf(visit.day)?.add(visitor) ?? false);
    this.add(visit, unique);
    this.account = visit.account;
    if (!visit.bot && (this.lastAccessed === null || visit.time > this.lastAccessed)) {
      this.lastAccessed = visit.time;
    }
    return unique;
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
  newVisitorRows(): readonly { readonly day: number; readonly visitor: string }[] {
    const { newest } = this;
    if (!newest) return [];
    return this.#visitors.flatMap((visitors, age) =>
      visitors.newRows().map((visitor) => ({ day: newest.day - age, visitor })),
    );
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

import { monthOf, quartersOfDay, type Quarter } from '../../schemas/statistics/calendar.js';
import {
  addClick,
  emptyDocument,
  maxValues,
  mergeDocument,
  readDocument,
  writeDocument,
  type ClickValues,
  type Document,
} from '../../schemas/statistics/document.js';
import { addToSeries, mergeSeries, type Series } from '../../schemas/statistics/series.js';

/** A document that is not read before somebody needs it: many are written as they were found. */
export class StoredDocument {
  #document: Document | undefined;

  constructor(readonly found = '') {
    if (found === '') this.#document = emptyDocument();
  }

  get document(): Document {
    return (this.#document ??= readDocument(this.found));
  }

  get text(): string {
    return this.#document ? writeDocument(this.#document) : this.found;
  }
}

/** What is known of a period, and whether it is to be written. */
interface Known<Content> {
  readonly content: Content;
  readonly changed: boolean;
}

/** Visits of one UTC day, or of a part of it. */
export interface Portion {
  /** Visitors who were new on that day. */
  uniques: number;
  readonly series: Series;
  readonly document: StoredDocument;
}

/** Visits of the newest quarter of an hour: its series has that quarter alone. */
export interface NewestQuarter extends Portion {
  readonly day: number;
}

export interface CountedVisit extends Quarter {
  readonly bot: boolean;
  readonly values: ClickValues;
}

const emptyPortion = (): Portion => ({ uniques: 0, series: [], document: new StoredDocument() });

const oneClick = { clicks: 1, bots: 0 };
const oneBot = { clicks: 0, bots: 1 };

const indexOf = ({ day, quarter }: Quarter): number => day * quartersOfDay + quarter;

const changedOf = <Content>(
  all: ReadonlyMap<number, Known<Content>> | undefined,
): readonly (readonly [number, Content])[] =>
  all ? [...all].flatMap(([key, { content, changed }]) => (changed ? [[key, content]] : [])) : [];

/** What the tables have of an owner of visits: a link, or an account in one partition. */
export interface Totals {
  /** Where the row of these is, as PostgreSQL names it; `null`: there is none yet. */
  readonly ctid: string | null;
  readonly clicks: number;
  readonly bots: number;
  readonly newest: NewestQuarter | null;
}

const noTotals: Totals = { ctid: null, clicks: 0, bots: 0, newest: null };

/**
 * The statistics of one owner, as far as a batch touches them. Visits come in the log's order.
 *
 * Every quarter but the newest one is in its day. A quarter has a document of its own once its day has
 * several of them.
 */
export class Statistics implements Totals {
  readonly ctid: string | null;
  clicks: number;
  bots: number;
  newest: NewestQuarter | null;
  /** Days that were read, or are new: without the newest quarter. Most batches touch none. */
  #days: Map<number, Known<Portion>> | undefined;
  #quarters: Map<number, Known<StoredDocument>> | undefined;

  constructor(
    readonly owner: string,
    { ctid, clicks, bots, newest }: Totals = noTotals,
  ) {
    this.ctid = ctid;
    this.clicks = clicks;
    this.bots = bots;
    this.newest = newest;
  }

  /** Takes what the tables have of a day. */
  knowDay(day: number, content: Portion): void {
    this.#setDay(day, { content, changed: false });
  }

  /** Takes what the tables have of a quarter that is not the newest one. */
  knowQuarter(quarter: Quarter, content: StoredDocument): void {
    this.#setQuarter(quarter, { content, changed: false });
  }

  /** Whether the quarter is older than the newest one: then what there is of it must be read before `add`. */
  isLate(quarter: Quarter): boolean {
    return this.newest !== null && indexOf(quarter) < this.#indexOfNewest(this.newest);
  }

  /** Adds the newest quarter to its day where a visit of a later one comes, which is the newest one then. */
  advance({ day, quarter }: Quarter): void {
    const { newest } = this;
    if (newest && indexOf({ day, quarter }) <= this.#indexOfNewest(newest)) return;
    if (newest) this.#addToDay(newest.day, newest);
    this.newest = { ...emptyPortion(), day, series: [quarter, 0, 0] };
  }

  /** `unique`: whether the visit is the first one of its visitor on its day. */
  add(visit: CountedVisit, unique: boolean): void {
    const { day, quarter, bot, values } = visit;
    this.advance(visit);
    const late = this.isLate(visit);
    const portion = late || !this.newest ? emptyPortion() : this.newest;
    addToSeries(portion.series, quarter, bot ? oneBot : oneClick);
    if (unique) portion.uniques += 1;
    if (bot) this.bots += 1;
    else {
      this.clicks += 1;
      // No day has more values than the owner has clicks.
      const mayBeFull = this.clicks > maxValues;
      addClick(portion.document.document, values, mayBeFull ? () => this.#documentsOf(day) : null);
    }
    if (late) this.#addToDay(day, portion);
  }

  /** Whether visits may have changed more than the newest quarter. */
  get touchesDays(): boolean {
    return this.#days !== undefined;
  }

  changedDays(): readonly (readonly [number, Portion])[] {
    return changedOf(this.#days);
  }

  changedQuarters(): readonly (Quarter & { readonly document: StoredDocument })[] {
    return changedOf(this.#quarters).map(([index, document]) => {
      const day = Math.floor(index / quartersOfDay);
      return { day, quarter: index - day * quartersOfDay, document };
    });
  }

  /** The months before the newest one that have changed. */
  changedMonths(): ReadonlySet<number> {
    const months = this.changedDays().map(([day]) => monthOf(day));
    const current = months.length === 0 ? 0 : monthOf(this.newest?.day ?? 0);
    return new Set(months.filter((month) => month < current));
  }

  #indexOfNewest({ day, series }: NewestQuarter): number {
    return indexOf({ day, quarter: series[0] ?? 0 });
  }

  /** The documents that together have the clicks of a day. */
  #documentsOf(day: number): readonly Document[] {
    const closed = this.#days?.get(day)?.content;
    const newest = this.newest?.day === day ? this.newest : undefined;
    return [newest, closed].flatMap((portion) => (portion ? [portion.document.document] : []));
  }

  /** Adds visits of one quarter to their day. */
  #addToDay(day: number, portion: Portion): void {
    const known = this.#days?.get(day)?.content;
    this.#setDay(day, { content: known ?? portion, changed: true });
    if (!known) return;
    const [quarter = 0] = portion.series;
    const [first = 0, , , ...others] = known.series;
    if (others.length > 0 || first !== quarter) {
      if (others.length === 0) {
        const content = new StoredDocument(known.document.text);
        this.#setQuarter({ day, quarter: first }, { content, changed: true });
      }
      const content =
        this.#quarters?.get(indexOf({ day, quarter }))?.content ?? new StoredDocument();
      mergeDocument(content.document, portion.document.document);
      this.#setQuarter({ day, quarter }, { content, changed: true });
    }
    known.uniques += portion.uniques;
    mergeSeries(known.series, portion.series);
    mergeDocument(known.document.document, portion.document.document);
  }

  #setDay(day: number, known: Known<Portion>): void {
    this.#days ??= new Map();
    this.#days.set(day, known);
  }

  #setQuarter(quarter: Quarter, known: Known<StoredDocument>): void {
    this.#quarters ??= new Map();
    this.#quarters.set(indexOf(quarter), known);
  }
}

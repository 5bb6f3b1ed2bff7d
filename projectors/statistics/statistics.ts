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

/** A document that is parsed lazily, because many are written unchanged. */
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

interface Cached<Content> {
  readonly content: Content;
  readonly changed: boolean;
}

/** Visits of one UTC day or a part of it. */
export interface Portion {
  /** New visitors of that day. */
  uniques: number;
  readonly series: Series;
  readonly document: StoredDocument;
}

/** Visits of the newest quarter hour, which is the only one in its series. */
export interface NewestQuarter extends Portion {
  readonly day: number;
}

interface CountedVisit extends Quarter {
  readonly bot: boolean;
  readonly values: ClickValues;
}

const emptyPortion = (): Portion => ({ uniques: 0, series: [], document: new StoredDocument() });

const oneClick = { clicks: 1, bots: 0 };
const oneBot = { clicks: 0, bots: 1 };

const indexOf = ({ day, quarter }: Quarter): number => day * quartersOfDay + quarter;

const changedOf = <Content>(
  periods: ReadonlyMap<number, Cached<Content>> | undefined,
): readonly (readonly [number, Content])[] =>
  periods
    ? [...periods].flatMap(([key, { content, changed }]) => (changed ? [[key, content]] : []))
    : [];

/** The stored row of an owner of visits: a link, or an account in one partition. */
export interface Totals {
  /** The row's physical location; `null` if there is no row yet. */
  readonly ctid: string | null;
  readonly clicks: number;
  readonly bots: number;
  readonly newest: NewestQuarter | null;
}

const noTotals: Totals = { ctid: null, clicks: 0, bots: 0, newest: null };

/**
 * The statistics of one owner that a batch affects. Visits are added in the order of the log.
 *
 * All quarter hours but the newest one are merged into their day. A quarter hour has its own document if its day has
 * several of them.
 */
export class Statistics implements Totals {
  readonly ctid: string | null;
  clicks: number;
  bots: number;
  newest: NewestQuarter | null;
  /** Days that were read or are new, without the newest quarter hour. Most batches affect none. */
  #days: Map<number, Cached<Portion>> | undefined;
  #quarters: Map<number, Cached<StoredDocument>> | undefined;

  constructor(
    readonly owner: string,
    { ctid, clicks, bots, newest }: Totals = noTotals,
  ) {
    this.ctid = ctid;
    this.clicks = clicks;
    this.bots = bots;
    this.newest = newest;
  }

  knowDay(day: number, content: Portion): void {
    this.#setDay(day, { content, changed: false });
  }

  /** Sets the stored content of a quarter hour other than the newest one. */
  knowQuarter(quarter: Quarter, content: StoredDocument): void {
    this.#setQuarter(quarter, { content, changed: false });
  }

  /** Whether the quarter hour is older than the newest one, so that its stored content must be read before `add`. */
  isLate(quarter: Quarter): boolean {
    return this.newest !== null && indexOf(quarter) < this.#indexOfNewest(this.newest);
  }

  /** If the quarter hour is later than the newest one, merges that into its day and replaces it. */
  advance({ day, quarter }: Quarter): void {
    const { newest } = this;
    if (newest && indexOf({ day, quarter }) <= this.#indexOfNewest(newest)) return;
    if (newest) this.#addToDay(newest.day, newest);
    this.newest = { ...emptyPortion(), day, series: [quarter, 0, 0] };
  }

  /** @param unique whether the visit is the first one of its visitor on its day */
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

  /** Whether visits may have changed more than the newest quarter hour. */
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

  changedMonths(): ReadonlySet<number> {
    const months = this.changedDays().map(([day]) => monthOf(day));
    const current = months.length === 0 ? 0 : monthOf(this.newest?.day ?? 0);
    return new Set(months.filter((month) => month < current));
  }

  #indexOfNewest({ day, series }: NewestQuarter): number {
    return indexOf({ day, quarter: series[0] ?? 0 });
  }

  /** Returns the documents with the clicks of a day. */
  #documentsOf(day: number): readonly Document[] {
    const closed = this.#days?.get(day)?.content;
    const newest = this.newest?.day === day ? this.newest : undefined;
    return [newest, closed].flatMap((portion) => (portion ? [portion.document.document] : []));
  }

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

  #setDay(day: number, known: Cached<Portion>): void {
    this.#days ??= new Map();
    this.#days.set(day, known);
  }

  #setQuarter(quarter: Quarter, known: Cached<StoredDocument>): void {
    this.#quarters ??= new Map();
    this.#quarters.set(indexOf(quarter), known);
  }
}

import type { EventNamed } from '../../../../schemas/events/catalogue.js';
import { millisecondsOf } from '../../../../schemas/events/time.js';
import { quarterAt } from '../../../../schemas/statistics/calendar.js';
import {
  addClick,
  addToSum,
  dimensionNames,
  emptyDocument,
  emptySum,
  valuesIn,
  type Dimension,
  type Document,
} from '../../../../schemas/statistics/document.js';
import { listOf } from '../../../../command-api/statistics/breakdowns.js';

/** Folds the redirected visits of a link in the order of the log, as its statistics do. */
export class VisitStatistics {
  clickCount = 0;
  botCount = 0;
  uniques = 0;
  lastAccessed: string | null = null;
  #newestDay = -Infinity;
  /** By UTC day; each document keeps the first 100 values. */
  readonly #days = new Map<number, Document>();
  /** Of the two newest days: visitors of older days are not distinguished. */
  readonly #visitors = new Map<number, Set<string>>();

  add({ time, data }: EventNamed<'LinkVisited'>): void {
    const { day } = quarterAt(millisecondsOf(time));
    this.#advanceTo(day);
    if (data.bot) {
      this.botCount += 1;
      return;
    }
    this.clickCount += 1;
    // A spool may ship late, so visits are not ordered by time.
    if (this.lastAccessed === null || time > this.lastAccessed) this.lastAccessed = time;
    const document = this.#days.get(day) ?? emptyDocument();
    this.#days.set(day, document);
    addClick(document, valuesIn(data), () => [document]);
    if (data.visitor === null || day < this.#newestDay - 1) return;
    const visitors = this.#visitors.get(day) ?? new Set();
    this.#visitors.set(day, visitors);
    if (!visitors.has(data.visitor)) this.uniques += 1;
    visitors.add(data.visitor);
  }

  lists(): Readonly<Record<Dimension, ReturnType<typeof listOf>>> {
    const sum = emptySum();
    for (const document of this.#days.values()) addToSum(sum, document);
    return Object.fromEntries(
      dimensionNames.map((name) => [name, listOf(sum[name], Infinity)]),
    ) as Record<Dimension, ReturnType<typeof listOf>>;
  }

  #advanceTo(day: number): void {
    if (day <= this.#newestDay) return;
    this.#newestDay = day;
    for (const old of this.#visitors.keys()) if (old < day - 1) this.#visitors.delete(old);
  }
}

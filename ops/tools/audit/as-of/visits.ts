import type { EventNamed } from '../../../../schemas/events/catalogue.js';
import { millisecondsOf } from '../../../../schemas/events/timestamp.js';
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

/** The visits of a link that were redirected, as its statistics count them. They come in the log's order. */
export class VisitsThen {
  clickCount = 0;
  botCount = 0;
  uniques = 0;
  lastAccessed: string | null = null;
  #newestDay = -Infinity;
  /** Each UTC day keeps its first 100 values. */
  readonly #days = new Map<number, Document>();
  /** Of the newest day and the one before: visitors of older days are not told apart. */
  readonly #visitors = new Map<number, Set<string>>();

  add({ time, data }: EventNamed<'LinkVisited'>): void {
    const { day } = quarterAt(millisecondsOf(time));
    this.#advanceTo(day);
    if (data.bot) {
      this.botCount += 1;
      return;
    }
    this.clickCount += 1;
    // Spools ship when they can, so visits are not in the order of their times.
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

  /** The clicks of each value, most first. */
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

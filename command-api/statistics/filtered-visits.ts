/** The statistics of those visits of a link that match a filter, which no table has: they are counted one by one. */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Feed } from '../../ops/feed/feed.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { millisecondsOf } from '../../schemas/events/time.js';
import type { PeriodStats, StatisticsRequest } from '../../schemas/http/statistics.js';
import { quarterAt } from '../../schemas/statistics/calendar.js';
import {
  addClick,
  emptyDocument,
  valuesIn,
  writeDocument,
  type Document,
} from '../../schemas/statistics/document.js';
import { addToSeries, writeSeries, type Series } from '../../schemas/statistics/series.js';
import { createPeriodSum } from './breakdowns.js';

/** Bounds of the work for one response: 200,000 visits take about 2 s of the main thread. */
export const bounds = {
  /** Visits of the link in the period. */
  visits: 200_000,
  /** Records of the log's partition since the start of the period. 1,000 take 1.5 ms of PostgreSQL, or 2.3 ms on Kafka. */
  records: 1_000_000,
};

/** Visits reach the log up to this time after others that are newer (ms); later ones need a second reading. */
const lateMs = 86_400_000;

interface Day {
  readonly series: Series;
  readonly document: Document;
  readonly visitors: Set<string>;
}

const oneClick = { clicks: 1, bots: 0 };
const oneBot = { clicks: 0, bots: 1 };

type Visit = Pick<EventNamed<'LinkVisited'>, 'data'>;

/** Counts visits of UTC days as the projection of statistics does. */
const createDays = () => {
  const days = new Map<number, Day>();
  return {
    add(at: number, { data }: Visit): void {
      const { day, quarter } = quarterAt(at);
      const known = days.get(day) ?? { series: [], document: emptyDocument(), visitors: new Set() };
      days.set(day, known);
      addToSeries(known.series, quarter, data.bot ? oneBot : oneClick);
      if (data.bot) return;
      addClick(known.document, valuesIn(data), () => [known.document]);
      if (data.visitor !== null) known.visitors.add(data.visitor);
    },
    statsOf({ period, include, limit }: StatisticsRequest, subject: string): PeriodStats {
      const sum = createPeriodSum(period);
      const none = { clicks: 0, bots: 0, uniques: 0, series: null };
      for (const [day, { series, document, visitors }] of days) {
        const uniques = visitors.size;
        sum.add({ ...none, day, uniques, series: writeSeries(series), document: null });
        // Without its day, because all visits are in the period, also those of a partly covered day.
        sum.add({ ...none, day: null, document: writeDocument(document) });
      }
      return sum.statsOf(include, limit, subject);
    },
  };
};

/**
 * Sums up the visits of the period that match.
 *
 * @param count the visits of the period in the tables of the same moment: they are the first ones in the log
 * @param endsAt when the caller stops waiting, by `performance.now()`
 */
export const sumVisits = async (
  feed: Pick<Feed, 'visitsOf'>,
  subject: string,
  request: StatisticsRequest,
  count: number,
  endsAt: number,
  maxRecords = bounds.records,
): Promise<PeriodStats | 'tooManyRecords' | 'late'> => {
  const { period, visits: filter } = request;
  const matches = ({ data }: Visit): boolean =>
    filter.every(([field, value]) =>
      field === 'code' ? (data.code ?? subject) === value : data[field] === value,
    );
  const sumSince = async (since: number) => {
    const days = createDays();
    let left = count;
    for await (const { visits, examined } of feed.visitsOf(subject, since)) {
      if (performance.now() > endsAt) return 'late';
      for (const visit of visits) {
        const at = millisecondsOf(visit.time);
        if (left === 0 || at < period.from || at >= period.to) continue;
        left -= 1;
        if (matches(visit)) days.add(at, visit);
      }
      if (left === 0) break;
      if (examined > maxRecords) return 'tooManyRecords';
      await nextIteration();
    }
    return { left, stats: days.statsOf(request, subject) };
  };
  const recent = await sumSince(period.from - lateMs);
  const summed = typeof recent === 'string' || recent.left === 0 ? recent : await sumSince(0);
  return typeof summed === 'string' ? summed : summed.stats;
};

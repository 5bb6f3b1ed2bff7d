import { expect } from 'chai';
import fc from 'fast-check';
import { createLogger } from '../../ops/platform/logging.js';
import { createBatchHandler } from '../../projectors/runtime/batch.js';
import { stats } from '../../projectors/statistics/projection.js';
import { namedLog } from '../../projectors/testing/harness.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { readCampaign } from '../../schemas/campaign.js';
import { readStatsQuery, statsQuery } from '../../schemas/http/statistics.js';
import { dimensionNames, dimensions, type Dimension } from '../../schemas/statistics/document.js';
import { intervals, type Interval } from '../../schemas/statistics/period.js';
import { firstVisitRecordOf, recordOf, spooledVisit } from '../../schemas/testing/events.js';
import { intervalKeysIn, zones } from '../../schemas/testing/zones.js';
import { quarterMs } from '../../schemas/statistics/calendar.js';
import { groupBy } from '../../ops/platform/collections.js';
import { readAccountStatistics, readLinkStatistics } from './statistics.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

type Visit = EventNamed<'LinkVisited'>;

const dayMs = 96 * quarterMs;
const first = Date.parse('2024-01-01T00:00:00Z');
const last = Date.parse('2026-12-31T23:59:59Z');

/** Each link's partition of the log, and its account. */
const links = [
  { subject: 'busy', account: 'acme', partition: 0 },
  { subject: 'quiet', account: 'acme', partition: 3 },
  { subject: 'theirs', account: 'other', partition: 3 },
] as const;

const orNull = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: null, freq: 4 });

/** A time on one of some days, which have many visits and changes of the clock. */
const onDays = (min: number, max: number, ...days: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...days), fc.integer({ min, max }))
    .map(([day, quarters]) => Date.parse(day) + quarters * quarterMs);

/** Visits of three years, many of them on busy days and on days with a clock change; most in order. */
const someVisit = fc.record({
  link: fc.constantFrom(...links, links[0], links[0]),
  time: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: first, max: last }) },
    { weight: 3, arbitrary: onDays(0, 95, '2024-11-03', '2026-10-25') },
  ),
  lateDays: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1, 3, 40),
  isFirstVersion: fc.nat(9).map((of10) => of10 === 0),
  bot: fc.nat(5).map((of6) => of6 === 0),
  recorded: fc.record({
    referrer: orNull(fc.nat(60).map((number) => `${number}.example.com`)),
    country: orNull(fc.constantFrom('DE', 'FR', 'NP', 'US')),
    browser: orNull(fc.constantFrom('Firefox' as const, 'Chrome' as const)),
    os: orNull(fc.constantFrom('Linux' as const, 'Android' as const)),
    device: orNull(fc.constantFrom('desktop' as const, 'mobile' as const)),
    language: orNull(fc.constantFrom('de', 'en', 'ne')),
    visitor: orNull(fc.nat(40).map((number) => String(number).padStart(16, 'v'))),
    trigger: fc.constantFrom('link' as const, 'qr' as const),
    code: fc.constantFrom(null, null, 'second', 'go.example.com/a'),
    campaign: fc.constantFrom(null, 'campaign=a&source=b', 'source=b&medium=', 'campaign=%25'),
  }),
});
const sampleVisits = () =>
  fc
    .sample(someVisit, 2_100)
    .sort((a, b) => a.time + a.lateDays * dayMs - (b.time + b.lateDays * dayMs))
    .map(({ link, time, isFirstVersion, bot, recorded }, index) => {
      const { subject, account, partition } = link;
      const attributes = { sequence: index + 1, time: new Date(time), account };
      const event = spooledVisit(subject, { ...attributes, bot, spool: `spool-${partition}` });
      // Version 1 has no recorded values.
      const data = { ...event.data, ...(isFirstVersion ? { trigger: null } : recorded) };
      const visit: Visit = { ...event, data };
      const record = (isFirstVersion ? firstVisitRecordOf : recordOf)(visit);
      return { partition, visit, record };
    });

const subjects = [
  ...links.map(({ subject }) => ({ kind: 'subject', subject }) as const),
  { kind: 'account', subject: 'acme' },
  { kind: 'account', subject: 'other' },
] as const;

interface Query {
  readonly owner: (typeof subjects)[number];
  readonly query: Readonly<Record<'include' | 'from' | 'to' | 'tz' | 'limit', string>> & {
    readonly interval: Interval;
  };
}

const someQuery: fc.Arbitrary<Query> = fc
  .record({
    owner: fc.constantFrom(...subjects),
    interval: fc.constantFrom(...intervals),
    tz: fc.constantFrom(...zones),
    // Often close to the days with many visits.
    from: fc.oneof(
      fc.integer({ min: first - 40 * dayMs, max: last }),
      onDays(-200, 200, '2024-03-10', '2024-11-03', '2026-10-25'),
    ),
    length: fc.double({ min: 0.001, max: 1, noNaN: true }),
    limit: fc.constantFrom(1, 3, 20, 200),
  })
  .map(({ owner, interval, tz, from, length, limit }) => {
    const longest = { hour: 14, day: 380, week: 1_100, month: 1_100 } as const;
    const to = from + Math.ceil(length * longest[interval] * 96) * quarterMs;
    const text = (at: number) => new Date(Math.floor(at / quarterMs) * quarterMs).toISOString();
    const period = { from: text(from), to: text(to), interval, tz };
    return { owner, query: { include: 'all', ...period, limit: String(limit) } };
  });

/** A visit as the statistics of its link or account count it. */
interface Counted {
  readonly at: number;
  readonly bot: boolean;
  readonly isUnique: boolean;
  readonly values: Readonly<Record<Dimension, string | null>>;
}

/** Counts the visits of each subject, in log order. */
const createCounter = () => {
  const newestDay = new Map<string, number>();
  const visitors = new Set<string>();
  const counted = new Map<string, Counted[]>(
    subjects.map(({ kind, subject }) => [`${kind} ${subject}`, []]),
  );
  return {
    add({ subject, account = '', time, data }: Visit): void {
      const at = Date.parse(time);
      const day = Math.floor(at / dayMs);
      newestDay.set(subject, Math.max(newestDay.get(subject) ?? day, day));
      const visitor = `${subject} ${day} ${data.visitor ?? ''}`;
      const isUnique =
        !data.bot &&
        data.visitor !== null &&
        day >= (newestDay.get(subject) ?? day) - 1 &&
        !visitors.has(visitor);
      if (isUnique) visitors.add(visitor);
      const entries = dimensionNames.map((name) => [name, data[dimensions[name]]]);
      const values = Object.fromEntries(entries) as Counted['values'];
      for (const list of [`subject ${subject}`, `account ${account}`]) {
        const own = list.startsWith('account') ? { ...values, codes: null } : values;
        counted.get(list)?.push({ at, bot: data.bot, isUnique, values: own });
      }
    },
    of: (kind: string, subject: string): readonly Counted[] =>
      counted.get(`${kind} ${subject}`) ?? [],
  };
};

const sum = (numbers: readonly number[]): number =>
  numbers.reduce((total, number) => total + number, 0);

const naiveList = (
  values: readonly (string | null)[],
  limit: number,
): readonly { readonly value: string | null; readonly clicks: number }[] => {
  const byValue = new Map<string | null, number>();
  for (const value of values) byValue.set(value, (byValue.get(value) ?? 0) + 1);
  const sorted = [...byValue].sort(([a, clicksA], [b, clicksB]) => {
    if (clicksA !== clicksB) return clicksB - clicksA;
    return (a ?? '') < (b ?? '') ? -1 : 1;
  });
  const beyond = sum(sorted.slice(limit).map(([, clicks]) => clicks));
  return [...sorted.slice(0, limit), ...(beyond > 0 ? [['(other)', beyond] as const] : [])].map(
    ([value, clicks]) => ({ value, clicks }),
  );
};

const naiveCampaigns = (values: readonly (string | null)[], limit: number) =>
  naiveList(values, limit).map(({ value, clicks }) =>
    value === '(other)'
      ? { campaign: value, source: null, medium: null, clicks }
      : { ...readCampaign(value), clicks },
  );

describe('command API: statistics of a period', () => {
  const database = databaseFixture('periods');

  it('equal those of a naive fold, for any visits, period, interval and zone', async () => {
    const visits = sampleVisits();
    const counter = createCounter();
    const handle = createBatchHandler({
      ...{ pool: database.pool, projection: stats, log: namedLog() },
      logger: createLogger('silent'),
    });
    const offsets = new Map<number, number>();
    const give = async (some: typeof visits): Promise<void> => {
      for (const partition of new Set(links.map((link) => link.partition))) {
        const own = some.filter((visit) => visit.partition === partition);
        const from = offsets.get(partition) ?? 0;
        offsets.set(partition, from + own.length);
        const records = own.map(({ record }, index) => ({ ...record, offset: from + index }));
        await handle({ topic: topics.visits.name, partition, records });
        for (const { visit } of own) counter.add(visit);
      }
    };

    const check = async ({ owner, query }: Query): Promise<void> => {
      const request = readStatsQuery(statsQuery, query, new Date(last));
      if ('refused' in request) throw new Error(request.refused);
      const read = owner.kind === 'subject' ? readLinkStatistics : readAccountStatistics;
      const { clicks, ofPeriod } = await read(database.pool, owner.subject, request);
      const counted = counter.of(owner.kind, owner.subject);
      expect(clicks).to.equal(counted.filter(({ bot }) => !bot).length);

      const [from, to] = [Date.parse(query.from), Date.parse(query.to)];
      const within = counted.filter(({ at }) => at >= from && at < to).sort((a, b) => a.at - b.at);
      const clicked = within.filter(({ bot }) => !bot);
      const { timeseries = [], ...rest } = ofPeriod;
      const dayOf = (at: number): number => Math.floor(at / dayMs);
      const unique = counted.filter(
        ({ at, isUnique }) => isUnique && dayOf(at) >= dayOf(from) && dayOf(at) <= dayOf(to - 1),
      );
      expect(rest).to.deep.equal({
        period: { ...rest.period, clickCount: clicked.length },
        ...Object.fromEntries(
          dimensionNames.map((name) => {
            const values = clicked.map((visit) => visit.values[name]);
            const limit = Number(query.limit);
            if (name === 'campaigns') return [name, naiveCampaigns(values, limit)];
            const first = name === 'codes' ? owner.subject : null;
            const list = naiveList(values, limit);
            return [name, list.map(({ value, clicks }) => ({ value: value ?? first, clicks }))];
          }),
        ),
        bots: within.length - clicked.length,
        uniques: unique.length,
      });

      // By interval: the local time of each visit.
      const keyOf = intervalKeysIn(query.tz, query.interval);
      const naive = groupBy(within, ({ at }) => keyOf(at));
      const ends = [...timeseries.slice(1).map(({ start }) => start), ofPeriod.period.to];
      const filled = timeseries
        .map((entry, index) => ({ ...entry, end: ends[index] ?? '' }))
        .filter(({ clicks: some, bots = 0 }) => some + bots > 0);
      const countsOf = (some: readonly Counted[]) => {
        const bots = some.filter(({ bot }) => bot).length;
        return { clicks: some.length - bots, bots };
      };
      const counts = filled.map(({ clicks: some, bots }) => ({ clicks: some, bots }));
      expect(counts).to.deep.equal([...naive.values()].map(countsOf));
      [...naive.values()].forEach((some, index) => {
        const { start = '', end = '' } = filled[index] ?? {};
        for (const { at } of some) expect(at).to.be.within(Date.parse(start), Date.parse(end) - 1);
      });
      if (query.tz === 'UTC' && query.interval !== 'hour') {
        const ordinal = intervalKeysIn('UTC', query.interval);
        const sorted = unique.sort((a, b) => a.at - b.at);
        const uniques = groupBy(sorted, ({ at }) => ordinal(Math.max(dayOf(at) * dayMs, from)));
        const shown = timeseries.map((entry) => entry.uniques).filter((some) => some !== 0);
        expect(shown).to.deep.equal([...uniques.values()].map((some) => some.length));
      }
    };

    for (const part of [0, 1, 2]) {
      await give(visits.slice(part * 700, (part + 1) * 700));
      await fc.assert(fc.asyncProperty(someQuery, check), { numRuns: 60 });
    }
  }).timeout(60_000);
});

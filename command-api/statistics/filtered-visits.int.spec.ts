import { expect } from 'chai';
import fc from 'fast-check';
import type { Context } from 'koa';
import { openFeed } from '../../ops/feed/feed.js';
import { partitionOf } from '../../ops/event-log/partition.js';
import { createLogger } from '../../ops/platform/logging.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { stats as projection } from '../../projectors/statistics/projection.js';
import { feed as feedTo } from '../../projectors/testing/harness.js';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import { readStatsQuery, statsQuery, type StatsResponse } from '../../schemas/http/statistics.js';
import { quarterMs } from '../../schemas/statistics/calendar.js';
import { dimensions } from '../../schemas/statistics/document.js';
import {
  firstVisitRecordOf,
  importedVisit,
  importIdAt,
  created,
  recordOf,
  spooledVisit,
  visited,
} from '../../schemas/testing/events.js';
import type { V2State } from '../admission/admitted-call.js';
import { sumVisits } from './filtered-visits.js';
import { createStatsHandlers } from './route.js';

type Visit = EventNamed<'LinkVisited'>;

const owner = { account: 'acme' };
const dayMs = 96 * quarterMs;
const first = Date.parse('2026-03-28T00:00:00Z');
const days = 45;

const count = topics.visits.partitions;
/** Visits of another link of the same partition are between those of this link. */
const subject = 'go.example.com/a';
const others = Array.from({ length: 100 }, (_, index) => `other-${index}`);
const other = others.find((code) => partitionOf(code, count) === partitionOf(subject, count)) ?? '';

const oneOf = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
const kinds = ['spool', 'spool', 'spool', 'ledger', 'import', 'first version', 'other'] as const;
const someVisit = fc.record({
  kind: oneOf(...kinds),
  quarter: fc.oneof(fc.nat(days * 96), fc.nat(95)),
  lateDays: oneOf(0, 0, 0, 0, 0, 0.5, 3),
  bot: fc.nat(5).map((of6) => of6 === 0),
  recorded: fc.record({
    referrer: fc.option(fc.nat(250).map((number) => `${number}.example.com`)),
    country: oneOf('DE', 'FR', null),
    os: oneOf('Linux' as const, 'Android' as const, null),
    language: oneOf('de', 'ne', null),
    target: oneOf(null, null, 'rule', 'test/a'),
    campaign: oneOf(null, 'campaign=a', 'campaign=b&source='),
    code: oneOf(null, 'second', 'go.example.com/c'),
    visitor: fc.option(fc.nat(9).map((number) => String(number).padStart(16, 'v'))),
  }),
});

describe('command API: statistics of the visits of a link that match a filter', () => {
  const database = databaseFixture('filtered_visits');
  const node = ledgerFixture(database);
  const feed = fixture(
    () => openFeed({ ...node, logger: createLogger('silent') }),
    (opened) => opened.stop(),
  );
  let visits: readonly Visit[] = [];

  const get = async (query: object, account = 'acme'): Promise<StatsResponse> => {
    const { pool, outbox } = node;
    const handlers = createStatsHandlers({ pool, outbox, feed });
    const parameters = new URLSearchParams({ domain: 'go.example.com', ...query });
    const querystring = String(parameters);
    const state = {
      ...{ headers: {}, defaultDomain: null, ignoresCase: () => false },
      ...{ call: { now: new Date(), key: { account } }, uncounted: (wait: unknown) => wait },
    } as unknown as V2State;
    const ctx = {
      ...{ querystring, req: { url: `/v2/stats/a?${querystring}` }, state },
      ...{ query: Object.fromEntries(parameters), accepts: () => 'application/json' },
    } as unknown as Context;
    const reply = await handlers.getStats(ctx, state, () => 'a');
    if (reply.type === 'json') return reply.body as StatsResponse;
    throw new Error('message' in reply ? reply.message : JSON.stringify(reply));
  };

  const append = async (added: readonly Visit[], records = added.map(recordOf)): Promise<void> => {
    await node.log.append(topics.visits.name, records);
    await feedTo(node.pool, projection).records(topics.visits.name, records);
  };

  before(async () => {
    await recordHistory(node, created(subject, {}, owner), created(other, {}, owner));
    const inOrder = fc
      .sample(someVisit, 900)
      .map((visit) => {
        const time = first + visit.quarter * quarterMs + 1;
        return { ...visit, time, appended: time + visit.lateDays * dayMs };
      })
      .sort((a, b) => a.appended - b.appended);
    const generated = inOrder.map(({ kind, time, bot, recorded }, index): Visit => {
      const attributes = { ...owner, sequence: index + 1, time: new Date(time) };
      // The import began after all visits, but a slow one appends its last visits later.
      const importId = importIdAt(new Date(first + days * dayMs));
      const visit =
        kind === 'ledger'
          ? visited(subject, index + 1, attributes)
          : kind === 'import'
            ? importedVisit(subject, { ...attributes, importId })
            : spooledVisit(kind === 'other' ? other : subject, attributes);
      const data = {
        ...visit.data,
        bot: kind === 'ledger' ? false : bot,
        trigger: 'link' as const,
      };
      return { ...visit, data: { ...data, ...(kind !== 'first version' && recorded) } };
    });
    const ofImport = generated.filter(({ source }) => source.includes('import'));
    const inLog = [...generated.filter((visit) => !ofImport.includes(visit)), ...ofImport];
    await append(inLog.slice(0, 500));
    // A spool repeats visits after a crash.
    await append(inLog.slice(400));
    const old = spooledVisit(subject, { ...owner, sequence: 5_000, time: new Date(first + 1) });
    await append([old], [firstVisitRecordOf(old)]);
    const upcast = { ...old, data: { ...old.data, trigger: null } };
    visits = [...inLog, upcast].filter((visit) => visit.subject === subject);
  });

  const periods = [
    { from: '2026-03-28', to: '2026-05-15' },
    { from: '2026-03-30T00:15:00Z', to: '2026-04-28T06:30:00Z', interval: 'month' },
    { from: '2026-03-28', to: '2026-04-02', tz: 'Asia/Kathmandu', interval: 'hour' },
    { from: '2026-06-01', to: '2026-06-02' },
  ];
  const everything = { include: 'all', limit: '200' };

  /** The visits of a period that match. */
  const naive = (period: { readonly from: string; readonly to: string }, filter: object) => {
    const request = readStatsQuery(statsQuery, period, new Date());
    if ('refused' in request) throw new Error(request.refused);
    const { from, to } = request.period;
    return visits.filter(({ time, data }) => {
      const at = Date.parse(time);
      const values: Readonly<Record<string, unknown>> = { ...data, code: data.code ?? subject };
      const matches = Object.entries(filter).every(([name, text]) => (values[name] ?? '') === text);
      return at >= from && at < to && matches;
    });
  };

  const filters = fc.record(
    {
      country: oneOf('DE', 'FR', '', 'XX'),
      os: oneOf('Linux', ''),
      language: oneOf('de', ''),
      target: oneOf('', 'test/a'),
      code: oneOf(subject, 'second', ''),
      trigger: oneOf('link', ''),
      referrer: oneOf('', '1.example.com'),
    },
    { requiredKeys: [] },
  );

  it('equal a naive count of these visits', async () => {
    const some = filters.filter((filter) => Object.keys(filter).length > 0);
    await fc.assert(
      fc.asyncProperty(some, oneOf(...periods), async (filter, period) => {
        const found = await get({ ...everything, ...period, ...filter });
        const expected = naive(period, filter);
        const clicks = expected.filter(({ data }) => !data.bot);
        const sumOf = (name: 'clicks' | 'bots') =>
          found.timeseries?.reduce((sum, interval) => sum + (interval[name] ?? 0), 0);
        expect(found.period?.clickCount).to.equal(clicks.length);
        expect(found.bots).to.equal(expected.length - clicks.length);
        expect([sumOf('clicks'), sumOf('bots')]).to.deep.equal([clicks.length, found.bots]);
        for (const [name, field] of Object.entries(dimensions)) {
          if (name === 'campaigns' || name === 'referrers') continue;
          const list = found[name as 'countries'] ?? [];
          const countOf = (value: string | null) =>
            clicks.filter(({ data }) => {
              const recorded = field === 'code' ? (data.code ?? subject) : data[field];
              return recorded === value;
            }).length;
          for (const row of list) expect(row.clicks, name).to.equal(countOf(row.value));
          expect(list.reduce((sum, row) => sum + row.clicks, 0)).to.equal(clicks.length);
        }
        const days = clicks
          .filter(({ data }) => data.visitor !== null)
          .map(({ time, data }) => time.slice(0, 10) + String(data.visitor));
        expect(found.uniques).to.equal(new Set(days).size);
      }),
      { numRuns: 60 },
    );
  });

  it('are those of all visits if all match, and add up over the values of a dimension', async () => {
    for (const period of periods) {
      const query = { ...everything, ...period };
      const whole = await get(query);
      for (const field of ['country', 'os', 'target', 'code'] as const) {
        const name = Object.entries(dimensions).find((entry) => entry[1] === field)?.[0] ?? '';
        const list = whole[name as 'countries'] ?? [];
        for (const { value, clicks } of list) {
          const found = await get({ ...query, [field]: value ?? '' });
          expect(found.period?.clickCount, `${field} ${value}`).to.equal(clicks);
          expect(found).to.include({
            clickCount: whole.clickCount,
            lastAccessed: whole.lastAccessed,
          });
        }
      }
      const [matching, missing] = await Promise.all(
        ['link', ''].map((trigger) => get({ ...query, trigger })),
      );
      expect((matching?.bots ?? 0) + (missing?.bots ?? 0)).to.equal(whole.bots);
    }
    // A later day, of which all visits have the same trigger, and more referrers than a day has room for.
    const day = { from: '2026-07-01', to: '2026-07-02', interval: 'hour' };
    const later = Array.from({ length: 230 }, (_, index): Visit => {
      const time = new Date(Date.parse(day.from) + index * 300_000);
      const visit = spooledVisit(subject, { ...owner, sequence: 6_000 + index, time });
      const referrer = `${(index * 7) % 160}.example.org`;
      return { ...visit, data: { ...visit.data, referrer, trigger: 'link' } };
    });
    await append(later);
    const query = { ...everything, ...day };
    expect(await get({ ...query, trigger: 'link' })).to.deep.equal(await get(query));
    expect((await get(query)).referrers?.at(-1)?.value).to.equal('(other)');
  });

  it('have only the period without include, and none of another account', async () => {
    const period = { from: '2026-03-28', to: '2026-05-15' };
    const found = await get({ ...period, country: 'DE' });
    expect(found).to.have.nested.property(
      'period.clickCount',
      naive(period, { country: 'DE' }).filter(({ data }) => !data.bot).length,
    );
    expect(found).not.to.have.any.keys('bots', 'timeseries', 'countries');
    const refused = await get({ ...period, country: 'DE' }, 'thief').catch(String);
    expect(refused).to.include('Short URL not found');
  });

  it('are refused for too many visits of the link or records of the log, and in time', async () => {
    const request = readStatsQuery(statsQuery, { ...periods[0], country: 'DE' }, new Date());
    if ('refused' in request) throw new Error(request.refused);
    const sum = (endsAt: number, maxRecords: number) =>
      sumVisits(feed, subject, request, visits.length + 1, endsAt, maxRecords);
    expect(await sum(Infinity, 10)).to.equal('tooManyRecords');
    expect(await sum(0, Infinity)).to.equal('late');
    expect(await sum(Infinity, Infinity)).to.have.property('period');
    await node.pool.query(
      `INSERT INTO projection_stats.days (subject, account, day, clicks, bots, uniques, series, document)
       VALUES ($1, 'acme', $2, 200000, 1, 0, '[0,200000,1]', '[]')`,
      [subject, Date.parse('2026-06-01') / dayMs],
    );
    const refused = await get({ from: '2026-06-01', to: '2026-06-02', os: '' }).catch(String);
    expect(refused).to.include('Too many visits in this period to filter, at most 200000');
  });
});

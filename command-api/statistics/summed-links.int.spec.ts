import { expect } from 'chai';
import fc from 'fast-check';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { recordHistory } from '../../ops/test/support/ledger-links.js';
import { redirects } from '../../projectors/links/projection.js';
import { stats } from '../../projectors/statistics/projection.js';
import { feed } from '../../projectors/testing/harness.js';
import {
  accountStatsQuery,
  readStatsQuery,
  statsQuery,
  type AccountStatsResponse,
  type StatsResponse,
} from '../../schemas/http/statistics.js';
import { dimensionNames } from '../../schemas/statistics/document.js';
import { quarterMs } from '../../schemas/statistics/calendar.js';
import {
  created,
  deleted,
  described,
  imported,
  spooledVisit,
} from '../../schemas/testing/events.js';
import { findAccountStats } from './account-statistics.js';
import { findLinkStats } from './statistics.js';
import { startSnapshot } from '../links/list/link-list.js';
import { bounds, matchingLinks, sumLinks } from './summed-links.js';
import { tableOf } from './tables.js';

const owner = { account: 'acme' };
const dayMs = 96 * quarterMs;
const first = Date.parse('2026-03-28T00:00:00Z');
const now = new Date(first + 60 * dayMs);

/** Links by subject: their tags. */
const links: Readonly<Record<string, readonly string[]>> = {
  a: ['x'],
  b: ['X', 'y'],
  'go.example/c': ['x', 'y', 'a b'],
  d: ['y'],
  'go.example/e': [],
  gone: ['x'],
  unvisited: ['x'],
};
const destinationOf = (subject: string): string =>
  `https://${subject.startsWith('go.') ? 'shop' : 'www'}.example.com/${subject}?utm_source=s`;

const oneOf = <Value>(...values: readonly Value[]) => fc.constantFrom(...values);
const someVisits = fc.array(
  fc.record({
    subject: oneOf(...Object.keys(links).filter((name) => name !== 'unvisited')),
    quarter: fc.oneof(fc.nat(45 * 96), oneOf(0, 1, 95, 3_000, 3_001)),
    bot: fc.nat(5).map((of6) => of6 === 0),
    recorded: fc.record({
      referrer: fc.nat(150).map((number) => `${number}.example.com`),
      country: oneOf('DE', 'FR', null),
      campaign: oneOf(null, 'campaign=a', 'campaign=a&source=', 'campaign=(other)'),
      code: oneOf(null, 'second'),
      visitor: fc.nat(9).map((number) => String(number).padStart(16, 'v')),
    }),
  }),
  { minLength: 700, maxLength: 900, size: 'max' },
);

/** The rows of a list by their values, of several responses summed up. */
const sumOf = (
  responses: readonly (StatsResponse | AccountStatsResponse)[],
  name: (typeof dimensionNames)[number],
): Readonly<Record<string, number>> => {
  const sum: Record<string, number> = {};
  for (const { values, clicks } of responses.flatMap((response) => tableOf(response, name).rows)) {
    const key = JSON.stringify(values);
    sum[key] = (sum[key] ?? 0) + clicks;
  }
  return sum;
};

describe('command API: statistics of the links that match a filter', () => {
  const database = databaseFixture('summed_links');
  const node = ledgerFixture(database);
  const ofLinks = fixture(() => feed(database.pool, redirects));
  const visits = fixture(() => feed(database.pool, stats));

  const requestOf = (query: object, schema = accountStatsQuery) => {
    const request = readStatsQuery(schema, query, now);
    if ('refused' in request) throw new Error(request.refused);
    return request;
  };
  const statsOf = async (query: object): Promise<AccountStatsResponse> => {
    const found = await findAccountStats(node.pool, node.outbox, 'acme', requestOf(query));
    if (typeof found === 'string') throw new Error(found);
    return found;
  };
  const statsOfLink = async (subject: string, query: object): Promise<StatsResponse> => {
    const request = requestOf(query, statsQuery as never);
    const found = await findLinkStats(node.pool, node.outbox, subject, request);
    if (found === null || found === 'incomplete') throw new Error(`no statistics of ${subject}`);
    return found.stats;
  };

  before(async () => {
    const events = Object.entries(links).map(([subject, tags], index) =>
      (subject === 'd' ? imported : created)(
        subject,
        { url: destinationOf(subject), tags: [...tags], ...(subject === 'd' && { clicks: 7 }) },
        { ...owner, time: new Date(first + index * 1_000) },
      ),
    );
    const end = deleted('gone', 2, owner);
    await recordHistory(node, ...events, end);
    await ofLinks.events(...events, end);
    await visits.events(...events);
    const [sample = []] = fc.sample(someVisits, 1);
    const inOrder = [...sample].sort((a, b) => a.quarter - b.quarter);
    await visits.events(
      ...inOrder.map(({ subject, quarter, bot, recorded }, index) => {
        const time = new Date(first + quarter * quarterMs);
        const visit = spooledVisit(subject, { ...owner, sequence: index + 1, time, bot });
        return { ...visit, data: { ...visit.data, ...recorded } };
      }),
    );
  });

  const filters: readonly (readonly [object, readonly string[]])[] = [
    [{ tag: 'x' }, ['a', 'b', 'go.example/c', 'unvisited']],
    [{ tag: ['X', 'y'] }, ['b', 'go.example/c']],
    [{ tag: 'A B' }, ['go.example/c']],
    [{ tag: 'none' }, []],
    [{ search: 'UTM_source' }, ['a', 'b', 'go.example/c', 'd', 'go.example/e', 'unvisited']],
    [{ search: 'utm_source', domain: 'go.example' }, ['go.example/c', 'go.example/e']],
    [{ search: 'utm_source', domain: '' }, ['a', 'b', 'd', 'unvisited']],
    [{ destination: 'SHOP.example.com' }, ['go.example/c', 'go.example/e']],
    [{ destination: 'www.example.com', tag: 'y' }, ['b', 'd']],
  ];
  const periods: readonly object[] = [
    { from: '2026-03-28', to: '2026-05-15' },
    { from: '2026-03-28T00:15:00Z', to: '2026-04-28T06:30:00Z', interval: 'month' },
    { from: '2026-03-28', to: '2026-04-02', tz: 'Asia/Kathmandu', interval: 'hour' },
    { from: '2026-06-01', to: '2026-06-02' },
  ];
  for (const [filter, subjects] of filters) {
    it(`are the sums of those of each link: ${JSON.stringify(filter)}`, async () => {
      for (const period of periods) {
        const query = { include: 'all', limit: '200', ...period };
        const { domain, ...others } = filter as { readonly domain?: string };
        const request = requestOf({ ...query, ...others, include: 'all,links' });
        const found = await findAccountStats(node.pool, node.outbox, 'acme', {
          ...request,
          domain: domain ?? null,
        });
        if (typeof found === 'string') throw new Error(found);
        const responses = await Promise.all(subjects.map((subject) => statsOfLink(subject, query)));
        const total = (valueOf: (response: StatsResponse) => number | undefined): number =>
          responses.reduce((sum, response) => sum + (valueOf(response) ?? 0), 0);
        expect(found.linkCount).to.equal(subjects.length);
        expect(found.clickCount).to.equal(total(({ clickCount }) => clickCount));
        expect(found.period.clickCount).to.equal(total(({ period: ofLink }) => ofLink?.clickCount));
        expect(found.bots).to.equal(total(({ bots }) => bots));
        expect(found.uniques).to.equal(total(({ uniques }) => uniques));
        expect(found.importedClicks ?? 0).to.equal(total(({ importedClicks }) => importedClicks));
        found.timeseries?.forEach((interval, index) => {
          for (const name of ['clicks', 'bots', 'uniques'] as const) {
            const sum = total(({ timeseries }) => timeseries?.[index]?.[name]);
            expect(interval[name] ?? 0, `${interval.start} ${name}`).to.equal(sum);
          }
        });
        for (const name of dimensionNames.filter((dimension) => dimension !== 'codes')) {
          expect(sumOf([found], name), name).to.deep.equal(sumOf(responses, name));
        }
        const clicksOf = tableOf(found, 'links').rows.map(({ values, clicks }) => [
          values[0],
          clicks,
        ]);
        const expected = subjects.flatMap((subject, index) => {
          const clicks = responses[index]?.period?.clickCount ?? 0;
          return clicks === 0 ? [] : [[subject, clicks]];
        });
        expect(clicksOf).to.have.deep.members(expected);
      }
    });
  }

  it('sum up the clicks of each tag, with and without a filter', async () => {
    for (const [period] of [[periods[0]], [periods[1]]]) {
      for (const [filter, names] of [
        [{}, ['a b', 'x', 'y']],
        [{ tag: 'y' }, ['a b', 'x', 'y']],
        [{ domain: 'go.example' }, ['a b', 'x', 'y']],
      ] as const) {
        const { tags } = await statsOf({ include: 'tags', ...period, ...filter });
        const values = tags?.values ?? [];
        expect(tags?.overlapping).to.equal(true);
        expect([...values].sort((a, b) => b.clicks - a.clicks)).to.deep.equal(values);
        expect(values.map(({ value }) => value).sort()).to.deep.equal(names);
        for (const { value, clicks } of values) {
          const tag = [...('tag' in filter ? [filter.tag] : []), value];
          const ofTag = await statsOf({ ...period, ...filter, tag });
          expect(ofTag.period.clickCount, value).to.equal(clicks);
        }
      }
    }
    const limited = await statsOf({ include: 'tags', limit: '1', ...periods[0] });
    expect(limited.tags?.values).to.have.lengthOf(1);
  });

  it('follow changes of the links, and spell a tag as the newest link does', async () => {
    const change = described('d', 2, { tags: ['Z', 'ß'] }, owner);
    await recordHistory(node, change);
    await ofLinks.events(change);
    expect(await statsOf({ tag: 'z', ...periods[0] })).to.include({ linkCount: 1 });
    const { tags } = await statsOf({ include: 'tags', ...periods[0] });
    expect(tags?.values.map(({ value }) => value)).to.include.members(['Z', 'ß', 'x']);
  });

  const limits: readonly (readonly [string, Partial<typeof bounds>])[] = [
    ['links with a click in the period', { clicked: 2 }],
    ['matching links', { links: 3 }],
    ['days of links', { linkDays: 50 }],
    ['tags', { tags: 2 }],
    ['bytes of documents', { documentBytes: 1_000 }],
  ];
  /** The sums of the links with the tag `x`, with other bounds. */
  const sum = (query: object, other: Partial<typeof bounds> = {}) => {
    const request = requestOf({ ...query, tag: 'x', ...periods[0] });
    return transaction(node.pool, async (tx) => {
      await startSnapshot(tx);
      const matching = matchingLinks(tx, node.outbox, 'acme', request);
      return sumLinks(tx, request, matching, { ...bounds, ...other });
    });
  };

  for (const [name, bound] of limits) {
    it(`are refused for too many ${name}`, async () => {
      const query = { include: 'all,tags' };
      expect(await sum(query, bound)).to.equal('tooManyClickedLinks');
      expect(await sum(query)).to.have.nested.property('stats.linkCount', 4);
    });
  }

  it('count values beyond the bound of a dimension as (other)', async () => {
    const summed = await sum({ include: 'referrers', limit: '200' }, { values: 5 });
    if (typeof summed === 'string') throw new Error(summed);
    const { referrers = [], period } = summed.stats;
    expect(referrers).to.have.lengthOf(6);
    expect(referrers.at(-1)?.value).to.equal('(other)');
    const total = referrers.reduce((clicks, row) => clicks + row.clicks, 0);
    expect(total).to.equal(period.clickCount);
  });
});

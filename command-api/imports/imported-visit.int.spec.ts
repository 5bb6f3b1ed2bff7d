import { expect } from 'chai';
import { groupBy } from '../../ops/platform/group-by.js';
import { createLogger } from '../../ops/platform/logging.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { readerLag, startProjection } from '../../projectors/runtime/live-projection.js';
import { liveSchema } from '../../projectors/runtime/projection.js';
import { rebuild } from '../../projectors/runtime/rebuild.js';
import { stats } from '../../projectors/statistics/projection.js';
import type { EventNamed, LinklogEvent } from '../../schemas/events/catalogue.js';
import { readEvent, topicOf } from '../../schemas/events/codec.js';
import { readStatsQuery, statsQuery } from '../../schemas/http/statistics.js';
import { imported, importIdAt, recordOf, spooledVisit } from '../../schemas/testing/events.js';
import { readAccountStatistics, readLinkStatistics } from '../statistics/statistics.js';
import { appendVisits, writeImportedVisit, type ImportedVisit } from './imported-visit.js';

type Visit = EventNamed<'LinkVisited'>;

const dayMs = 86_400_000;
const today = '2026-11-20';
const now = new Date(`${today}T12:00:00Z`);
const importId = importIdAt(now);
const first = Date.parse('2019-01-01');
const days = Math.round((Date.parse(today) - first) / dayMs);
const isOwnHost = () => false;
const logger = createLogger('silent');

const links = [
  { subject: 'spring', account: 'acme' },
  { subject: 'summer', account: 'acme' },
  { subject: 'go.example/été', account: 'acme' },
  { subject: 'other', account: 'other' },
];
const countries = ['DE', 'FR', 'NP', null];
const userAgents = [
  'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
  null,
];

/** An element that depends on the number of a visit alone; consecutive ones are spread. */
const pick = <Value>(list: readonly Value[], number: number): Value =>
  list[Math.floor(number / 7) % list.length] as Value;

/** Visits of 100 days from 2019 to today, not in the order of their times. */
const visits = Array.from({ length: 2_000 }, (_, index): ImportedVisit => {
  const day = first + ((index * 97) % 100) * Math.floor(days / 99) * dayMs;
  const at = index % 50 === 0 ? Date.parse(today) : day;
  return {
    ...pick(links, index * 5),
    ...{ importId, sequence: index + 1 },
    visit: {
      ...{ code: 'not read', domain: null, referrer: 'news.example' },
      time: new Date(at + ((index * 7_919_000) % (dayMs / 2))).toISOString(),
      country: pick(countries, index * 3),
      userAgent: pick(userAgents, index),
    },
  };
});

/** Visits of today that an edge records during the import. */
const liveVisits = Array.from({ length: 60 }, (_, index) =>
  spooledVisit(pick(links, index * 11).subject, {
    ...{ account: pick(links, index * 11).account, sequence: index + 1 },
    time: new Date(now.getTime() + index * 1_000),
  }),
);

/** Two of the links are imported, too, and were created after many of their visits. */
const creations = ['spring', 'other'].map((subject) =>
  imported(
    subject,
    { clicks: 5, createdAt: '2023-05-06T07:08:09.000Z' },
    { account: subject === 'other' ? 'other' : 'acme', time: now },
  ),
);

const dayOf = ({ time }: Visit): string => time.slice(0, 10);

const tally = (keys: readonly (string | null)[]): Record<string, number> =>
  Object.fromEntries(Array.from(groupBy(keys, String), ([key, { length }]) => [key, length]));

describe('imports: statistics of imported visits', function () {
  this.timeout(120_000);
  const database = databaseFixture('imported_visits');
  const node = ledgerFixture(database);

  const expectedVisits: readonly Visit[] = [
    ...visits.map((visit) => readEvent(writeImportedVisit(visit, isOwnHost)) as Visit),
    ...liveVisits,
  ];

  const append = (from: number, to: number): Promise<void> =>
    appendVisits(node.log, visits.slice(from, to), isOwnHost);
  const appendEvents = (events: readonly LinklogEvent[]): Promise<void> => {
    const [event] = events;
    return event ? node.log.append(topicOf(event), events.map(recordOf)) : Promise.resolve();
  };

  /** Runs the projection until it has applied the log. */
  const project = async (): Promise<void> => {
    const { pool, log } = node;
    const running = startProjection({ pool, log, logger, projection: stats });
    try {
      await eventually('all records are applied', async () => {
        const { lag } = await readerLag(pool, log, liveSchema(stats.name), stats.topics);
        return lag === 0;
      });
    } finally {
      await running.stop();
    }
    const status = await readerLag(pool, log, liveSchema(stats.name), stats.topics);
    expect(status).to.deep.equal({ lag: 0, deadLetters: 0, parked: 0 });
  };

  type Read = typeof readLinkStatistics;

  const statisticsOf = (read: Read, owner: string, from: string, to: string) => {
    const query = { include: 'timeseries,countries,browsers,bots', from, to, limit: '200' };
    const request = readStatsQuery(statsQuery, query, now);
    if ('refused' in request) throw new Error(request.refused);
    return read(node.pool, owner, request);
  };

  /** Compares the statistics of a period with plain counts of the visits in it. */
  const checkPeriod = async (
    ...[read, owner, own, from, to]: [Read, string, readonly Visit[], string, string]
  ): Promise<void> => {
    const { ofPeriod } = await statisticsOf(read, owner, from, to);
    const within = own.filter(({ time }) => time >= from && time < to);
    const clicks = within.filter(({ data }) => !data.bot);
    const { period, timeseries = [], countries: byCountry = [], browsers = [], bots } = ofPeriod;
    const message = `${owner} ${from}`;
    expect(period.clickCount, message).to.equal(clicks.length);
    expect(bots, message).to.equal(within.length - clicks.length);
    const series = timeseries.filter((entry) => entry.clicks > 0);
    const listOf = (list: typeof byCountry) =>
      Object.fromEntries(list.map(({ value, clicks: count }) => [String(value), count]));
    expect(
      [
        Object.fromEntries(series.map((entry) => [entry.start.slice(0, 10), entry.clicks])),
        ...[listOf(byCountry), listOf(browsers)],
      ],
      message,
    ).to.deep.equal([
      tally(clicks.map(dayOf)),
      tally(clicks.map(({ data }) => data.country)),
      tally(clicks.map(({ data }) => data.browser)),
    ]);
  };

  const check = async (): Promise<void> => {
    const owners = [
      ...links.map(({ subject }) => {
        const own = expectedVisits.filter((visit) => visit.subject === subject);
        const opening = creations.some((event) => event.subject === subject) ? 5 : 0;
        return { read: readLinkStatistics, owner: subject, own, opening };
      }),
      ...['acme', 'other'].map((account) => {
        const own = expectedVisits.filter((visit) => visit.account === account);
        return { read: readAccountStatistics, owner: account, own, opening: 5 };
      }),
    ];
    for (const { read, owner, own, opening } of owners) {
      const clicks = own.filter(({ data }) => !data.bot);
      const total = await statisticsOf(read, owner, today, `${today}T13:00:00Z`);
      expect(total.clicks, owner).to.equal(clicks.length + opening);
      const times = clicks.map(({ time }) => time).sort();
      if (read === readLinkStatistics) {
        expect(total.lastAccessed?.toISOString(), owner).to.equal(times.at(-1));
      }
      for (let year = 2019; year < 2027; year += 1) {
        await checkPeriod(read, owner, own, `${year}-01-01`, `${year + 1}-01-01`);
      }
    }
  };

  it('equal plain counts of each day, country and browser, although parts of the import are repeated', async () => {
    await append(0, 700);
    await project();
    await appendEvents(liveVisits.slice(0, 30));
    await project();
    // The import resumes at its last committed portion, after a crash.
    await append(300, 900);
    await append(600, 1_500);
    await appendEvents(creations);
    await appendEvents(liveVisits.slice(30));
    await append(1_500, 2_000);
    await project();
    await check();
    await append(0, 2_000);
    await appendEvents(liveVisits);
    await append(100, 300);
    await project();
    await check();
  });

  it('are the same after a rebuild', async () => {
    const { pool, log } = node;
    const outcome = await rebuild({ pool, log, logger, projection: stats });
    expect(outcome.applied).to.equal(expectedVisits.length + creations.length);
    await check();
  });
});

import { expect } from 'chai';
import { createLogger } from '../../ops/platform/logging.js';
import { databaseFixture, ledgerFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';
import { startProjection } from '../../projectors/runtime/batch.js';
import { readerLag } from '../../projectors/runtime/lag.js';
import { liveSchema } from '../../projectors/runtime/projection.js';
import { rebuild } from '../../projectors/runtime/rebuild.js';
import { stats } from '../../projectors/statistics/projection.js';
import type { LinklogEvent } from '../../schemas/events/catalogue.js';
import { topicOf } from '../../schemas/events/codec.js';
import { readStatsQuery, statsQuery } from '../../schemas/http/statistics.js';
import { imported, importIdAt, recordOf, spooledVisit } from '../../schemas/testing/events.js';
import { readAccountStatistics, readLinkStatistics } from '../statistics/statistics.js';
import { appendVisits, type ImportedVisit } from './imported-visit.js';

const dayMs = 86_400_000;
const now = new Date('2026-11-20T12:00:00Z');
const importId = importIdAt(now);
const logger = createLogger('silent');

/** Links, and the clicks of their opening balance. */
const links = [
  { subject: 'spring', account: 'acme', opening: 5 },
  { subject: 'go.example/été', account: 'acme', opening: 0 },
  { subject: 'other', account: 'other', opening: 5 },
] as const;
const linkOf = (number: number) => links[(number % 3) as 0 | 1 | 2];

/** Visits of 100 days before today, not in the order of their times. */
const visits = Array.from({ length: 2_000 }, (_, index): ImportedVisit => {
  const { subject, account } = linkOf(index);
  const time = new Date(now.getTime() - (1 + ((index * 97) % 100)) * dayMs).toISOString();
  const unknown = { country: null, referrer: null, userAgent: null };
  const visit = { code: 'not read', domain: null, time, ...unknown };
  return { ...{ subject, account, importId }, sequence: index + 1, visit };
});

/** Visits of today that an edge records during the import. */
const liveVisits = Array.from({ length: 60 }, (_, index) => {
  const { subject, account } = linkOf(index);
  return spooledVisit(subject, { account, sequence: index + 1, time: now });
});

/** Two of the links are imported, too. */
const creations = links
  .filter(({ opening }) => opening > 0)
  .map(({ subject, account, opening }) =>
    imported(subject, { clicks: opening, createdAt: now.toISOString() }, { account, time: now }),
  );

describe('imports: statistics of imported visits', () => {
  const database = databaseFixture('imported_visits');
  const node = ledgerFixture(database);

  const append = (from: number, to: number): Promise<void> =>
    appendVisits(node.log, visits.slice(from, to), () => false);
  const appendEvents = ([event, ...others]: readonly LinklogEvent[]): Promise<void> =>
    event ? node.log.append(topicOf(event), [event, ...others].map(recordOf)) : Promise.resolve();

  /** Runs the projection until it has applied the log. */
  const project = async (): Promise<void> => {
    const { pool, log } = node;
    const running = startProjection({ pool, log, logger, projection: stats });
    const lagOf = () => readerLag(pool, log, liveSchema(stats.name), stats.topics);
    try {
      await eventually('all records are applied', async () => (await lagOf()).lag === 0);
    } finally {
      await running.stop();
    }
    expect(await lagOf()).to.deep.equal({ lag: 0, deadLetters: 0, parked: 0 });
  };

  const check = async (): Promise<void> => {
    const range = { from: '2026-01-01', to: '2027-01-01' };
    const request = readStatsQuery(statsQuery, { include: 'countries', ...range }, now);
    if ('refused' in request) throw new Error(request.refused);
    const owners = [
      ...links.map(({ subject }) => ({ read: readLinkStatistics, owner: subject })),
      ...['acme', 'other'].map((owner) => ({ read: readAccountStatistics, owner })),
    ];
    for (const { read, owner } of owners) {
      const isOwn = (visit: {
        readonly subject: string;
        readonly account?: string | undefined;
      }): boolean => visit.subject === owner || visit.account === owner;
      const count = visits.filter(isOwn).length + liveVisits.filter(isOwn).length;
      const { clicks, ofPeriod } = await read(node.pool, owner, request);
      expect(ofPeriod.period.clickCount, owner).to.equal(count);
      const isImported = read === readAccountStatistics || owner !== 'go.example/été';
      expect(clicks, owner).to.equal(count + (isImported ? 5 : 0));
    }
  };

  it('count each visit once, although parts of the import are repeated after crashes', async () => {
    await append(0, 700);
    await project();
    await appendEvents(liveVisits.slice(0, 30));
    await project();
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
    expect(outcome.applied).to.equal(visits.length + liveVisits.length + creations.length);
    await check();
  });
});

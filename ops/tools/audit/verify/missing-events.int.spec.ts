import { expect } from 'chai';
import type { LinklogEvent } from '../../../../schemas/events/catalogue.js';
import { topicOf } from '../../../../schemas/events/codec.js';
import { spoolSource } from '../../../../schemas/events/envelope.js';
import { topicNames, topics } from '../../../../schemas/events/topics.js';
import {
  blocked,
  created,
  keyCreated,
  maintenanceSwitched,
  metered,
  overrideGranted,
  recordOf,
  spooledVisit,
  unblocked,
  visited,
} from '../../../../schemas/testing/events.js';
import type { EventLog } from '../../../event-log/port.js';
import { isClean, type Verification } from './report.js';
import { verify } from './verify.js';
import { databaseFixture, ledgerFixture } from '../../../test/support/fixtures.js';

const { links, visits, accounts, platform, usage } = topics;

const visit = (sequence: number, spool = 'one') =>
  spooledVisit(`subject-${sequence % 7}`, { sequence, spool });

const visitsFrom = (first: number, last: number, spool?: string): readonly LinklogEvent[] =>
  Array.from({ length: last - first + 1 }, (_, index) => visit(first + index, spool));

/** A complete log with repeats. */
const whole: readonly LinklogEvent[] = [
  keyCreated('key-1'),
  overrideGranted('docs', 1, 'acme'),
  maintenanceSwitched(1, true),
  created('a', { maxClicks: 5 }),
  blocked('a', 2),
  blocked('a', 2),
  unblocked('a', 3),
  visited('a', 1),
  visited('a', 2),
  metered('key-1', 1, 3),
  ...visitsFrom(1, 30),
  ...visitsFrom(20, 30),
];

/** More events of the same origins, with missing sequences. */
const incomplete: readonly LinklogEvent[] = [
  // Missing: 4, 5 and 7.
  blocked('a', 6),
  unblocked('a', 8),
  // Missing: its creation.
  blocked('b', 2),
  // Missing: 3.
  visited('a', 4),
  // Missing: 2 and 3.
  metered('key-1', 4, 1),
  // Missing: 2.
  overrideGranted('docs', 3, 'acme'),
  // Missing: 2 to 9.
  maintenanceSwitched(10, false),
  // Missing: 31 to 40, and 1 to 3 of the other spool.
  ...visitsFrom(41, 50),
  ...visitsFrom(4, 9, 'other'),
];

describe('audit verify: missing events', function () {
  this.timeout(60_000);
  const database = databaseFixture('missing', { per: 'test' });
  const node = ledgerFixture(database, { per: 'test' });

  const append = async (log: EventLog, events: readonly LinklogEvent[]): Promise<void> => {
    for (const topic of topicNames) {
      await log.append(topic, events.filter((event) => topicOf(event) === topic).map(recordOf));
    }
  };

  it('are counted by subject and by spool', async () => {
    const { log } = node;
    const verified = (): Promise<Verification> => verify({ pool: database.pool, log, limit: 100 });
    await append(log, whole);
    const before = await verified();
    expect(before.missing).to.deep.equal({ events: 0, origins: 0, reported: [] });

    await append(log, incomplete);
    const { missing } = await verified();
    expect(missing.reported).to.have.deep.members([
      { topic: links.name, origin: 'a', first: 4, count: 3 },
      { topic: links.name, origin: 'b', first: 1, count: 1 },
      { topic: visits.name, origin: 'a', first: 3, count: 1 },
      { topic: usage.name, origin: 'key-1', first: 2, count: 2 },
      { topic: accounts.name, origin: 'docs', first: 2, count: 1 },
      { topic: platform.name, origin: 'platform', first: 2, count: 8 },
      { topic: visits.name, origin: spoolSource('one'), first: null, count: 10 },
      { topic: visits.name, origin: spoolSource('other'), first: null, count: 3 },
    ]);
    expect(missing).to.include({ events: 29, origins: 8 });
    expect(isClean({ tables: [], gaps: [], missing })).to.equal(false);
  });

  it('include visits that an edge has answered, and of which the log has none or not the last', async () => {
    await append(node.log, visitsFrom(1, 5, 'shipped/0'));
    await database.pool.query(
      `INSERT INTO log.spools VALUES ('shipped', 'edge-1', '{5,0}', now()), ('lost', 'edge-2', '{0,7}', now())`,
    );
    await database.pool.query(
      `INSERT INTO log.spools VALUES ('shipped-in-part', '', '{3}', now())`,
    );
    await append(node.log, visitsFrom(1, 2, 'shipped-in-part/0'));
    const { missing } = await verify({ pool: database.pool, log: node.log });
    expect(missing.reported).to.deep.equal([
      { topic: visits.name, origin: spoolSource('lost/1'), first: null, count: 7 },
      { topic: visits.name, origin: spoolSource('shipped-in-part/0'), first: null, count: 1 },
    ]);
  });

  it('exclude an unreadable record with a valid envelope', async () => {
    const { key, value } = recordOf(blocked('a', 2));
    await append(node.log, [created('a')]);
    await node.log.append(links.name, [
      { key, value: value.replace('phishing', '').replace('"reason"', '"because"') },
      recordOf(unblocked('a', 3)),
    ]);
    const { missing } = await verify({ pool: database.pool, log: node.log });
    expect(missing.events).to.equal(0);
  });
});

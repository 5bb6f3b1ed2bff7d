import { expect } from 'chai';
import fc from 'fast-check';
import type { EventNamed } from '../../schemas/events/catalogue.js';
import { topics } from '../../schemas/events/topics.js';
import {
  firstVisitRecordOf,
  imported,
  noon,
  recordOf,
  spooledVisit,
} from '../../schemas/testing/events.js';
import type { Projection } from '../runtime/projection.js';
import { feed } from '../testing/harness.js';
import { emptyTables } from '../testing/tables.js';
import { visitOf } from './link-statistics.js';
import { openingBalanceOf } from './opening-balances.js';
import { stats } from './projection.js';
import { naiveRows, type Rows } from './testing/naive.js';
import { transaction } from '../../ops/platform/postgres/pool.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';
import { eventually } from '../../ops/test/support/waiting.js';

type VisitEvent = EventNamed<'LinkVisited'>;

const dayMs = 86_400_000;

/** Visits of four links of two accounts, most of them of one link on one day, in any order. */
const someVisits = (referrers: number): fc.Arbitrary<readonly VisitEvent[]> =>
  fc
    .constantFrom([0, 1, 1, 1, 1, 2, 30, 31, 70], [0, 1, 1, 1], [0, 0, 0, 1, 2])
    .chain((days) => visitsOn(days, referrers));

const visitsOn = (
  days: readonly number[],
  referrers: number,
): fc.Arbitrary<readonly VisitEvent[]> => {
  const visit = fc.record({
    subject: fc.constantFrom('a', 'a', 'a', 'a', 'b', 'c', 'go.example/a'),
    day: fc.constantFrom(...days),
    minute: fc.constantFrom(0, 14, 15, 615, 615, 616, 1_439),
    bot: fc.constantFrom(false, false, false, true),
    referrer: fc.option(fc.nat(referrers - 1).map((number) => `${number}.example.com`)),
    country: fc.constantFrom('DE', 'FR', null),
    target: fc.constantFrom(null, null, null, 'rule', 'test/a'),
    code: fc.constantFrom(null, null, null, 'second', 'go.example.com/a'),
    campaign: fc.constantFrom(null, null, null, 'campaign=spring', 'source=news&medium='),
    visitor: fc.option(fc.nat(60).map((number) => String(number).padStart(16, 'v'))),
  });
  const visits = fc.array(visit, { minLength: 1, maxLength: 700, size: 'max' });
  return fc.tuple(visits, fc.nat(700)).map(([generated, inOrder]) => {
    const byTime = generated.slice(0, inOrder).sort((a, b) => a.day - b.day || a.minute - b.minute);
    return [...byTime, ...generated.slice(inOrder)].map(
      ({ subject, day, minute, bot, ...fields }, index) => {
        const time = new Date(noon.getTime() - dayMs / 2 + day * dayMs + minute * 60_000 + index);
        const account = subject === 'c' ? 'other' : 'acme';
        const event = spooledVisit(subject, { sequence: index + 1, time, account, bot });
        return { ...event, data: { ...event.data, ...fields } };
      },
    );
  });
};

describe('projectors: statistics', () => {
  const database = databaseFixture('statistics');

  afterEach(() => emptyTables(database.pool, 'projection_stats'));

  const tables = Object.keys(naiveRows([], 0));

  const rowsNow = async (): Promise<Record<string, Rows>> => {
    const content: Record<string, Rows> = {};
    for (const table of tables) {
      const { rows } = await database.pool.query<Record<string, unknown>>(
        `SELECT * FROM projection_stats.${table}`,
      );
      content[table] = rows;
    }
    return content;
  };

  /** One text for equal rows in whatever order, of columns in whatever order. */
  const textOf = (content: Record<string, Rows>): readonly string[] =>
    Object.entries(content).flatMap(([table, rows]) =>
      rows.map((row) => `${table} ${JSON.stringify(Object.entries(row).sort())}`).sort(),
    );

  const give = async (
    events: readonly VisitEvent[],
    size: number,
    projection: Projection = stats,
  ): Promise<void> => {
    const given = feed(database.pool, projection);
    for (let from = 0; from < events.length; from += size) {
      const batch = events.slice(from, from + size).map(recordOf);
      await given.records(topics.visits.name, batch);
    }
  };

  const naive = (events: readonly VisitEvent[]): readonly string[] =>
    textOf(naiveRows(events.map(visitOf), 0));

  it('equal a naive fold for any order of visits and any batches', async () => {
    await fc.assert(
      fc.asyncProperty(someVisits(150), fc.integer({ min: 1, max: 300 }), async (events, size) => {
        await emptyTables(database.pool, 'projection_stats');
        await give(events, Math.max(size, Math.ceil(events.length / 12)));
        expect(textOf(await rowsNow())).to.deep.equal(naive(events));
      }),
      { numRuns: 12 },
    );
  });

  it('include the clicks that imported links bring along, before or after their visits', async () => {
    const subjects = ['a', 'b', 'c', 'd', 'go.example/a', 'go.example/d'];
    const imports = fc
      .tuple(
        fc.shuffledSubarray(subjects, { minLength: 1 }),
        fc.array(fc.nat(50), { minLength: subjects.length, maxLength: subjects.length }),
      )
      .map(([some, clicks]) =>
        some.map((subject, index) => {
          const account = subject === 'c' ? 'other' : 'acme';
          return imported(subject, { clicks: clicks[index] ?? 0 }, { account });
        }),
      );
    await fc.assert(
      fc.asyncProperty(imports, someVisits(20), fc.nat(700), async (events, visits, at) => {
        await emptyTables(database.pool, 'projection_stats');
        await give(visits.slice(0, at), 200);
        // The relay repeats records after a crash.
        for (const batch of [events.slice(0, 1), events.slice(1), events])
          await feed(database.pool, stats).events(...batch);
        await give(visits.slice(at), 200);
        const openings = events.flatMap((event) => openingBalanceOf(event) ?? []);
        const expected = textOf(naiveRows(visits.map(visitOf), 0, openings));
        expect(textOf(await rowsNow())).to.deep.equal(expected);
      }),
      { numRuns: 12 },
    );
  });

  it('keep an opening balance that is added while the first visits are counted', async () => {
    await emptyTables(database.pool, 'projection_stats');
    const opening = openingBalanceOf(imported('raced', { clicks: 5 }));
    if (!opening) throw new Error('the link has no opening balance');
    const visit = visitOf(spooledVisit('raced'));
    let attempts = 0;
    let counting = Promise.resolve();
    await transaction(database.pool, async (tx) => {
      await stats.apply(tx, 'projection_stats', [opening], 0);
      counting = transaction(database.pool, (other) => {
        attempts += 1;
        return stats.apply(other, 'projection_stats', [visit], 0);
      });
      await eventually('the visit waits for the row', async () => {
        const { rows } = await database.pool.query(
          `SELECT FROM pg_stat_activity WHERE wait_event = 'transactionid'`,
        );
        return rows.length > 0;
      });
    });
    await counting;
    expect(attempts, 'a conflict is retried').to.equal(2);
    const { rows } = await database.pool.query(
      `SELECT clicks FROM projection_stats.links WHERE subject = 'raced'`,
    );
    expect(rows).to.deep.equal([{ clicks: 6 }]);
  });

  it('equal a naive fold for a batch with more links than are in memory together', async () => {
    const subjects = Array.from({ length: 2_300 }, (_, index) => `link-${index}`);
    // The account's first hundred referrers are of links at both ends.
    const events = [...subjects, ...subjects.toReversed()].map((subject, index) => {
      const event = spooledVisit(subject, { sequence: index + 1, account: 'acme' });
      const visitor = String(Math.floor(index / 3)).padStart(16, 'v');
      const referrer = `${(index * 2_297) % 150}.example.com`;
      return { ...event, data: { ...event.data, visitor, referrer } };
    });
    await give(events, events.length);
    expect(textOf(await rowsNow())).to.deep.equal(naive(events));
  });

  it('include visits of earlier versions, which have fewer fields', async () => {
    const visits = [spooledVisit('abc'), spooledVisit('abc', { sequence: 2, bot: true })];
    await feed(database.pool, stats).records(topics.visits.name, visits.map(firstVisitRecordOf));
    await feed(database.pool, stats).events(spooledVisit('abc', { sequence: 3 }));
    const [link] = (await rowsNow())['links'] ?? [];
    expect(link).to.deep.include({ clicks: 2, bots: 1, last_accessed: noon });
  });
});

import { expect } from 'chai';
import type { NewRecord } from '../../ops/event-log/port.js';
import type { LinkEvent, LinklogEvent } from '../../schemas/events/catalogue.js';
import { UnknownEventType } from '../../schemas/events/codec.js';
import { topics } from '../../schemas/events/topics.js';
import { history } from '../history/projection.js';
import { redirects } from '../links/projection.js';
import { stats } from '../statistics/projection.js';
import {
  blocked,
  created,
  expired,
  recordOf,
  unblocked,
  spooledVisit,
} from '../../schemas/testing/events.js';
import { rejection } from '../../ops/test/support/waiting.js';
import { feed, namedLog } from '../testing/harness.js';
import { dump, emptyTables } from '../testing/tables.js';
import { liveSchema, type Projection } from './projection.js';
import { redrive } from './redrive.js';
import { fixture } from '../../ops/test/support/fixture.js';
import { databaseFixture } from '../../ops/test/support/fixtures.js';

const links = topics.links.name;
const visits = topics.visits.name;
const schema = 'projection_redirects';

/** A link that the schema allows, but the table cannot store: `integer` ends at 2^31. */
const poisonous = (code: string) => created(code, { maxClicks: 3_000_000_000 });

/** Redirects whose `apply` fails for these events. */
const failingFor = (
  isFaulty: (event: LinkEvent) => boolean,
  error = 'a bug',
): typeof redirects => ({
  ...redirects,
  async apply(tx, into, events, partition) {
    await redirects.apply(tx, into, events, partition);
    if (events.some(isFaulty)) throw new Error(error);
  },
});
const failingForB = failingFor(({ subject }) => subject === 'b');
const failingForExpiry = failingFor(
  ({ type }) => type === 'linklog.LinkExpired.v1',
  'a bug of expiries',
);

describe('projectors: dead letters', () => {
  const database = databaseFixture('letters');
  const redriven = (projection: Projection = redirects) =>
    redrive({ pool: database.pool, log: namedLog(), projection });
  const apply = (events: readonly LinklogEvent[], projection: Projection = redirects) =>
    feed(database.pool, projection).records(links, events.map(recordOf));
  const live = fixture(() => feed(database.pool, redirects));

  beforeEach(async () => {
    await emptyTables(database.pool, schema);
    await emptyTables(database.pool, 'projection_stats');
  });

  interface DeadLetterRow {
    readonly offset: number;
    readonly subject: string;
    readonly error: string | null;
  }
  const readDeadLetters = async (): Promise<readonly DeadLetterRow[]> => {
    const { rows } = await database.pool.query<DeadLetterRow>(
      `SELECT record_offset AS "offset", subject, error FROM ${schema}.dead_letters
       ORDER BY record_offset`,
    );
    return rows;
  };
  const parked = async () =>
    (await readDeadLetters()).filter(({ error }) => error === null).map(({ offset }) => offset);

  const codes = async (): Promise<readonly string[]> => {
    const { rows } = await database.pool.query<{ subject: string }>(
      `SELECT subject FROM ${schema}.links ORDER BY subject`,
    );
    return rows.map(({ subject }) => subject);
  };
  /** Subject, status, expiry and sequence of the first link. */
  const firstLink = async (): Promise<unknown> => {
    const { rows } = await database.pool.query<Record<string, unknown>>(
      `SELECT subject, status, expired, sequence FROM ${schema}.links ORDER BY 1 LIMIT 1`,
    );
    return Object.values(rows[0] ?? {});
  };

  it('contain every event that cannot be applied, and the rest of the batch is applied', async () => {
    const culprits = new Set([0, 1, 250, 333, 499]);
    const batch = Array.from({ length: 500 }, (_, index) =>
      culprits.has(index) ? poisonous(`code-${index}`) : created(`code-${index}`),
    );
    const outcome = { applied: 495, repeats: 0, deadLetters: 5, parked: 0 };
    expect(await apply(batch)).to.deep.equal(outcome);
    const deadLetters = await readDeadLetters();
    expect(deadLetters.map(({ offset }) => offset)).to.deep.equal([...culprits]);
    expect(deadLetters[2]).to.include({ subject: 'code-250' });
    expect(deadLetters[2]?.error).to.match(/out of range for type integer/);
    expect(await codes()).to.have.length(495);
  });

  it('park later events of the subject, in the same batch and in later ones', async () => {
    await apply([created('a'), poisonous('b'), blocked('b', 2), blocked('a', 2)]);
    const outcome = await apply([expired('b', 3), expired('a', 3)]);
    expect(outcome).to.include({ applied: 1, parked: 1 });
    expect(await parked()).to.deep.equal([2, 4]);
    expect(await firstLink()).to.deep.equal(['a', 'blocked', 'time', 3]);
  });

  it('do not contain earlier events of the subject', async () => {
    const history = [created('a'), blocked('a', 2), expired('a', 3), unblocked('a', 4)];
    await apply(history, failingForExpiry);
    expect(await firstLink()).to.deep.equal(['a', 'blocked', null, 2]);
    expect(await parked()).to.deep.equal([3]);
  });

  const unknownType = recordOf(created('a')).value.replace('linklog.', 'com.example.');
  const unreadable: readonly (readonly [string, NewRecord, RegExp])[] = [
    ['is not JSON', { key: 'a', value: '{' }, /not JSON/],
    ['is no CloudEvent', { key: 'a', value: '{}' }, /specversion/],
    ['has an unknown type', { key: 'a', value: unknownType }, /unknown type com\.example\.LinkC/],
    ['is in the wrong topic', recordOf(spooledVisit('a')), /not belong in linklog\.links\.v1/],
    ['has another key than its subject', { ...recordOf(created('b')), key: 'a' }, /not its key/],
    [
      'has another source',
      recordOf(created('a', {}, { source: '/x' })),
      /source is not the ledger/,
    ],
    ['contains NUL', { key: 'a', value: '\0' }, /not JSON/],
  ];
  for (const [what, record, reason] of unreadable) {
    it(`contain a record that ${what}`, async () => {
      await apply([created('c'), created('d')]);
      await live.records(links, [record, recordOf(created('e')), recordOf(blocked('a', 2))]);
      const [deadLetter, later] = await readDeadLetters();
      expect(deadLetter).to.include({ offset: 2, subject: 'a' });
      expect(deadLetter?.error).to.match(reason);
      expect(later).to.deep.equal({ offset: 4, subject: 'a', error: null });
      expect(await codes()).to.deep.equal(['c', 'd', 'e']);
    });
  }

  it('never contain an event of a later version: the partition waits for that version', async () => {
    const later = recordOf(blocked('a', 2)).value.replace('LinkBlocked', 'LinkMelted');
    const batch = [recordOf(created('a')), { key: 'a', value: later }, recordOf(created('b'))];
    for (const records of [batch, batch.slice(1)]) {
      const error = await rejection(live.records(links, records));
      expect(error).to.be.instanceOf(UnknownEventType);
      // The event before it is applied.
      expect(await codes()).to.deep.equal(['a']);
    }
    expect(await readDeadLetters()).to.deep.equal([]);
  });

  it('never contain an event whose statement timed out', async () => {
    const slow: typeof redirects = {
      ...redirects,
      async apply(tx) {
        await tx.query("SET LOCAL statement_timeout = '20ms'");
        await tx.query('SELECT pg_sleep(9)');
      },
    };
    expect(await rejection(apply([created('a')], slow))).to.include({ code: '57014' });
    expect([await readDeadLetters(), await codes()]).to.deep.equal([[], []]);
  });

  it('contain records whose names PostgreSQL cannot store or index', async () => {
    const { value } = recordOf(created('a'));
    const records = ['x'.repeat(10_000), 'with\0nul', '\ud800', ''].map((key) => ({
      ...{ key, value: value.replace('"a"', JSON.stringify(key)) },
    }));
    expect(await live.records(links, records)).to.include({ applied: 0, deadLetters: 4 });
    expect(await redriven()).to.deep.equal({ applied: 0, repeats: 0, remaining: 4 });
  });

  for (const projection of [redirects, history]) {
    it(`alone have high-water marks in the topic of links: ${projection.name}`, async () => {
      const marks = async (...batches: readonly (readonly NewRecord[])[]): Promise<unknown> => {
        await emptyTables(database.pool, liveSchema(projection.name));
        const given = feed(database.pool, projection);
        for (const batch of batches) await given.records(links, batch);
        const content = await dump(database.pool, liveSchema(projection.name));
        return content['high_water_marks'];
      };
      const records = [created('a'), created('b'), blocked('a', 2)].map(recordOf);
      const broken = { key: 'b', value: '{' };
      expect(await marks(records)).to.deep.equal([]);
      // An event before its subject's first dead letter is in the rows, wherever the batch ends.
      expect(await marks([...records, broken])).to.deep.equal([]);
      expect(await marks(records, [broken])).to.deep.equal([]);
      const next = recordOf(blocked('b', 2));
      expect(await marks(records, [broken, next])).to.deep.equal([`(${links},0,b,2,)`]);
    });
  }

  describe('redriven', () => {
    it('stop at the first failure of a subject, and continue with other subjects', async () => {
      await apply([created('b'), poisonous('c'), blocked('b', 2), blocked('c', 2)], failingForB);
      expect(await redriven()).to.deep.equal({ applied: 2, repeats: 0, remaining: 2 });
      expect(await codes()).to.deep.equal(['b']);
      expect((await readDeadLetters()).map(({ offset }) => offset)).to.deep.equal([1, 3]);
      expect(await parked()).to.deep.equal([3]);
    });

    it('apply the events before the first failure, which stays', async () => {
      await apply([created('b'), expired('b', 2), blocked('b', 3)], failingForB);
      expect(await redriven(failingForExpiry)).to.include({ applied: 1, remaining: 2 });
      const errors = (await readDeadLetters()).map(({ error }) => error);
      expect(errors).to.deep.equal(['a bug of expiries', null]);
    });

    it('count an event once that was a broken record twice', async () => {
      const record = recordOf(spooledVisit('a', { sequence: 1 }));
      const other = recordOf(spooledVisit('b', { sequence: 2 }));
      // As if an older version could not read the first record.
      const broken = { ...record, value: '{' };
      await feed(database.pool, stats).records(visits, [broken, other, broken]);
      await database.pool.query('UPDATE projection_stats.dead_letters SET value = $1', [
        record.value,
      ]);
      expect(await redriven(stats)).to.deep.equal({ applied: 1, repeats: 1, remaining: 0 });
      const { links, high_water_marks: marks } = await dump(database.pool, 'projection_stats');
      expect(links?.map((row) => row.slice(0, 9))).to.deep.equal(['(a,"",1,0', '(b,"",1,0']);
      // The mark stays after the last event.
      expect(marks?.[0]).to.match(/,2,2026-05-20\)$/);
    });

    it('are all redriven, in several transactions', async () => {
      const events = Array.from({ length: 250 }, (_, index) => created(`code-${index}`));
      await apply(
        events,
        failingFor(() => true),
      );
      expect(await readDeadLetters()).to.have.length(250);
      expect(await redriven()).to.include({ applied: 250, remaining: 0 });
      expect(await codes()).to.have.length(250);
    });

    it('keep their order while the projector adds events of their subject', async () => {
      await apply([created('b')], failingForB);
      for (let sequence = 2; sequence < 40; sequence += 2) {
        const pair = [blocked('b', sequence), unblocked('b', sequence + 1)];
        await Promise.all([apply(pair), redriven()]);
      }
      expect(await redriven()).to.include({ remaining: 0 });
      expect(await firstLink()).to.deep.equal(['b', 'active', null, 39]);
    });

    it('are unchanged when PostgreSQL fails', async () => {
      await apply([poisonous('b')]);
      const before = await dump(database.pool, schema);
      const unlucky: typeof redirects = {
        ...redirects,
        async apply(tx) {
          await tx.query(`DO $$ BEGIN RAISE SQLSTATE '53100'; END $$`);
        },
      };
      expect(await rejection(redriven(unlucky))).to.include({ code: '53100' });
      expect(await dump(database.pool, schema)).to.deep.equal(before);
    });
  });
});

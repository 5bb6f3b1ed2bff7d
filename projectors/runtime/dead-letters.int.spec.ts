import { expect } from 'chai';
import type { NewRecord } from '../../ops/event-log/port.js';
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

/** A link that the schema allows and the table cannot hold: `integer` ends at 2^31. */
const poisonous = (code: string) => created(code, { maxClicks: 3_000_000_000 });

/** What makes `apply` fail for events of one subject until it is mended. */
const withFault = (subject: string) => {
  const fault = { mended: false };
  const projection: typeof redirects = {
    ...redirects,
    async apply(tx, into, events, partition) {
      await redirects.apply(tx, into, events, partition);
      if (fault.mended || !events.some((event) => event.subject === subject)) return;
      throw new Error(`a bug that ${subject} meets`);
    },
  };
  return { fault, projection };
};

interface DeadLetterRow {
  readonly offset: number;
  readonly subject: string;
  readonly error: string | null;
}

describe('projectors: dead letters', () => {
  const database = databaseFixture('letters');
  const redriven = (projection: Projection) =>
    redrive({ pool: database.pool, log: namedLog(), projection });
  const live = fixture(() => feed(database.pool, redirects));

  beforeEach(async () => {
    await emptyTables(database.pool, schema);
    await emptyTables(database.pool, 'projection_stats');
  });

  const readDeadLetters = async (): Promise<readonly DeadLetterRow[]> => {
    const { rows } = await database.pool.query<DeadLetterRow>(
      `SELECT record_offset AS "offset", subject, error FROM ${schema}.dead_letters
       ORDER BY record_offset`,
    );
    return rows;
  };

  const codes = async (): Promise<readonly string[]> => {
    const { rows } = await database.pool.query<{ subject: string }>(
      `SELECT subject FROM ${schema}.links ORDER BY subject`,
    );
    return rows.map(({ subject }) => subject);
  };

  const parked = (rows: readonly DeadLetterRow[]) =>
    rows.filter(({ error }) => error === null).map(({ offset }) => offset);

  it('contain an event that cannot be applied, and the rest of its batch is applied', async () => {
    const outcome = await live.records(
      links,
      [created('a'), poisonous('b'), created('c')].map(recordOf),
    );
    expect(outcome).to.deep.equal({ applied: 2, repeats: 0, deadLetters: 1, parked: 0 });
    expect(await codes()).to.deep.equal(['a', 'c']);
    const [deadLetter] = await readDeadLetters();
    expect(deadLetter).to.include({ offset: 1, subject: 'b' });
    expect(deadLetter?.error).to.match(/out of range for type integer/);
  });

  it('contain every faulty event of a large batch', async () => {
    const culprits = new Set([0, 1, 250, 333, 499]);
    const batch = Array.from({ length: 500 }, (_, index) =>
      culprits.has(index) ? poisonous(`code-${index}`) : created(`code-${index}`),
    );
    await live.records(links, batch.map(recordOf));
    expect((await readDeadLetters()).map(({ offset }) => offset)).to.deep.equal([...culprits]);
    expect(await codes()).to.have.length(495);
  });

  it('park later events of the subject, in the same batch and in later ones', async () => {
    await live.records(
      links,
      [created('a'), poisonous('b'), blocked('b', 2), blocked('a', 2)].map(recordOf),
    );
    const outcome = await live.records(links, [expired('b', 3), expired('a', 3)].map(recordOf));
    expect(outcome).to.include({ applied: 1, parked: 1 });
    expect(parked(await readDeadLetters())).to.deep.equal([2, 4]);
    const { links: rows } = await dump(database.pool, schema, ['links']);
    expect(rows?.[0]).to.match(/^\(a,blocked,time,.*,3,[tf]?,/);
  });

  it('do not contain earlier events of the subject', async () => {
    const { projection } = withFault('none');
    const failing: typeof redirects = {
      ...projection,
      async apply(tx, into, events, partition) {
        if (events.some(({ type }) => type === 'linklog.LinkExpired.v1')) throw new Error('bug');
        await redirects.apply(tx, into, events, partition);
      },
    };
    await feed(database.pool, failing).records(
      links,
      [created('a'), blocked('a', 2), expired('a', 3), unblocked('a', 4)].map(recordOf),
    );
    const { links: rows } = await dump(database.pool, schema, ['links']);
    expect(rows?.[0]).to.match(/^\(a,blocked,,.*,2,[tf]?,/);
    expect(parked(await readDeadLetters())).to.deep.equal([3]);
  });

  const unreadable: readonly (readonly [string, NewRecord, RegExp])[] = [
    ['is no JSON', { key: 'a', value: '{' }, /not JSON/],
    ['is no CloudEvent', { key: 'a', value: '{}' }, /specversion/],
    [
      'is of an unknown type',
      { key: 'a', value: recordOf(created('a')).value.replace('linklog.', 'com.example.') },
      /unknown type com\.example\.LinkCreated\.v4/,
    ],
    [
      'stands in the wrong topic',
      recordOf(spooledVisit('a')),
      /does not belong in linklog\.links\.v1/,
    ],
    ['has another key than its subject', { ...recordOf(created('b')), key: 'a' }, /not its key/],
    ['holds NUL', { key: 'a', value: '\0' }, /not JSON/],
  ];
  for (const [what, record, reason] of unreadable) {
    it(`contain a record that ${what}`, async () => {
      await live.records(links, [created('c'), created('d')].map(recordOf));
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
      expect(await codes(), 'what came before it is applied').to.deep.equal(['a']);
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
    const error = await rejection(
      feed(database.pool, slow).records(links, [recordOf(created('a'))]),
    );
    expect(error).to.include({ code: '57014' });
    expect(await readDeadLetters()).to.deep.equal([]);
    expect(await codes()).to.deep.equal([]);
  });

  it('contain records whose names PostgreSQL cannot store or index', async () => {
    const long = 'x'.repeat(10_000);
    const names = [long, 'with\0nul', '\ud800', ''];
    const outcome = await live.records(
      links,
      names.map((key) => ({
        key,
        value: recordOf(created('a')).value.replace('"a"', JSON.stringify(key)),
      })),
    );
    expect(outcome).to.include({ applied: 0, deadLetters: 4 });
    expect(await redriven(redirects)).to.deep.equal({
      applied: 0,
      repeats: 0,
      remaining: 4,
    });
  });

  it('contain a repeated event once', async () => {
    await live.records(links, [poisonous('b'), poisonous('b'), blocked('b', 2)].map(recordOf));
    const outcome = await live.records(links, [poisonous('b'), blocked('b', 2)].map(recordOf));
    expect(outcome).to.deep.equal({ applied: 0, repeats: 2, deadLetters: 0, parked: 0 });
    expect((await readDeadLetters()).map(({ offset }) => offset)).to.deep.equal([0, 2]);
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
      expect(await marks(records)).to.deep.equal([]);
      const broken = { key: 'b', value: '{' };
      // An event before its subject's first dead letter is in the rows, wherever the batch ends.
      expect(await marks([...records, broken])).to.deep.equal([]);
      expect(await marks(records, [broken])).to.deep.equal([]);
      expect(await marks(records, [broken, recordOf(blocked('b', 2))])).to.deep.equal([
        `(${links},0,b,2,)`,
      ]);
    });
  }

  it('contain a link event of another source', async () => {
    await live.records(links, [created('a', {}, { source: '/elsewhere' })].map(recordOf));
    expect((await readDeadLetters())[0]?.error).to.match(/its source is not the ledger/);
  });

  describe('redriven', () => {
    it('are applied in order and leave the table when the cause is gone', async () => {
      const { fault, projection } = withFault('b');
      const events = [created('b'), blocked('b', 2), expired('b', 3), unblocked('b', 4)];
      await feed(database.pool, projection).records(links, events.map(recordOf));
      expect(await readDeadLetters()).to.have.length(4);
      fault.mended = true;
      expect(await redriven(projection)).to.deep.equal({
        applied: 4,
        repeats: 0,
        remaining: 0,
      });
      const { links: rows, dead_letters: left } = await dump(database.pool, schema);
      expect(rows?.[0]).to.match(/^\(b,expired,time,.*,4,[tf]?,/);
      expect(left).to.deep.equal([]);
      // The subject is followed again.
      const outcome = await feed(database.pool, projection).records(links, [
        recordOf(blocked('b', 5)),
      ]);
      expect(outcome).to.include({ applied: 1 });
    });

    it('stop at the first failure of a subject, and continue with other subjects', async () => {
      const { fault, projection } = withFault('b');
      await feed(database.pool, projection).records(
        links,
        [created('b'), poisonous('c'), blocked('b', 2), blocked('c', 2)].map(recordOf),
      );
      fault.mended = true;
      expect(await redriven(projection)).to.deep.equal({
        applied: 2,
        repeats: 0,
        remaining: 2,
      });
      expect(await codes()).to.deep.equal(['b']);
      const left = await readDeadLetters();
      expect(left.map(({ offset }) => offset)).to.deep.equal([1, 3]);
      expect(parked(left)).to.deep.equal([3]);
    });

    it('apply the events before the first failure, which stays', async () => {
      const { fault, projection } = withFault('b');
      const events = [created('b'), expired('b', 2), blocked('b', 3)];
      await feed(database.pool, projection).records(links, events.map(recordOf));
      fault.mended = true;
      const failing: typeof redirects = {
        ...redirects,
        async apply(tx, into, events, partition) {
          if (events.some(({ type }) => type === 'linklog.LinkExpired.v1'))
            throw new Error('bug 2');
          await redirects.apply(tx, into, events, partition);
        },
      };
      expect(await redriven(failing)).to.include({ applied: 1, remaining: 2 });
      expect((await readDeadLetters()).map(({ error }) => error)).to.deep.equal(['bug 2', null]);
    });

    it('count an event once that was a broken record twice', async () => {
      const feedStats = feed(database.pool, stats);
      const record = recordOf(spooledVisit('a', { sequence: 1 }));
      const other = recordOf(spooledVisit('b', { sequence: 2 }));
      // As if an older version had read the first record, twice.
      const broken = { ...record, value: '{' };
      await feedStats.records(visits, [broken, other, broken]);
      await database.pool.query('UPDATE projection_stats.dead_letters SET value = $1', [
        record.value,
      ]);
      expect(await redriven(stats)).to.deep.equal({
        applied: 1,
        repeats: 1,
        remaining: 0,
      });
      const { links, high_water_marks: highWaterMarks } = await dump(
        database.pool,
        'projection_stats',
      );
      expect(links?.map((row) => row.slice(0, 9))).to.deep.equal(['(a,"",1,0', '(b,"",1,0']);
      // What is past the redriven event stays past it.
      expect(highWaterMarks?.[0]).to.match(/,2,2026-05-20\)$/);
    });

    it('are all redriven, in several transactions', async () => {
      const { fault, projection } = withFault('code-0');
      const failing: typeof redirects = {
        ...projection,
        async apply(tx, into, events, partition) {
          if (!fault.mended) throw new Error('everything fails');
          await redirects.apply(tx, into, events, partition);
        },
      };
      const events = Array.from({ length: 250 }, (_, index) => created(`code-${index}`));
      await feed(database.pool, failing).records(links, events.map(recordOf));
      expect(await readDeadLetters()).to.have.length(250);
      fault.mended = true;
      expect(await redriven(failing)).to.include({
        applied: 250,
        remaining: 0,
      });
      expect(await codes()).to.have.length(250);
    });

    it('keep their order while the projector adds events of their subject', async () => {
      const { fault, projection } = withFault('b');
      const following = feed(database.pool, projection);
      await following.records(links, [recordOf(created('b'))]);
      fault.mended = true;
      for (let sequence = 2; sequence < 40; sequence += 2) {
        const pair = [blocked('b', sequence), unblocked('b', sequence + 1)];
        await Promise.all([following.records(links, pair.map(recordOf)), redriven(projection)]);
      }
      expect(await redriven(projection)).to.include({ remaining: 0 });
      const { links: rows } = await dump(database.pool, schema, ['links']);
      expect(rows?.[0]).to.match(/^\(b,active,,.*,39,[tf]?,/);
    });

    it('are unchanged when PostgreSQL fails', async () => {
      await live.records(links, [recordOf(poisonous('b'))]);
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

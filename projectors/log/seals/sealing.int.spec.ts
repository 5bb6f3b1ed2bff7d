import { expect } from 'chai';
import { createLogger } from '../../../ops/platform/logging.js';
import { ForeignPosition, type EventLog } from '../../../ops/event-log/port.js';
import { createPool } from '../../../ops/platform/postgres/pool.js';
import { extendChain, genesisOf } from './chain.js';
import type { SealKey } from './seal-key.js';
import { eventually, rejection } from '../../../ops/test/support/waiting.js';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import { allSealed, newSealKey, sealAll } from '../../../ops/test/support/sealing.js';
import { startSealing, type Sealing } from './sealing.js';
import { openTestLog } from '../../../ops/test/support/node.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';

const logger = createLogger('silent');
const visits = topics.visits.name;
/** Nothing is signed because of the time. */
const patient = { records: 10, ms: 3_600_000 };

describe('seals: sealing', () => {
  const database = databaseFixture('sealing', { per: 'test' });
  let log: EventLog;
  let signer: SealKey;
  let running: Sealing[];
  let sequence: number;

  beforeEach(async () => {
    running = [];
    sequence = 0;
    ({ log } = await openTestLog({ pool: database.pool, url: database.url, logger }));
    signer = await newSealKey(database.pool);
  });

  afterEach(async () => {
    for (const sealing of running) await sealing.stop();
    await log.close();
  });

  const start = async (pace = patient, pool = database.pool, from = log): Promise<Sealing> => {
    const sealing = await startSealing({ pool, log: from, logger, signer, pace });
    running.push(sealing);
    return sealing;
  };

  const visit = async (records: number): Promise<void> => {
    const added = Array.from({ length: records }, () =>
      recordOf(spooledVisit('a', { sequence: (sequence += 1) })),
    );
    await log.append(visits, added);
  };

  const chainHas = (records: number): Promise<void> =>
    eventually(`the chain has ${records} records`, async () => {
      const { rows } = await database.pool.query<{ sum: number }>(
        'SELECT sum(next_offset)::int AS sum FROM seals.chains',
      );
      return rows[0]?.sum === records;
    });

  /** The hash of the chain over the records of the visits' partition below an offset. */
  const hashAt = async (to: number): Promise<Buffer> => {
    const partition = (await log.ranges(visits)).find(({ next }) => next > 0)?.partition ?? 0;
    let hash = genesisOf(log.logId(visits), { topic: visits, partition });
    for await (const { records } of log.read(visits, partition, 0, to))
      ({ hash } = extendChain({ topic: visits, partition }, hash, records));
    return hash;
  };

  /** The checkpoints, whose hashes are those of the log. */
  const checkpoints = async () => {
    const { rows } = await database.pool.query<{ to: number; hash: Buffer; records: number }>(
      `SELECT next_offset AS to, hash, length(fingerprints) / 8 AS records
       FROM seals.checkpoints ORDER BY 1`,
    );
    for (const { to, hash } of rows) expect(hash).to.deep.equal(await hashAt(to));
    return rows;
  };
  const offsets = async () => (await checkpoints()).map(({ to }) => to);
  const sizes = async () => (await checkpoints()).map(({ records }) => records);

  it('signs when there are enough records, and defers the rest', async () => {
    await visit(25);
    await start();
    await chainHas(25);
    expect(await offsets()).to.deep.equal([25]);
    await visit(4);
    await chainHas(29);
    expect(await offsets()).to.deep.equal([25]);
  });

  it('signs a backlog in large pieces', async () => {
    await visit(2_500);
    await start();
    await chainHas(2_500);
    expect(await offsets()).to.deep.equal([1_000, 2_500]);
  });

  for (const [title, clock] of [
    ['also those of a stopped projector', ''],
    ['also while PostgreSQL’s clock was hours ahead', `+ interval '2 hours'`],
  ] as const) {
    it(`signs records that have waited long enough, ${title}`, async () => {
      const first = await start();
      await visit(3);
      await chainHas(3);
      await first.stop();
      expect(await offsets()).to.deep.equal([]);
      await database.pool.query(`UPDATE seals.chains SET tail_since = tail_since ${clock}`);
      await start({ records: 1_000, ms: 50 });
      await eventually('it is signed', async () => (await offsets()).length === 1);
      await visit(2);
      await eventually('it is signed', async () => (await offsets()).length === 2);
      expect(await offsets()).to.deep.equal([3, 5]);
    });
  }

  const sealEach = async (visitsEach: readonly number[], records: number): Promise<void> => {
    for (const visitsNow of visitsEach) {
      await visit(visitsNow);
      await sealAll({ pool: database.pool, log, signer }, { records, ms: 10 });
    }
  };

  it('merges small checkpoints', async () => {
    await sealEach(new Array<number>(20).fill(1), 8);
    expect(await sizes()).to.deep.equal([8, 8, 4]);
    expect(await offsets()).to.deep.equal([8, 16, 20]);
  });

  it('does not merge a checkpoint into a smaller one, or beyond the maximum size', async () => {
    await sealEach([5, 2, 1, 1, 6], 20);
    // 2 and 1 stay apart; 2, 1 and 1 join, but not 5 with 4; 6 takes over 4 and then 5.
    expect(await sizes()).to.deep.equal([15]);
    await sealEach([6], 20);
    expect(await sizes()).to.deep.equal([15, 6]);
  });

  it('does not merge an altered checkpoint, because a new signature would confirm it', async () => {
    await sealEach([2], 20);
    await database.pool.query(
      `UPDATE seals.checkpoints SET fingerprints = decode(repeat('00', 16), 'hex')`,
    );
    await sealEach([2, 2], 20);
    expect(await sizes()).to.deep.equal([2, 4]);
  });

  it('does not merge checkpoints of another key', async () => {
    await sealEach([2], 20);
    signer = await newSealKey(database.pool);
    await sealEach([2, 2], 20);
    expect(await sizes()).to.deep.equal([2, 4]);
  });

  it('maintains one chain with several projectors and broken connections', async () => {
    const victims = createPool({ url: database.url, name: 'victims', max: 4, logger });
    const { log: theirs } = await openTestLog({ pool: victims, url: database.url, logger });
    await start({ records: 7, ms: 100 });
    const second = await start({ records: 7, ms: 100 }, victims, theirs);
    const third = await start({ records: 5, ms: 100 });
    for (let round = 1; round <= 60; round += 1) {
      await visit(1 + (round % 4));
      if (round % 15 === 0) {
        await database.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND application_name = 'linklog victims'`,
        );
      }
      if (round === 30) await third.stop();
    }
    await allSealed(database.pool, log);
    await second.stop();
    await theirs.close();
    await victims.end();
    expect((await offsets()).at(-1)).to.equal(sequence);
  });

  it('refuses the chains of another log, and a truncated log', async () => {
    await visit(3);
    await sealAll({ pool: database.pool, log, signer });
    const sealing = await start();
    const failed = rejection(sealing.failed);
    await database.pool.query(`UPDATE seals.chains SET log_id = 'another' WHERE topic = $1`, [
      visits,
    ]);
    await visit(1);
    expect(await failed).to.be.instanceOf(ForeignPosition);
    expect(await rejection(start())).to.be.instanceOf(ForeignPosition);
    await database.pool.query(
      'UPDATE seals.chains SET log_id = $1, next_offset = 99 WHERE topic = $2',
      [log.logId(visits), visits],
    );
    const cut = await rejection(start());
    expect(cut)
      .to.be.instanceOf(ForeignPosition)
      .and.match(/was the log cut/);
  });
});

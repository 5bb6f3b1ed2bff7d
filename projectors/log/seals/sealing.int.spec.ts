import { expect } from 'chai';
import { createLogger } from '../../../ops/platform/logging.js';
import { ForeignPosition, type EventLog } from '../../../ops/event-log/port.js';
import { createPool } from '../../../ops/platform/postgres/pool.js';
import { extendChain, genesisOf } from './chain.js';
import type { SealKey } from './seal-key.js';
import { eventually, rejection } from '../../../ops/test/support/waiting.js';
import { topicNames, topics } from '../../../schemas/events/topics.js';
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
    const added = Array.from({ length: records }, () => {
      sequence += 1;
      return recordOf(spooledVisit('a', { sequence }));
    });
    await log.append(visits, added);
  };

  /** Of the one partition that all visits of a code are in. */
  const partitionOfVisits = async (): Promise<number> =>
    (await log.ranges(visits)).find(({ next }) => next > 0)?.partition ?? 0;

  const chained = async (): Promise<number> => {
    const { rows } = await database.pool.query<{ sum: number }>(
      'SELECT sum(next_offset)::int AS sum FROM seals.chains',
    );
    return rows[0]?.sum ?? 0;
  };

  const checkpoints = async (): Promise<readonly { nextOffset: number; hash: Buffer }[]> => {
    const { rows } = await database.pool.query<{ nextOffset: number; hash: Buffer }>(
      'SELECT next_offset AS "nextOffset", hash FROM seals.checkpoints ORDER BY 1',
    );
    return rows;
  };

  /** The chain's hash over the partition's records below an offset, made anew. */
  const hashAt = async (to: number): Promise<Buffer> => {
    const topicPartition = { topic: visits, partition: await partitionOfVisits() };
    let hash = genesisOf(log.logId(visits), topicPartition);
    for await (const { records } of log.read(visits, topicPartition.partition, 0, to)) {
      ({ hash } = extendChain(topicPartition, hash, records));
    }
    return hash;
  };

  it('signs when there are enough records, and defers the rest', async () => {
    await visit(25);
    const sealing = await start();
    await eventually('the chain has all', async () => (await chained()) === 25);
    expect((await checkpoints()).map(({ nextOffset }) => nextOffset)).to.deep.equal([25]);
    await visit(4);
    await eventually('the chain has all', async () => (await chained()) === 29);
    expect(await checkpoints()).to.have.length(1);
    await sealing.stop();
  });

  it('signs a backlog in large pieces', async () => {
    await visit(2_500);
    await start();
    await eventually('the chain has all', async () => (await chained()) === 2_500);
    expect((await checkpoints()).map(({ nextOffset }) => nextOffset)).to.deep.equal([1_000, 2_500]);
    expect((await checkpoints())[1]?.hash).to.deep.equal(await hashAt(2_500));
  });

  it('signs records that have waited long enough, also those of a stopped projector', async () => {
    const first = await start();
    await visit(3);
    await eventually('the chain has all', async () => (await chained()) === 3);
    await first.stop();
    expect(await checkpoints()).to.deep.equal([]);
    await start({ records: 1_000, ms: 50 });
    await eventually('it is signed', async () => (await checkpoints()).length === 1);
    expect((await checkpoints())[0]?.hash).to.deep.equal(await hashAt(3));
    await visit(2);
    await eventually('it is signed', async () => (await checkpoints()).length === 2);
    expect((await checkpoints())[1]?.hash).to.deep.equal(await hashAt(5));
  });

  interface StoredRow {
    readonly nextOffset: number;
    readonly hash: Buffer;
    readonly records: number;
  }

  const stored = async (): Promise<readonly StoredRow[]> => {
    const { rows } = await database.pool.query<StoredRow>(
      `SELECT next_offset AS "nextOffset", hash, length(fingerprints) / 8 AS records
       FROM seals.checkpoints ORDER BY 1`,
    );
    return rows;
  };

  const sealEach = async (visitsEach: readonly number[], records: number): Promise<void> => {
    for (const visitsNow of visitsEach) {
      await visit(visitsNow);
      await sealAll({ pool: database.pool, log, signer }, { records, ms: 10 });
    }
  };

  it('merges small checkpoints', async () => {
    await sealEach(new Array<number>(20).fill(1), 8);
    const seals = await stored();
    expect(seals.map(({ records }) => records)).to.deep.equal([8, 8, 4]);
    expect(seals.map(({ nextOffset }) => nextOffset)).to.deep.equal([8, 16, 20]);
    for (const { nextOffset, hash } of seals) expect(hash).to.deep.equal(await hashAt(nextOffset));
  });

  it('does not merge a checkpoint into a smaller one, or beyond the maximum size', async () => {
    await sealEach([5, 2, 1, 1, 6], 20);
    // 2 and 1 stay apart; 2, 1 and 1 join, but not 5 with 4; 6 takes over 4 and then 5.
    expect((await stored()).map(({ records }) => records)).to.deep.equal([15]);
    await sealEach([6], 20);
    expect((await stored()).map(({ records }) => records)).to.deep.equal([15, 6]);
  });

  it('does not merge an altered checkpoint, because a new signature would confirm it', async () => {
    await sealEach([2], 20);
    await database.pool.query(
      `UPDATE seals.checkpoints SET fingerprints = decode(repeat('00', 16), 'hex')`,
    );
    await sealEach([2, 2], 20);
    expect((await stored()).map(({ records }) => records)).to.deep.equal([2, 4]);
  });

  it('does not merge checkpoints of another key', async () => {
    await sealEach([2], 20);
    signer = await newSealKey(database.pool);
    await sealEach([2, 2], 20);
    expect((await stored()).map(({ records }) => records)).to.deep.equal([2, 4]);
  });

  it('signs records that were appended while PostgreSQL’s clock was hours ahead', async () => {
    const first = await start();
    await visit(3);
    await eventually('the chain has all', async () => (await chained()) === 3);
    await first.stop();
    await database.pool.query(
      `UPDATE seals.chains SET tail_since = tail_since + interval '2 hours'`,
    );
    await start({ records: 1_000, ms: 50 });
    await eventually('it is signed', async () => (await checkpoints()).length === 1);
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
    const seals = await checkpoints();
    expect(seals.at(-1)?.nextOffset).to.equal(sequence);
    for (const { nextOffset, hash } of seals) expect(hash).to.deep.equal(await hashAt(nextOffset));
  });

  it('maintains one chain for each partition', async () => {
    const sealings = [await start(), await start()];
    await Promise.all(sealings.map((sealing) => sealing.stop()));
    const { rows } = await database.pool.query('SELECT topic FROM seals.chains');
    const partitions = await Promise.all(topicNames.map((topic) => log.ranges(topic)));
    expect(rows).to.have.length(partitions.flat().length);
  });

  it('starts while another projector seals new records', async () => {
    await visit(1);
    await sealAll({ pool: database.pool, log, signer });
    const busy: EventLog = {
      ...log,
      async ranges(topic) {
        const ranges = await log.ranges(topic);
        await visit(1);
        await sealAll({ pool: database.pool, log, signer });
        return ranges;
      },
    };
    await start(patient, database.pool, busy);
    expect(await chained()).to.be.at.least(1 + topicNames.length);
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
    await database.pool.query('UPDATE seals.chains SET log_id = $1 WHERE topic = $2', [
      log.logId(visits),
      visits,
    ]);
    await database.pool.query('UPDATE seals.chains SET next_offset = 99 WHERE topic = $1', [
      visits,
    ]);
    expect(await rejection(start()))
      .to.be.instanceOf(ForeignPosition)
      .with.property('message')
      .that.includes('was the log cut');
  });
});

import { expect } from 'chai';
import { rm } from 'node:fs/promises';
import pino from 'pino';
import { createLogger } from '../../../ops/platform/logging.js';
import { ForeignPosition, type EventLog } from '../../../ops/event-log/port.js';
import { createPool } from '../../../ops/platform/postgres/pool.js';
import { extendChain, genesisOf } from './chain.js';
import type { SealKey } from './seal-key.js';
import { eventually, rejection } from '../../../ops/test/support/waiting.js';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import {
  allSealed,
  alterRecord,
  forgeChain,
  newSealKey,
  sealAll,
} from '../../../ops/test/support/sealing.js';
import { verifySeals } from '../../../ops/tools/audit/seals/verify.js';
import { rememberedIn } from './seal-memory.js';
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
  let lines: string[];
  let sequence: number;

  beforeEach(async () => {
    [running, lines, sequence] = [[], [], 0];
    ({ log } = await openTestLog({ pool: database.pool, url: database.url, logger }));
    signer = await newSealKey(database.pool);
  });

  afterEach(async () => {
    for (const sealing of running) await sealing.stop();
    await log.close();
  });

  const start = async (pace = patient, pool = database.pool, from = log): Promise<Sealing> => {
    const collecting = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const sealing = await startSealing({ pool, log: from, logger: collecting, signer, pace });
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

  /** A writer of PostgreSQL without the private key tries to get a forged log sealed. */
  describe('a forged log', () => {
    let partition: number;

    beforeEach(async () => {
      await visit(1);
      partition = (await log.ranges(visits)).find(({ next }) => next > 0)?.partition ?? 0;
    });

    const startFast = () => start({ records: 5, ms: 50 });

    /** Seals visits in several steps. The first visit exists already. */
    const sealSteps = async (...steps: readonly number[]): Promise<Sealing> => {
      const sealing = await startFast();
      for (const records of steps) {
        await visit(records);
        await allSealed(database.pool, log);
      }
      return sealing;
    };

    const run = async (statement: string, ...values: readonly unknown[]): Promise<void> => {
      const id = `(SELECT id FROM seals.chains WHERE topic = '${visits}' AND partition = ${partition})`;
      await database.pool.query(statement.replaceAll('CHAIN', id), [...values]);
    };

    const alter = (offset: number): Promise<void> =>
      alterRecord(database.pool, { topic: visits, partition, offset }, (value) =>
        value.replace('2026', '2025'),
      );

    const putChain = (from: number, to: number): Promise<void> =>
      forgeChain(database.pool, log, { topic: visits, partition }, { from, to });

    const verified = async (): Promise<boolean> => {
      const keys = new Map([[signer.keyId, signer.publicKey]]);
      const remembered = await rememberedIn(signer.memory.folder);
      const { pool } = database;
      return (await verifySeals({ pool, log, keys, known: [], remembered })).isIntact;
    };

    /** The offset of the newest checkpoint in the database, or 0. */
    const sealedTo = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ to: number }>(
        'SELECT coalesce(max(next_offset), 0)::int AS to FROM seals.checkpoints',
      );
      return rows[0]?.to ?? 0;
    };

    const isNoticed = async (sealing: Sealing, sealed: number): Promise<void> => {
      const other = topics.links.name;
      await visit(21);
      await log.append(other, [recordOf(spooledVisit('b', { sequence: 1 }))]);
      await eventually('it is noticed', () => sealing.brokenChains().size === 1);
      expect([...sealing.brokenChains().values()][0]).to.have.property('code', 'CHAIN_BROKEN');
      // Other partitions are sealed meanwhile.
      await eventually('the others are sealed', async () => {
        const { rows } = await database.pool.query(
          'SELECT FROM seals.checkpoints k JOIN seals.chains c ON c.id = k.chain_id WHERE topic = $1',
          [other],
        );
        return rows.length === 1;
      });
      await run('DELETE FROM seals.checkpoints WHERE chain_id <> CHAIN');
      expect(await sealedTo()).to.equal(sealed);
      expect(lines.filter((line) => line.includes('does not continue'))).to.have.length(1);
      expect(await verified()).to.equal(false);
    };

    it('is not sealed by a projector that runs', async () => {
      const sealing = await sealSteps(9, 10);
      await alter(3);
      await putChain(0, 20);
      await isNoticed(sealing, 0);
    });

    for (const [title, offset, from, to] of [
      ['is not sealed by a projector that starts', 3, 0, 20],
      ['is not sealed on top of an older genuine checkpoint', 15, 10, 20],
      ['is not sealed after a reset of the chain, which recomputes it', 15, 10, 10],
    ] as const) {
      it(title, async () => {
        await (await sealSteps(9, 10)).stop();
        await alter(offset);
        await putChain(from, to);
        await isNoticed(await startFast(), from);
      });
    }

    it('is not sealed when it ends before the last checkpoint', async () => {
      await (await sealSteps(9, 10)).stop();
      await run(`UPDATE log.records SET records = 2,
                   value = array_to_string((string_to_array(value, E'\\n'))[:2], E'\\n')
                 WHERE first_offset = 10`);
      await run('UPDATE log.partitions SET next_offset = 12 WHERE next_offset = 20');
      await putChain(10, 12);
      await isNoticed(await startFast(), 10);
    });

    it('is not sealed after PostgreSQL stored a signature and reported a failed transaction', async () => {
      const sealing = await sealSteps(9);
      await run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                 $$ BEGIN RAISE 'no'; END $$`);
      await run(`CREATE TRIGGER refuse BEFORE INSERT ON seals.checkpoints
                 FOR EACH ROW EXECUTE FUNCTION refuse()`);
      await visit(10);
      await eventually('it was signed', async () =>
        (await rememberedIn(signer.memory.folder)).some(({ nextOffset }) => nextOffset === 20),
      );
      await sealing.stop();
      await run('DROP TRIGGER refuse ON seals.checkpoints');
      await alter(15);
      await putChain(10, 20);
      await isNoticed(await startFast(), 10);
    });

    it('is not sealed as that of another log', async () => {
      await (await sealSteps(9)).stop();
      const seal = (await rememberedIn(signer.memory.folder)).find(
        (seal) => seal.nextOffset === 10,
      );
      if (!seal) throw new Error('It was sealed');
      await signer.memory.remember(signer.sign({ ...seal, logId: 'another' }));
      const sealing = await startFast();
      await visit(1);
      await eventually('it is noticed', () => sealing.brokenChains().size === 1);
      expect(lines.join()).to.include('is not what the key has signed of this log');
    });

    describe('and a genuine log', () => {
      const goesOn = async (): Promise<void> => {
        await visit(7);
        await allSealed(database.pool, log);
        expect(await sealedTo()).to.equal(sequence);
        expect(await verified()).to.equal(true);
        expect(running.flatMap((sealing) => [...sealing.brokenChains()])).to.deep.equal([]);
      };

      it('is sealed after any stop of a projector', async () => {
        for (const count of [3, 10, 1]) await (await sealSteps(count)).stop();
        await startFast();
        await goesOn();
      });

      it('is sealed after a crash of PostgreSQL has undone the last checkpoints', async () => {
        await (await sealSteps(9)).stop();
        await run('CREATE TABLE old_checkpoints AS TABLE seals.checkpoints');
        await (await sealSteps(10)).stop();
        await run('DELETE FROM seals.checkpoints');
        await run('INSERT INTO seals.checkpoints SELECT * FROM old_checkpoints');
        await putChain(10, 12);
        await startFast();
        await goesOn();
      });

      it('is sealed from the checkpoint in the database when the state file is lost, which is logged', async () => {
        await (await sealSteps(9, 10)).stop();
        for (const { topic: name, partition: number } of await rememberedIn(signer.memory.folder)) {
          await rm(`${signer.memory.folder}/${name}-${number}.json`);
        }
        await startFast();
        await goesOn();
        expect(
          lines.filter((line) => line.includes('state file with the last seal is missing')),
        ).to.have.length(1);
      });
    });
  });
});

import { expect } from 'chai';
import { rm } from 'node:fs/promises';
import pino from 'pino';
import { createLogger } from '../../../ops/platform/logging.js';
import type { EventLog } from '../../../ops/event-log/port.js';
import { verifySeals } from '../../../ops/tools/audit/seals/verify.js';
import { openTestLog } from '../../../ops/test/support/node.js';
import {
  allSealed,
  alterRecord,
  forgeChain,
  newSealKey,
} from '../../../ops/test/support/sealing.js';
import { eventually } from '../../../ops/test/support/waiting.js';
import { topics } from '../../../schemas/events/topics.js';
import { recordOf, spooledVisit } from '../../../schemas/testing/events.js';
import type { SealKey } from './seal-key.js';
import { rememberedIn } from './seal-memory.js';
import { startSealing, type Sealing } from './sealing.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';

const topic = topics.visits.name;

/** A writer of PostgreSQL without the private key tries to get a forged log sealed. */
describe('seals: a forged log', () => {
  const database = databaseFixture('forgery', { per: 'test' });
  let log: EventLog;
  let key: SealKey;
  let running: Sealing[];
  let lines: string[];
  let sequence: number;
  let partition: number;

  beforeEach(async () => {
    [running, lines, sequence] = [[], [], 0];
    const logger = createLogger('silent');
    ({ log } = await openTestLog({ pool: database.pool, url: database.url, logger }));
    key = await newSealKey(database.pool);
    await visit(1);
    partition = (await log.ranges(topic)).find(({ next }) => next > 0)?.partition ?? 0;
  });

  afterEach(async () => {
    for (const sealing of running) await sealing.stop();
    await log.close();
  });

  const visit = async (records: number): Promise<void> => {
    const added = Array.from({ length: records }, () =>
      recordOf(spooledVisit('a', { sequence: (sequence += 1) })),
    );
    await log.append(topic, added);
  };

  const start = async (): Promise<Sealing> => {
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const pace = { records: 5, ms: 50 };
    const sealing = await startSealing({ pool: database.pool, log, logger, signer: key, pace });
    running.push(sealing);
    return sealing;
  };

  /** Seals visits in several steps. The first visit exists already. */
  const sealEach = async (...visits: readonly number[]): Promise<Sealing> => {
    const sealing = await start();
    for (const records of visits) {
      await visit(records);
      await allSealed(database.pool, log);
    }
    return sealing;
  };

  const run = async (statement: string, ...values: readonly unknown[]): Promise<void> => {
    const id = `(SELECT id FROM seals.chains WHERE topic = '${topic}' AND partition = ${partition})`;
    await database.pool.query(statement.replaceAll('CHAIN', id), [...values]);
  };

  const alter = (offset: number): Promise<void> =>
    alterRecord(database.pool, { topic, partition, offset }, (value) =>
      value.replace('2026', '2025'),
    );

  const putChain = (from: number, to: number): Promise<void> =>
    forgeChain(database.pool, log, { topic, partition }, { from, to });

  const verified = async (): Promise<boolean> => {
    const keys = new Map([[key.keyId, key.publicKey]]);
    const remembered = await rememberedIn(key.memory.folder);
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
    const sealing = await sealEach(9, 10);
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
      await (await sealEach(9, 10)).stop();
      await alter(offset);
      await putChain(from, to);
      await isNoticed(await start(), from);
    });
  }

  it('is not sealed when it ends before the last checkpoint', async () => {
    await (await sealEach(9, 10)).stop();
    await run(`UPDATE log.records SET records = 2,
                 value = array_to_string((string_to_array(value, E'\\n'))[:2], E'\\n')
               WHERE first_offset = 10`);
    await run('UPDATE log.partitions SET next_offset = 12 WHERE next_offset = 20');
    await putChain(10, 12);
    await isNoticed(await start(), 10);
  });

  it('is not sealed after PostgreSQL stored a signature and reported a failed transaction', async () => {
    const sealing = await sealEach(9);
    await run(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
               $$ BEGIN RAISE 'no'; END $$`);
    await run(`CREATE TRIGGER refuse BEFORE INSERT ON seals.checkpoints
               FOR EACH ROW EXECUTE FUNCTION refuse()`);
    await visit(10);
    await eventually('it was signed', async () =>
      (await rememberedIn(key.memory.folder)).some(({ nextOffset }) => nextOffset === 20),
    );
    await sealing.stop();
    await run('DROP TRIGGER refuse ON seals.checkpoints');
    await alter(15);
    await putChain(10, 20);
    await isNoticed(await start(), 10);
  });

  it('is not sealed as that of another log', async () => {
    await (await sealEach(9)).stop();
    const seal = (await rememberedIn(key.memory.folder)).find((seal) => seal.nextOffset === 10);
    if (!seal) throw new Error('It was sealed');
    await key.memory.remember(key.sign({ ...seal, logId: 'another' }));
    const sealing = await start();
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
      for (const visits of [3, 10, 1]) await (await sealEach(visits)).stop();
      await start();
      await goesOn();
    });

    it('is sealed after a crash of PostgreSQL has undone the last checkpoints', async () => {
      await (await sealEach(9)).stop();
      await run('CREATE TABLE old_checkpoints AS TABLE seals.checkpoints');
      await (await sealEach(10)).stop();
      await run('DELETE FROM seals.checkpoints');
      await run('INSERT INTO seals.checkpoints SELECT * FROM old_checkpoints');
      await putChain(10, 12);
      await start();
      await goesOn();
    });

    it('is sealed from the checkpoint in the database when the state file is lost, which is logged', async () => {
      await (await sealEach(9, 10)).stop();
      for (const { topic: name, partition: number } of await rememberedIn(key.memory.folder)) {
        await rm(`${key.memory.folder}/${name}-${number}.json`);
      }
      await start();
      await goesOn();
      expect(
        lines.filter((line) => line.includes('state file with the last seal is missing')),
      ).to.have.length(1);
    });
  });
});

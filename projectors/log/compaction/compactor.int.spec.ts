import { expect } from 'chai';
import pino from 'pino';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../../../ops/platform/logging.js';
import type { EventLog, LogRecord, NewRecord } from '../../../ops/event-log/port.js';
import { recordsOf, codeIn, eventIn } from '../../../ops/test/conformance/event-log/events.js';
import { execute, transaction } from '../../../ops/platform/postgres/pool.js';
import type { Outbox } from '../../../ops/event-log/outbox/port.js';
import { openTestLog } from '../../../ops/test/support/node.js';
import { alterRecord, newSealKey, sealAll, splitRows } from '../../../ops/test/support/sealing.js';
import { eventually } from '../../../ops/test/support/waiting.js';
import { verifySeals } from '../../../ops/tools/audit/seals/verify.js';
import { topics, type TopicName } from '../../../schemas/events/topics.js';
import { created } from '../../../schemas/testing/events.js';
import type { SealKey } from '../seals/seal-key.js';
import { startCompactor, type Compactor } from './compactor.js';
import { databaseFixture } from '../../../ops/test/support/fixtures.js';

const visits = topics.visits.name;
const partition = 5;
const code = codeIn(visits, partition);
const topicPartition = { topic: visits, partition };

describe('compaction of the embedded log', () => {
  const database = databaseFixture('compaction', { per: 'test' });
  let log: EventLog;
  let outbox: Outbox;
  let signer: SealKey;
  let running: Compactor[];
  let lines: string[];

  beforeEach(async () => {
    [running, lines] = [[], []];
    const { pool, url } = database;
    ({ log, outbox } = await openTestLog({ pool, url, logger: createLogger('silent') }));
    signer = await newSealKey(pool);
  });

  afterEach(async () => {
    for (const compactor of running) await compactor.stop();
    await log.close();
  });

  const seal = (): Promise<void> =>
    sealAll({ pool: database.pool, log, signer }, { records: 1_000, ms: 20 });

  /** Appends visits, each in its own row, the format of old logs. */
  const append = async (records: number | readonly NewRecord[]): Promise<void> => {
    const added = typeof records === 'number' ? recordsOf(visits, code, records) : records;
    await log.append(visits, added);
    await splitRows(database.pool);
  };

  /** Appends visits, with one row for each number. */
  const appendRows = async (...rows: readonly number[]): Promise<void> => {
    for (const records of rows) await log.append(visits, recordsOf(visits, code, records));
  };

  const start = (): Compactor => {
    const { pool } = database;
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(line) });
    const pace = { everyMs: 10, minRecords: 100, keepMs: 0 };
    const compactor = startCompactor({ pool, log, signer, logger, pace });
    running.push(compactor);
    return compactor;
  };

  const stop = async (): Promise<void> => {
    for (const compactor of running) await compactor.stop();
    running = [];
  };

  /** Resolves when the compactor has checked the log, and this number of records must wait. */
  const waitingIs = (compactor: Compactor, waiting: number): Promise<void> =>
    eventually(`${waiting} wait`, () => compactor.progress()?.waiting === waiting);

  const compact = async (waiting = 0): Promise<void> => {
    await waitingIs(start(), waiting);
    await stop();
    expect(lines).to.deep.equal([]);
  };

  const readAll = async (): Promise<readonly LogRecord[]> => {
    const { next = 0 } = (await log.ranges(visits))[partition] ?? {};
    const records: LogRecord[] = [];
    for await (const batch of log.read(visits, partition, 0, next)) records.push(...batch.records);
    return records;
  };

  /** The numbers of records in the rows of a table, in order. */
  const rowsIn = async (
    table: 'records' | 'segments',
    topic: TopicName = visits,
  ): Promise<readonly number[]> => {
    const { rows } = await database.pool.query<{ records: number }>(
      `SELECT records FROM log.${table} JOIN log.partitions ON id = partition_id
       WHERE topic = $1 ORDER BY partition, first_offset`,
      [topic],
    );
    return rows.map(({ records }) => records);
  };

  const verified = async (): Promise<boolean> => {
    const keys = new Map([[signer.keyId, signer.publicKey]]);
    return (await verifySeals({ pool: database.pool, log, keys, known: [] })).isIntact;
  };

  /** Expects that the work does not change what readers see. */
  const expectUnchanged = async (work: () => Promise<unknown>): Promise<void> => {
    const before = await readAll();
    await work();
    expect(await readAll()).to.deep.equal(before);
    expect(await verified()).to.equal(true);
  };

  it('puts sealed visits together, up to 1,000 a row; readers see what they saw', async () => {
    await append(2_345);
    await seal();
    expect(await rowsIn('records')).to.have.lengthOf(2_345);
    await expectUnchanged(() => compact());
    expect(await rowsIn('records')).to.deep.equal([]);
    expect(await rowsIn('segments')).to.deep.equal([1_000, 1_000, 345]);
  });

  it('extends the last segment when there are enough records', async () => {
    await append(150);
    await seal();
    await compact();
    await append(99);
    await seal();
    await compact(99);
    expect(await rowsIn('segments')).to.deep.equal([150]);
    await append(10);
    await seal();
    await compact();
    expect(await rowsIn('segments')).to.deep.equal([259]);
    await append(1_000);
    await seal();
    await expectUnchanged(() => compact());
    expect(await rowsIn('segments')).to.deep.equal([1_000, 259]);
  });

  it('moves large rows unchanged, and packs small ones between them', async () => {
    await appendRows(300, 30, 30, 400, 1, 100, 40);
    await seal();
    const sizes = async (table: 'records' | 'segments'): Promise<readonly unknown[]> => {
      const { rows } = await database.pool.query<Record<string, unknown>>(
        `SELECT pg_column_size(value) FROM log.${table} WHERE records >= 100 ORDER BY first_offset`,
      );
      return rows;
    };
    const bytes = await sizes('records');
    await expectUnchanged(() => compact());
    expect(await rowsIn('segments')).to.deep.equal([300, 60, 400, 1, 100, 40]);
    expect(await rowsIn('records')).to.deep.equal([]);
    expect(await sizes('segments')).to.deep.equal(bytes);

    await appendRows(60, 500);
    await seal();
    await expectUnchanged(() => compact());
    expect(await rowsIn('segments')).to.deep.equal([300, 60, 400, 1, 100, 100, 500]);
  });

  it('moves an altered large row unchanged, so that an audit detects it', async () => {
    await appendRows(300);
    await seal();
    await alterRecord(database.pool, { ...topicPartition, offset: 200 }, (value) =>
      value.replace('"bot":false', '"bot":true'),
    );
    await compact();
    expect(await rowsIn('segments')).to.deep.equal([300]);
    expect(await verified()).to.equal(false);
  });

  it('does not compact records without a checkpoint', async () => {
    await append(200);
    await seal();
    await appendRows(300);
    await compact(300);
    expect(await rowsIn('segments')).to.deep.equal([200]);
    expect(await rowsIn('records')).to.deep.equal([300]);
  });

  it('compacts visits of the ledger, but not records that are not events', async () => {
    await append(60);
    await transaction(database.pool, (tx) =>
      execute(tx, outbox.record([eventIn(visits, code, 1)])),
    );
    await append(60);
    await append([{ key: code, value: 'no\nevent' }]);
    await append(60);
    await seal();
    await expectUnchanged(() => compact());
    expect(await rowsIn('segments')).to.deep.equal([121, 1, 60]);
  });

  it('compacts records that a retired key has sealed, with the chain from its start', async () => {
    await append(500);
    await seal();
    signer = await newSealKey(database.pool);
    await append(1);
    await seal();
    await compact();
    expect(await rowsIn('segments')).to.deep.equal([501]);
  });

  for (const [what, change] of [
    ['altered', (value: string) => value.replace('"bot":false', '"bot":true')],
    ['split', () => 'a\nb'],
  ] as const) {
    it(`does not compact a partition with a record that was ${what}, and reports it`, async () => {
      await append(300);
      await seal();
      await compact();
      await append(300);
      await seal();
      await alterRecord(database.pool, { ...topicPartition, offset: 450 }, change);
      await database.pool.query('UPDATE log.records SET key = NULL WHERE first_offset = 450');
      const before = await rowsIn('records');
      const compactor = start();
      await eventually('the alarm is given', () => compactor.brokenChains().size === 1);
      await sleep(50);
      expect([...compactor.brokenChains().keys()]).to.deep.equal([`${visits}/${partition}`]);
      expect(lines.filter((line) => line.includes('not what was sealed'))).to.have.lengthOf(1);
      expect(await rowsIn('segments')).to.deep.equal([300]);
      expect(await rowsIn('records')).to.deep.equal(before);
    });
  }

  it('packs link events that every projection has applied, unless one was set aside', async () => {
    const { pool } = database;
    const links = topics.links.name;
    const codes = Array.from({ length: 300 }, () => codeIn(links, partition));
    await transaction(pool, (tx) => execute(tx, outbox.record(codes.map((code) => created(code)))));
    await seal();
    const rows = () => rowsIn('segments', links);
    const applied = async (offset: number, ...names: readonly string[]): Promise<void> => {
      for (const name of names) {
        await pool.query(
          `INSERT INTO projection_${name}.checkpoints VALUES ($1, $2, $3, $4)
           ON CONFLICT (topic, partition) DO UPDATE SET next_offset = $4`,
          [links, partition, log.logId(links), offset],
        );
      }
    };
    await applied(300, 'redirects', 'quotas', 'stats');
    await applied(200, 'history');
    await compact(100);
    expect(await rows()).to.deep.equal([200]);
    // Readers of the history add these.
    const known = codes.slice(200).map((subject) => ({ subject, sequence: 0 }));
    expect(await outbox.after(pool, links, known)).to.have.lengthOf(100);

    await applied(300, 'history');
    await pool.query(`INSERT INTO projection_history.dead_letters VALUES ($1, 0, 1, 'a', '{')`, [
      links,
    ]);
    const compactor = start();
    await waitingIs(compactor, 100);
    expect(await rows()).to.deep.equal([200]);
    await pool.query('DELETE FROM projection_history.dead_letters');
    await waitingIs(compactor, 0);
    expect(await rows()).to.deep.equal([300]);
    const subjects: string[] = [];
    for await (const { records } of log.read(links, partition, 0, 300)) {
      subjects.push(...records.map(({ key }) => key));
    }
    expect(subjects).to.deep.equal(codes);
    expect(await verified()).to.equal(true);
  });

  it('compacts each record once with several processes and broken connections', async () => {
    await append(4_000);
    await seal();
    await expectUnchanged(async () => {
      const compactors = [start(), start(), start()];
      for (let cut = 0; cut < 5; cut += 1) {
        await database.pool.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid()`,
        );
        await sleep(30);
      }
      for (const compactor of compactors) await waitingIs(compactor, 0);
    });
    expect(await rowsIn('segments')).to.deep.equal([1_000, 1_000, 1_000, 1_000]);
  });
});

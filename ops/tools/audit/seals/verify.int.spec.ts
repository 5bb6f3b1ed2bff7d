import { expect } from 'chai';
import { generateKeyPairSync } from 'node:crypto';
import { recordOf, spooledVisit, created, metered } from '../../../../schemas/testing/events.js';
import { eventually, rejection } from '../../../test/support/waiting.js';
import { startSealing } from '../../../../projectors/log/seals/sealing.js';
import { alterRecord, forgeChain, newSealKey, sealAll } from '../../../test/support/sealing.js';
import { topics } from '../../../../schemas/events/topics.js';
import { openKafkaHarness, settingsOf } from '../../../test/conformance/event-log/kafka-harness.js';
import { openKafkaLog } from '../../../event-log/kafka/kafka-log.js';
import type { EventLog } from '../../../event-log/port.js';
import { createLogger } from '../../../platform/logging.js';
import {
  signerOf,
  type SignedCheckpoint,
  type Signer,
} from '../../../../projectors/log/seals/signed-checkpoint.js';
import { testDatabase } from '../../../test/support/database.js';
import { kafkaStartMs, testKafka } from '../../../test/support/kafka.js';
import { publishedKeys, sealStore } from '../../../../projectors/log/seals/seal-store.js';
import type { SealKey } from '../../../../projectors/log/seals/seal-key.js';
import { CliError } from '../../cli/errors.js';
import { verifySeals } from './verify.js';
import { openTestLog } from '../../../test/support/node.js';
import { databaseFixture } from '../../../test/support/fixtures.js';

const logger = createLogger('silent');
const visits = topics.visits.name;
const links = topics.links.name;

/** Twenty visits of one link, and a few events of other topics; `then` after every five of them. */
const fill = async (log: EventLog, then = () => Promise.resolve()): Promise<void> => {
  await log.append(links, [recordOf(created('a'))]);
  await log.append(topics.usage.name, [recordOf(metered('key-1', 1, 1))]);
  for (let batch = 0; batch < 4; batch += 1) {
    const records = Array.from({ length: 5 }, (_, index) =>
      recordOf(spooledVisit('a', { sequence: batch * 5 + index + 1 })),
    );
    await log.append(visits, records);
    await then();
  }
};

const partitionOfVisits = async (log: EventLog): Promise<number> =>
  (await log.ranges(visits)).find(({ next }) => next > 0)?.partition ?? 0;

const trusting = (signer: Signer) => new Map([[signer.keyId, signer.publicKey]]);

type SealVerdict = Awaited<ReturnType<typeof verifySeals>>;

const brokenIn = ({ partitions }: SealVerdict) =>
  partitions.flatMap(({ topic, partition, broken }) =>
    broken === null ? [] : [{ topic, partition, ...broken }],
  );

describe('audit: seals of an embedded log', () => {
  const database = databaseFixture('seals');
  let log: EventLog;
  let signer: SealKey;
  let known: readonly SignedCheckpoint[];
  let partition: number;

  before(async () => {
    const { pool, url } = database;
    ({ log } = await openTestLog({ pool, url, logger }));
    signer = await newSealKey(pool);
    await fill(log, () => sealAll({ pool, log, signer }));
    partition = await partitionOfVisits(log);
    known = await sealStore(pool, log).lastOfAll(trusting(signer));
    await log.append(visits, [recordOf(spooledVisit('a', { sequence: 21 }))]);
    await pool.query(`CREATE TABLE original_events AS TABLE log.events;
      CREATE TABLE original_checkpoints AS TABLE seals.checkpoints`);
    await restore();
  });

  /** Each event has a row of its own. */
  const restore = async (): Promise<void> => {
    await database.pool.query(`DELETE FROM log.records; DELETE FROM log.segments;
      INSERT INTO log.records (partition_id, first_offset, key, ledger_sequence, value)
        SELECT partition_id, record_offset, key, ledger_sequence, value FROM original_events;
      DELETE FROM seals.checkpoints;
      INSERT INTO seals.checkpoints TABLE original_checkpoints`);
  };

  afterEach(restore);

  after(async () => {
    await log.close();
  });

  const verify = (keys = trusting(signer), checkpoints = known): Promise<SealVerdict> =>
    verifySeals({ pool: database.pool, log, keys, known: checkpoints });

  /** A statement on the rows of the partition of visits; `o` is the offset. */
  const tamper = async (statement: string, ...values: readonly unknown[]): Promise<void> => {
    const { rows } = await database.pool.query<{ id: number }>(
      'SELECT id FROM log.partitions WHERE topic = $1 AND partition = $2',
      [visits, partition],
    );
    const { rowCount } = await database.pool.query(
      statement.replaceAll('ITS', `partition_id = ${rows[0]?.id ?? 0}`),
      [...values],
    );
    expect(rowCount, 'rows that were altered').to.be.greaterThan(0);
  };

  it('prove every event up to the last one that is sealed', async () => {
    const verdict = await verify();
    expect(verdict).to.include({ isIntact: true, proven: 22, unproven: 1 });
    expect(verdict.partitions.find((one) => one.topic === visits && one.end > 0)).to.include({
      provenTo: 20,
      end: 21,
    });
  });

  const shift = (by: number): string =>
    // Twice, past what is there: a key may not meet another on the way.
    `UPDATE log.records SET first_offset = first_offset - 1000 + ${by}
     WHERE ITS AND first_offset > 1000`;
  const lift = `UPDATE log.records SET first_offset = first_offset + 1000
                WHERE ITS AND first_offset >= $1`;
  const at = 'WHERE ITS AND first_offset = $1';

  const foundAt = async (offset: number, what = 'differs'): Promise<void> => {
    const verdict = await verify();
    expect(brokenIn(verdict)).to.deep.equal([
      { topic: visits, partition, first: offset, last: offset, what },
    ]);
    expect(verdict.isIntact).to.equal(false);
  };

  // The first, one in the middle of a seal, the first and the last of one, and the last that is sealed.
  for (const offset of [0, 3, 4, 5, 19]) {
    const found = (what?: string): Promise<void> => foundAt(offset, what);

    it(`name offset ${offset} when its event is changed`, async () => {
      await tamper(`UPDATE log.records SET value = replace(value, '2026', '2025') ${at}`, offset);
      await found();
    });

    it(`name offset ${offset} when its event is given to another link`, async () => {
      await tamper(`UPDATE log.records SET key = 'b' ${at}`, offset);
      await found();
    });

    it(`name offset ${offset} when its event is deleted`, async () => {
      await tamper(`DELETE FROM log.records ${at}`, offset);
      await found('missing');
    });

    it(`name offset ${offset} when its event is deleted, and those behind it moved up`, async () => {
      await tamper(`DELETE FROM log.records ${at}`, offset);
      await tamper(lift, offset + 1);
      await tamper(shift(-1));
      await found();
    });

    it(`name offset ${offset} when an event is put in there`, async () => {
      await tamper(lift, offset);
      await tamper(
        `INSERT INTO log.records SELECT partition_id, $1, key, NULL, value
         FROM log.records WHERE ITS ORDER BY first_offset DESC LIMIT 1`,
        offset,
      );
      await tamper(shift(1));
      await found();
    });

    it(`name offset ${offset} when its event changes places with the next`, async () => {
      await tamper(
        `UPDATE log.records e SET value = o.value FROM log.records o
         WHERE e.partition_id = o.partition_id AND e.first_offset IN ($1::bigint, $1::bigint + 1)
           AND o.first_offset IN ($1::bigint, $1::bigint + 1) AND e.first_offset <> o.first_offset
           AND e.ITS`,
        offset,
      );
      await found();
    });
  }

  describe('in batches', () => {
    const segmentEnd = 12;
    const end = 21;

    /** A segment and a row of the appends, of which each holds several seals. */
    const pack = async (): Promise<void> => {
      const packed = (from: number, to: number): string =>
        `SELECT partition_id, ${from}, ${to - from}, string_agg(value, E'\\n' ORDER BY record_offset)
         FROM original_events WHERE ITS AND record_offset >= ${from} AND record_offset < ${to}
         GROUP BY partition_id`;
      await tamper('DELETE FROM log.records WHERE ITS');
      const columns = '(partition_id, first_offset, records, value)';
      await tamper(`INSERT INTO log.segments ${columns} ${packed(0, segmentEnd)}`);
      await tamper(`INSERT INTO log.records ${columns} ${packed(segmentEnd, end)}`);
    };

    beforeEach(pack);

    it('prove the same', async () => {
      expect(await verify()).to.include({ isIntact: true, proven: 22, unproven: 1 });
    });

    /** Edits the lines of the row that holds an offset; `index` is that of its line. */
    const edit = async (
      offset: number,
      change: (lines: string[], index: number) => void,
      counts: 'told' | 'hidden',
    ): Promise<void> => {
      const table = offset < segmentEnd ? 'segments' : 'records';
      const { rows } = await database.pool.query<{ first: number; value: string }>(
        `SELECT first_offset AS first, value FROM log.${table} WHERE key IS NULL`,
      );
      const [{ first, value } = { first: 0, value: '' }] = rows;
      const lines = value.split('\n');
      change(lines, offset - first);
      const records = counts === 'told' ? ', records = $2' : '';
      await tamper(
        `UPDATE log.${table} SET value = $1${records} WHERE key IS NULL AND ITS`,
        lines.join('\n'),
        ...(counts === 'told' ? [lines.length] : []),
      );
    };

    for (const offset of [0, 4, 11, 12, 19]) {
      it(`name offset ${offset} when its line is changed`, async () => {
        await edit(offset, (lines, at) => lines.splice(at, 1, '{}'), 'hidden');
        await foundAt(offset);
      });

      for (const counts of ['told', 'hidden'] as const) {
        const row = counts === 'told' ? 'and the row’s count with it' : 'and the row’s count stays';

        it(`name offset ${offset} when its line is deleted, ${row}`, async () => {
          await edit(offset, (lines, at) => lines.splice(at, 1), counts);
          await foundAt(offset, offset === segmentEnd - 1 ? 'missing' : 'differs');
        });

        it(`name offset ${offset} when a line is put in there, ${row}`, async () => {
          await edit(offset, (lines, at) => lines.splice(at, 0, '{}'), counts);
          await foundAt(offset);
        });
      }
    }

    it('tell of a row that is gone, and of a line behind the last one', async () => {
      await edit(0, (lines) => lines.push('{}'), 'hidden');
      await foundAt(segmentEnd);
      await tamper('DELETE FROM log.segments WHERE ITS');
      await foundAt(0, 'missing');
    });
  });

  it('name what was cut off, also where its seals were cut off with it', async () => {
    const last = `WHERE next_offset > 15 AND chain_id =
      (SELECT id FROM seals.chains WHERE topic = $1 AND partition = $2)`;
    await database.pool.query(`DELETE FROM seals.checkpoints ${last}`, [visits, partition]);
    await tamper('DELETE FROM log.records WHERE ITS AND first_offset >= $1', 15);
    const [broken] = brokenIn(await verify());
    expect(broken).to.include({ topic: visits, first: 15, last: 15, what: 'missing' });
    // Nobody sees it who has nothing but what is there.
    expect(brokenIn(await verify(trusting(signer), []))).to.deep.equal([]);
  });

  it('tell of seals that are gone', async () => {
    await database.pool.query('DELETE FROM seals.checkpoints');
    const verdict = await verify();
    expect(brokenIn(verdict)).to.deep.equal([]);
    expect(verdict).to.include({ isIntact: false, proven: 22 });
  });

  it('are held against the right key, and a checkpoint of this log that nobody altered', async () => {
    const message = async (keys: ReturnType<typeof trusting>, seals = known): Promise<string> => {
      const error = await rejection(verify(keys, seals));
      expect(error).to.be.instanceOf(CliError);
      return (error as CliError).message;
    };
    const other = signerOf(generateKeyPairSync('ed25519').privateKey);
    const [seal] = known;
    if (!seal) throw new Error('There is a checkpoint');
    expect(await message(trusting(other), [])).to.match(/^the log is sealed with the key/);
    expect(await message(trusting(other))).to.match(/^the checkpoint was signed with the key/);
    const foreign = other.sign({ ...seal, logId: `postgres:other:${seal.topic}` });
    expect(await message(trusting(other), [foreign])).to.match(/^the checkpoint is of the log/);
    expect(await message(trusting(signer), [{ ...seal, nextOffset: 1_000 }])).to.include('altered');
    const elsewhere = signer.sign({ ...seal, partition: 99 });
    expect(await message(trusting(signer), [elsewhere])).to.include('has no partition');
  });

  it('go on under a second key, and the first one’s still count for who trusts it', async () => {
    const { pool } = database;
    const second = await newSealKey(pool);
    expect((await publishedKeys(pool)).map(({ id }) => id)).to.deep.equal([
      second.keyId,
      signer.keyId,
    ]);
    await sealAll({ pool, log, signer: second });
    const both = new Map([...trusting(signer), ...trusting(second)]);
    expect(await verify(both)).to.include({ isIntact: true, proven: 23, unproven: 0 });
    expect(await verify()).to.include({ isIntact: true, proven: 22, unproven: 1 });
    await tamper(`UPDATE log.records SET value = 'altered' ${at}`, 20);
    expect(brokenIn(await verify(both))).to.deep.equal([
      { topic: visits, partition, first: 20, last: 20, what: 'differs' },
    ]);
  });
});

describe('audit: seals that were joined', () => {
  const database = databaseFixture('joined');
  let log: EventLog;
  let signer: SealKey;
  const exported: (readonly SignedCheckpoint[])[] = [];

  before(async () => {
    const { pool, url } = database;
    ({ log } = await openTestLog({ pool, url, logger }));
    signer = await newSealKey(pool);
    await fill(log, async () => {
      await sealAll({ pool, log, signer }, { records: 100, ms: 10 });
      exported.push(await sealStore(pool, log).lastOfAll(trusting(signer)));
    });
  });

  after(async () => {
    await log.close();
  });

  const verify = (known: readonly SignedCheckpoint[]): Promise<SealVerdict> =>
    verifySeals({ pool: database.pool, log, keys: trusting(signer), known });

  it('fit every checkpoint that was exported before', async () => {
    const { rows } = await database.pool.query<{ ends: number[] }>(
      `SELECT array_agg(s.next_offset::int) AS ends FROM seals.checkpoints s
       JOIN seals.chains c ON c.id = s.chain_id WHERE topic = $1`,
      [visits],
    );
    expect(rows[0]?.ends, 'those at 5, 10 and 15 are gone').to.deep.equal([20]);
    for (const known of exported) {
      expect(await verify(known)).to.include({ isIntact: true, proven: 22 });
    }
  });

  it('name the first bad offset', async () => {
    const { pool } = database;
    const partition = await partitionOfVisits(log);
    const replace = (offset: number, from: string, to: string) =>
      alterRecord(pool, { topic: visits, partition, offset }, (value) => value.replace(from, to));
    for (const offset of [0, 4, 5, 13, 19]) {
      await replace(offset, '2026', '2025');
      for (const known of exported) {
        expect(brokenIn(await verify(known))).to.deep.equal([
          { topic: visits, partition, first: offset, last: offset, what: 'differs' },
        ]);
      }
      await replace(offset, '2025', '2026');
    }
  });
});

describe('audit: seals of a log on Kafka', function () {
  this.timeout(kafkaStartMs);

  it('name the offset of an event that is another one in a copy of the log', async () => {
    const harness = await openKafkaHarness('seals');
    const copied = await testKafka('sealscopy');
    const database = await testDatabase('seals_kafka');
    const copy = openKafkaLog({ settings: settingsOf(copied), logger });
    try {
      const { log } = await harness.connect();
      const { pool } = database;
      await fill(log);
      const signer = await newSealKey(pool);
      const keys = trusting(signer);
      await sealAll({ pool, log, signer });
      const known = await sealStore(pool, log).lastOfAll(keys);
      expect(await verifySeals({ pool, log, keys, known })).to.include({
        isIntact: true,
        proven: 22,
        unproven: 0,
      });

      const partition = await partitionOfVisits(log);
      for (const topic of [links, topics.usage.name, visits]) {
        for (const { partition: from, next } of await log.ranges(topic)) {
          for await (const { records } of log.read(topic, from, 0, next)) {
            const altered = records.map((record) =>
              topic === visits && record.offset === 13
                ? { ...record, value: record.value.replace('2026', '2025') }
                : record,
            );
            await copy.append(topic, altered);
          }
        }
      }
      const error = await rejection(verifySeals({ pool, log: copy, keys, known }));
      expect(error).to.be.instanceOf(CliError);
      // Whoever puts it in the log's place has its name.
      const passedOff: EventLog = { ...copy, logId: (topic) => log.logId(topic) };
      expect(brokenIn(await verifySeals({ pool, log: passedOff, keys, known }))).to.deep.equal([
        { topic: visits, partition, first: 13, last: 13, what: 'differs' },
      ]);
    } finally {
      await copy.close();
      await copied.drop();
      await database.drop();
      await harness.close();
    }
  });

  it('are signed again, as Kafka has the log, where somebody deleted them; a forged chain is not', async () => {
    const harness = await openKafkaHarness('resealed');
    const database = await testDatabase('resealed_kafka');
    try {
      const { log } = await harness.connect();
      const { pool } = database;
      await fill(log);
      const signer = await newSealKey(pool);
      await sealAll({ pool, log, signer });
      const place = { topic: visits, partition: await partitionOfVisits(log) };
      await forgeChain(pool, log, place, { from: 0, to: 20 });
      await sealAll({ pool, log, signer });
      const verdict = () => verifySeals({ pool, log, keys: trusting(signer), known: [] });
      expect(await verdict()).to.include({ isIntact: true, proven: 22 });

      await pool.query(
        `UPDATE seals.chains SET hash = sha256('forged') WHERE topic = $1 AND partition = $2`,
        [place.topic, place.partition],
      );
      await log.append(visits, [recordOf(spooledVisit('a', { sequence: 21 }))]);
      const sealing = await startSealing({ pool, log, logger, signer });
      await eventually('it is noticed', () => sealing.brokenChains().size === 1);
      await sealing.stop();
      expect(await verdict()).to.include({ isIntact: true, proven: 22, unproven: 1 });
    } finally {
      await database.drop();
      await harness.close();
    }
  });
});

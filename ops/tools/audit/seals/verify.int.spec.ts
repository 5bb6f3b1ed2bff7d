import { expect } from 'chai';
import { generateKeyPairSync } from 'node:crypto';
import { recordOf, spooledVisit, created, metered } from '../../../../schemas/testing/events.js';
import { rejection } from '../../../test/support/waiting.js';
import { newSealKey, sealAll } from '../../../test/support/sealing.js';
import { topics } from '../../../../schemas/events/topics.js';
import type { EventLog } from '../../../event-log/port.js';
import { createLogger } from '../../../platform/logging.js';
import {
  signerOf,
  type SignedCheckpoint,
  type Signer,
} from '../../../../projectors/log/seals/signed-checkpoint.js';
import { publishedKeys, sealStore } from '../../../../projectors/log/seals/seal-store.js';
import type { SealKey } from '../../../../projectors/log/seals/seal-key.js';
import { CliError } from '../../cli/errors.js';
import { verifySeals } from './verify.js';
import { openTestLog } from '../../../test/support/node.js';
import { databaseFixture } from '../../../test/support/fixtures.js';

const logger = createLogger('silent');
const visits = topics.visits.name;
const links = topics.links.name;

/** Appends twenty visits of one link, and events of other topics; calls `afterBatch` after every five visits. */
const fill = async (log: EventLog, afterBatch = () => Promise.resolve()): Promise<void> => {
  await log.append(links, [recordOf(created('a'))]);
  await log.append(topics.usage.name, [recordOf(metered('key-1', 1, 1))]);
  for (let batch = 0; batch < 4; batch += 1) {
    const records = Array.from({ length: 5 }, (_, index) =>
      recordOf(spooledVisit('a', { sequence: batch * 5 + index + 1 })),
    );
    await log.append(visits, records);
    await afterBatch();
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

describe('audit verify --seals: embedded log', () => {
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

  /** Stores each event in a separate row. */
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

  /** Runs a statement on the rows of the partition of visits, `ITS`. */
  const tamper = async (statement: string, ...values: readonly unknown[]): Promise<void> => {
    const { rows } = await database.pool.query<{ id: number }>(
      'SELECT id FROM log.partitions WHERE topic = $1 AND partition = $2',
      [visits, partition],
    );
    const { rowCount } = await database.pool.query(
      statement.replaceAll('ITS', `partition_id = ${rows[0]?.id ?? 0}`),
      [...values],
    );
    expect(rowCount, 'altered rows').to.be.greaterThan(0);
  };

  it('proves every event up to the last sealed one', async () => {
    const verdict = await verify();
    expect(verdict).to.include({ isIntact: true, proven: 22, unproven: 1 });
    expect(verdict.partitions.find(({ topic, end }) => topic === visits && end > 0)).to.include({
      provenTo: 20,
      end: 21,
    });
  });

  const at = 'WHERE ITS AND first_offset = $1';

  const foundAt = async (offset: number, what = 'differs'): Promise<void> => {
    const verdict = await verify();
    expect(brokenIn(verdict)).to.deep.equal([
      { topic: visits, partition, first: offset, last: offset, what },
    ]);
    expect(verdict.isIntact).to.equal(false);
  };

  describe('with batches of records', () => {
    const segmentEnd = 12;
    const end = 21;

    /** Packs the events into a segment and a row of the appends, each with several seals. */
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

    it('proves the same', async () => {
      expect(await verify()).to.include({ isIntact: true, proven: 22, unproven: 1 });
    });

    /** Edits the lines of the row with an offset, whose line is at `index`. */
    const edit = async (
      offset: number,
      change: (lines: string[], index: number) => void,
      counts: 'updated' | 'unchanged',
    ): Promise<void> => {
      const table = offset < segmentEnd ? 'segments' : 'records';
      const { rows } = await database.pool.query<{ first: number; value: string }>(
        `SELECT first_offset AS first, value FROM log.${table} WHERE key IS NULL`,
      );
      const [{ first, value } = { first: 0, value: '' }] = rows;
      const lines = value.split('\n');
      change(lines, offset - first);
      const records = counts === 'updated' ? ', records = $2' : '';
      await tamper(
        `UPDATE log.${table} SET value = $1${records} WHERE key IS NULL AND ITS`,
        lines.join('\n'),
        ...(counts === 'updated' ? [lines.length] : []),
      );
    };

    const edits: readonly (readonly [
      string,
      (lines: string[], at: number) => void,
      readonly ('updated' | 'unchanged')[],
    ])[] = [
      ['changed', (lines, at) => lines.splice(at, 1, '{}'), ['unchanged']],
      ['deleted', (lines, at) => lines.splice(at, 1), ['updated', 'unchanged']],
      ['inserted', (lines, at) => lines.splice(at, 0, '{}'), ['updated', 'unchanged']],
    ];
    for (const [edited, change, allCounts] of edits) {
      it(`reports an offset if its line was ${edited}, whatever the row counts`, async () => {
        for (const counts of allCounts) {
          for (const offset of [0, 4, segmentEnd - 1, segmentEnd, 19]) {
            await edit(offset, change, counts);
            const isLost = edited === 'deleted' && offset === segmentEnd - 1;
            await foundAt(offset, isLost ? 'missing' : 'differs');
            await restore();
            await pack();
          }
        }
      });
    }

    it('reports a missing row, and a line after the last one', async () => {
      await edit(0, (lines) => lines.push('{}'), 'unchanged');
      await foundAt(segmentEnd);
      await tamper('DELETE FROM log.segments WHERE ITS');
      await foundAt(0, 'missing');
    });
  });

  it('rejects another key, and a checkpoint that is altered or of another log', async () => {
    const message = async (keys: ReturnType<typeof trusting>, seals = known): Promise<string> => {
      const error = await rejection(verify(keys, seals));
      expect(error).to.be.instanceOf(CliError);
      return (error as CliError).message;
    };
    const other = signerOf(generateKeyPairSync('ed25519').privateKey);
    const [seal] = known;
    if (!seal) throw new Error('the log has no checkpoint');
    expect(await message(trusting(other), [])).to.match(/^the log is sealed with the key/);
    expect(await message(trusting(other))).to.match(/^the checkpoint was signed with the key/);
    const foreign = other.sign({ ...seal, logId: `postgres:other:${seal.topic}` });
    expect(await message(trusting(other), [foreign])).to.match(/^the checkpoint is of the log/);
    expect(await message(trusting(signer), [{ ...seal, nextOffset: 1_000 }])).to.include('altered');
    const elsewhere = signer.sign({ ...seal, partition: 99 });
    expect(await message(trusting(signer), [elsewhere])).to.include('contains no partition');
  });

  it('accepts the seals of both keys after a key rotation', async () => {
    const { pool } = database;
    const second = await newSealKey(pool);
    expect((await publishedKeys(pool)).map(({ id }) => id)).to.deep.equal([
      second.keyId,
      signer.keyId,
    ]);
    await sealAll({ pool, log, signer: second });
    const bothKeys = new Map([...trusting(signer), ...trusting(second)]);
    expect(await verify(bothKeys)).to.include({ isIntact: true, proven: 23, unproven: 0 });
    expect(await verify()).to.include({ isIntact: true, proven: 22, unproven: 1 });
    await tamper(`UPDATE log.records SET value = 'altered' ${at}`, 20);
    expect(brokenIn(await verify(bothKeys))).to.deep.equal([
      { topic: visits, partition, first: 20, last: 20, what: 'differs' },
    ]);
  });
});

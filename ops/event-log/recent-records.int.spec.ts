import { expect } from 'chai';
import fc from 'fast-check';
import { topics } from '../../schemas/events/topics.js';
import { codeIn, newCode, recordsOf } from '../test/conformance/event-log/events.js';
import {
  openPostgresHarness,
  type PostgresClient,
} from '../test/conformance/event-log/postgres-harness.js';
import type { Queryable } from '../platform/postgres/pool.js';
import { DamagedRecords, type LogRecord } from './port.js';
import { RecentRecords } from './recent-records.js';
import { fixture } from '../test/support/fixture.js';

const visits = topics.visits.name;
const partition = 3;

describe('platform: recent records of the embedded log', () => {
  const harness = fixture(
    () => openPostgresHarness('recent_records'),
    (harness) => harness.close(),
  );
  let client: PostgresClient;
  let partitionId: number;
  let recent: RecentRecords;
  /** The queried offsets. */
  let queried: [from: number, to: number][];

  before(async () => {
    client = await harness.connect();
    const { rows } = await client.pool.query<{ id: number }>(
      'SELECT id FROM log.partitions WHERE topic = $1 AND partition = $2',
      [visits, partition],
    );
    partitionId = rows[0]?.id ?? NaN;
  });

  beforeEach(() => {
    queried = [];
    const query = (statement: { readonly values: readonly string[] }) => {
      const [, from, to] = statement.values;
      queried.push([Number(from?.slice(1, -1)), Number(to?.slice(1, -1))]);
      return client.pool.query(statement as never);
    };
    recent = new RecentRecords({ query } as unknown as Queryable);
  });

  const code = codeIn(visits, partition);

  /** Appends records as one row, and returns the offset behind them. */
  const append = async (count: number): Promise<number> => {
    await client.log.append(visits, recordsOf(visits, code, count));
    return (
      (await client.log.ranges(visits)).find((range) => range.partition === partition)?.next ?? 0
    );
  };

  const readAll = async (from: number, to: number): Promise<readonly LogRecord[]> => {
    const records: LogRecord[] = [];
    for await (const batch of client.log.read(visits, partition, from, to)) {
      records.push(...batch.records);
    }
    return records;
  };

  const find = async (from: number, to: number) =>
    (await recent.read([{ partitionId, from, to }])).get(partitionId);

  const offsetsOf = (records: readonly LogRecord[] = []): readonly number[] =>
    records.map(({ offset }) => offset);

  it('are queried once for all readers', async () => {
    const end = await append(20);
    const first = await find(end - 20, end + 980);
    expect(offsetsOf(first?.records)).to.deep.equal(offsetsOf(await readAll(end - 20, end)));
    expect(await find(end - 5, end + 995)).to.deep.equal({
      records: first?.records.slice(15),
      damaged: null,
    });
    await append(3);
    expect((await find(end - 5, end + 995))?.records).to.deep.equal(
      await readAll(end - 5, end + 3),
    );
    expect(await find(end + 3, end + 1_003)).to.equal(undefined);
    expect(queried).to.deep.equal([
      [end - 20, end + 980],
      [end, end + 995],
      [end, end + 995],
      [end + 3, end + 1_003],
    ]);
  });

  it('equal those of the log for readers at any positions', async () => {
    const begin = await append(1);
    let end = begin;
    const step = fc.oneof(
      fc.record({ append: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ reader: fc.nat(2), most: fc.integer({ min: 1, max: 9 }) }),
      fc.record({ restarts: fc.nat(2) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 60 }), async (steps) => {
        recent.forget(partitionId);
        const positions = [end, end, end];
        const start = end;
        for (const action of steps) {
          if ('append' in action) end = await append(action.append);
          else if ('restarts' in action) positions[action.restarts] = start;
          else {
            const from = positions[action.reader] ?? 0;
            const { records = [] } = (await find(from, from + action.most)) ?? {};
            // The rest of the last row is there too.
            expect(records.length >= Math.min(action.most, end - from)).to.equal(true);
            expect(records).to.deep.equal(await readAll(from, from + records.length));
            positions[action.reader] = from + records.length;
          }
        }
      }),
      { numRuns: 15 },
    );
  });

  it('are the same after compaction', async () => {
    const begin = await append(1);
    await append(4);
    await find(begin, begin + 10);
    const end = await append(4);
    await client.pool.query(
      `WITH moved AS (DELETE FROM log.records WHERE partition_id = $1 AND first_offset >= $2 RETURNING *)
       INSERT INTO log.segments (partition_id, first_offset, records, value)
       SELECT $1, min(first_offset), sum(records), string_agg(value, E'\\n' ORDER BY first_offset) FROM moved`,
      [partitionId, begin],
    );
    expect(await find(begin + 1, begin + 10)).to.deep.equal({
      records: await readAll(begin + 1, end),
      damaged: null,
    });
  });

  it('are queried again while a row is damaged', async () => {
    const end = await append(3);
    const alter = (records: number) =>
      client.pool.query(
        'UPDATE log.records SET records = $3 WHERE partition_id = $1 AND first_offset = $2',
        [partitionId, end - 3, records],
      );
    await alter(4);
    expect((await find(end - 3, end))?.damaged).to.be.instanceOf(DamagedRecords);
    await alter(3);
    expect(offsetsOf((await find(end - 3, end))?.records)).to.deep.equal([
      end - 3,
      end - 2,
      end - 1,
    ]);
  });

  it('are limited to a million characters for each partition', async () => {
    const long = (): { key: string; value: string } => ({
      key: newCode(),
      value: JSON.stringify({ text: 'x'.repeat(300_000) }),
    });
    const key = code;
    const values = Array.from({ length: 6 }, () => ({ ...long(), key }));
    const begin = await append(1);
    for (const value of values) {
      await client.log.append(visits, [value]);
      await find(begin + values.indexOf(value), begin + 1_000);
    }
    queried = [];
    const found = await find(begin, begin + 6);
    expect(offsetsOf(found?.records)).to.deep.equal(offsetsOf(await readAll(begin, begin + 6)));
    expect(queried).to.deep.equal([[begin, begin + 6]]);
    await find(begin + 5, begin + 6);
    expect(queried).to.have.lengthOf(1);
  });
});

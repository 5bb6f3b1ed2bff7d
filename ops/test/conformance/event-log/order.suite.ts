import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import { newEvent } from '../../../../schemas/events/codec.js';
import { topics } from '../../../../schemas/events/topics.js';
import { partitionOf } from '../../../event-log/partition.js';
import type { LogBench } from './bench.js';
import { codeIn, eventIn, eventIdOf, manyPartitions, newCode, partitionCount } from './events.js';
import { recordOf } from '../../../../schemas/testing/events.js';
import { fence, type Positions, type Received } from './reader.js';
import { deferred } from '../../../platform/concurrency/deferred.js';
import { randomInt } from 'node:crypto';
import type { EventLog } from '../../../event-log/port.js';
import type { LogHarness } from './harness.js';

type Writable = Pick<EventLog, 'append'> & Pick<LogHarness, 'decide'>;

interface StormResult {
  readonly committed: ReadonlySet<string>;
  readonly rolledBack: ReadonlySet<string>;
}

/** Writes of each writer. */
const writes = 30;
/** The maximum duration of a transaction: longer than another complete transaction. */
const holdMs = 12;

const pick = <T>(values: readonly T[]): T => values[randomInt(values.length)] as T;

/**
 * Concurrent writers on few subjects: appends, and transactions of the ledger that stay open for random times after
 * they recorded their events. Some of them are rolled back.
 */
const storm = async (log: Writable, writers = 8): Promise<StormResult> => {
  const committed = new Set<string>();
  const rolledBack = new Set<string>();
  const codes = Array.from({ length: 12 }, newCode);

  const write = async (): Promise<void> => {
    if (randomInt(3) === 0) {
      const topic = pick(manyPartitions);
      const records = Array.from({ length: 1 + randomInt(4) }, () =>
        recordOf(eventIn(topic, pick(codes))),
      );
      await log.append(topic, records);
      for (const record of records) committed.add(eventIdOf(record));
      return;
    }
    const events = Array.from({ length: 1 + randomInt(3) }, () =>
      eventIn(pick(manyPartitions), pick(codes)),
    );
    const rollBack = randomInt(4) === 0;
    await log.decide(events, { hold: sleep(randomInt(holdMs)), rollBack });
    for (const { id } of events) (rollBack ? rolledBack : committed).add(id);
  };

  const writer = async (): Promise<void> => {
    for (let count = 0; count < writes; count += 1) await write();
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return { committed, rolledBack };
};

type Violation = 'lost' | 'repeated' | 'rolled back' | 'gap';

/**
 * Checks the records of a reader that started at `from`: each committed record once, consecutive offsets in each
 * partition, and no rolled-back record.
 */
const violations = (
  received: readonly Received[],
  { committed, rolledBack }: StormResult,
  from: Positions,
): readonly `${Violation} ${string}`[] => {
  const found: `${Violation} ${string}`[] = [];
  const seen = new Set<string>();
  const expected = new Map<string, number>();
  for (const record of received) {
    const { topic, partition, offset } = record;
    const id = eventIdOf(record);
    if (seen.has(id)) found.push(`repeated ${id}`);
    seen.add(id);
    if (rolledBack.has(id)) found.push(`rolled back ${id}`);
    const key = `${topic}/${partition}`;
    const due = expected.get(key) ?? from.get(topic, partition)?.offset ?? 0;
    if (offset !== due) found.push(`gap ${key}: ${offset} instead of ${due}`);
    expected.set(key, offset + 1);
  }
  for (const id of committed) if (!seen.has(id)) found.push(`lost ${id}`);
  return found;
};

const links = topics.links.name;

export const describeOrder = (bench: () => LogBench): void => {
  describe('order', () => {
    it('is that of appending, within a partition', async () => {
      const { log, follow, ends } = bench();
      const reader = follow({ topics: [links], positions: await ends([links]) });
      const codes = Array.from({ length: 6 }, newCode);
      const appended: { readonly id: string; readonly partition: number }[] = [];
      for (let call = 0; call < 5; call += 1) {
        // Interleaved keys, so that the order within a call matters.
        const records = [...codes, ...codes].map((code) => recordOf(eventIn(links, code)));
        await log.append(links, records);
        for (const record of records) {
          const partition = partitionOf(record.key, partitionCount(links));
          appended.push({ id: eventIdOf(record), partition });
        }
      }
      await reader.has(appended.map(({ id }) => id));
      for (let partition = 0; partition < partitionCount(links); partition += 1) {
        const received = reader.received.filter((record) => record.partition === partition);
        const due = appended.filter((record) => record.partition === partition);
        expect(received.map(eventIdOf)).to.deep.equal(due.map(({ id }) => id));
      }
    });

    it('holds for more bytes than the limit of a request, in a call and in the outbox', async () => {
      const { log, harness, follow, ends } = bench();
      const reader = follow({ topics: [links], positions: await ends([links]) });
      const subject = newCode();
      const events = Array.from({ length: 40 }, (_, index) =>
        newEvent(
          'LinkBlocked',
          { reason: 'ß'.repeat(50_000) },
          { id: uuid(), subject, sequence: index + 1, time: new Date() },
        ),
      );
      await log.append(links, events.slice(0, 20).map(recordOf));
      await harness.decide(events.slice(20));
      const ids = events.map(({ id }) => id);
      await reader.has(ids);
      expect(reader.received.map(eventIdOf)).to.deep.equal(ids);
    });

    it('holds for a key: all its records are in the partition of partitionOf', async () => {
      const { log, harness, follow, ends } = bench();
      const positions = await ends(manyPartitions);
      const reader = follow({ topics: manyPartitions, positions });
      const codes = [...Array.from({ length: 20 }, newCode), 'ünïcödé-🔗', 'a'];
      const ids: string[] = [];
      for (const topic of manyPartitions) {
        const events = codes.map((code) => eventIn(topic, code));
        await log.append(topic, events.map(recordOf));
        const decided = codes.map((code) => eventIn(topic, code, 2));
        await harness.decide(decided);
        ids.push(...[...events, ...decided].map(({ id }) => id));
      }
      await reader.has(ids);
      expect(reader.received).to.have.lengthOf(ids.length);
      for (const { topic, partition, key, value } of reader.received) {
        expect(partition).to.equal(partitionOf(key, partitionCount(topic)));
        expect((JSON.parse(value) as { subject: string }).subject).to.equal(key);
      }
    });

    it('has no gap if a transaction commits after a later one', async () => {
      const { log, harness, follow, ends } = bench();
      const code = codeIn(links, 3);
      const reader = follow({ topics: [links], positions: await ends([links]) });
      const early = eventIn(links, code, 1);
      const late = eventIn(links, code, 2);
      const blocked = deferred();
      const decided = harness.decide([early], { hold: blocked.promise });
      const appended = log.append(links, [recordOf(late)]);
      // Enough time to append and read the later record, if the log allows it.
      await Promise.race([appended.then(() => sleep(200)), sleep(400)]);
      blocked.resolve();
      await Promise.all([decided, appended]);
      await fence(log, reader, [links]);
      expect(reader.ids).to.include.members([early.id, late.id]);
    });

    it('has no gap, no repeat and no rolled-back record with many concurrent writers', async () => {
      const { log, harness, follow, ends } = bench();
      const from = await ends(manyPartitions);
      const positions = await ends(manyPartitions);
      const reader = follow({ topics: manyPartitions, positions, maxBatch: 7 });
      const writable: Writable = {
        append: (topic, records) => log.append(topic, records),
        decide: (events, ending) => harness.decide(events, ending),
      };
      const { committed, rolledBack } = await storm(writable);
      const fences = await fence(log, reader, manyPartitions);
      const expected = { committed: new Set([...committed, ...fences]), rolledBack };
      expect(violations(reader.received, expected, from)).to.deep.equal([]);
      expect(reader.received).to.have.lengthOf(expected.committed.size);
      // Otherwise the test checks no rollback.
      expect(rolledBack).to.not.be.empty;
    });
  });
};

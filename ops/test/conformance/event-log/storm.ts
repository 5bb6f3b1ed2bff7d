import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EventLog } from '../../../event-log/port.js';
import { eventIn, eventIdOf, manyPartitions, newCode } from './events.js';
import { recordOf } from '../../../../schemas/testing/events.js';
import type { LogHarness } from './harness.js';
import type { Positions, Received } from './reader.js';

export type Writable = Pick<EventLog, 'append'> & Pick<LogHarness, 'decide'>;

export interface StormResult {
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
export const storm = async (log: Writable, writers = 8): Promise<StormResult> => {
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
export const violations = (
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

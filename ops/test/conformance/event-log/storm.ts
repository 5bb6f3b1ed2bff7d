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

/** Per writer. */
const writes = 30;
/** How long a transaction is left open at most: longer than another one takes from begin to end. */
const holdMs = 12;

const any = <T>(values: readonly T[]): T => values[randomInt(values.length)] as T;

/**
 * Many writers at once, on few subjects: plain appends, and transactions of the ledger that stay open
 * for random times after they took their places, some of which are rolled back.
 */
export const storm = async (log: Writable, writers = 8): Promise<StormResult> => {
  const committed = new Set<string>();
  const rolledBack = new Set<string>();
  const codes = Array.from({ length: 12 }, newCode);

  const write = async (): Promise<void> => {
    if (randomInt(3) === 0) {
      const topic = any(manyPartitions);
      const records = Array.from({ length: 1 + randomInt(4) }, () =>
        recordOf(eventIn(topic, any(codes))),
      );
      await log.append(topic, records);
      for (const record of records) committed.add(eventIdOf(record));
      return;
    }
    const events = Array.from({ length: 1 + randomInt(3) }, () =>
      eventIn(any(manyPartitions), any(codes)),
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
 * What is wrong with what a reader got that began at `from`: each committed record is due once, each
 * partition's offsets one by one, and nothing that was rolled back.
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
    const place = `${topic}/${partition}`;
    const due = expected.get(place) ?? from.get(topic, partition)?.offset ?? 0;
    if (offset !== due) found.push(`gap ${place}: ${offset} where ${due} was due`);
    expected.set(place, offset + 1);
  }
  for (const id of committed) if (!seen.has(id)) found.push(`lost ${id}`);
  return found;
};

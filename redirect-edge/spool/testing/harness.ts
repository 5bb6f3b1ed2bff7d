import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { unknownVisitor } from '../../../schemas/testing/visitor.js';
import type { NewLines, NewRecord } from '../../../ops/event-log/port.js';
import { partitionOf } from '../../../ops/event-log/partition.js';
import { topics } from '../../../schemas/events/topics.js';
import { deferred } from '../../../ops/platform/concurrency/deferred.js';
import { toRecords } from '../../../ops/test/support/to-records.js';
import type { NewVisit } from '../../../schemas/events/spooled-visit.js';
import type { Spool } from '../spool.js';

export const visit = (number: number): NewVisit => ({
  subject: `code-${number % 7}`,
  at: 1_750_000_000_000 + number,
  data: { ...unknownVisitor, bot: number % 2 === 0 },
  account: 'default',
  requestId: String(number),
});

/** Resolves when the spool has the visit. @throws SpoolUnavailable */
export const append = (spool: Pick<Spool, 'append'>, newVisit: NewVisit): Promise<void> => {
  const written = deferred();
  spool.append(newVisit, (failure) => {
    if (failure) written.reject(failure);
    else written.resolve();
  });
  return written.promise;
};

/** Collects records instead of the log. */
export class FakeLog {
  readonly batches: (readonly NewRecord[])[] = [];
  isUnavailable = false;
  attempts = 0;

  readonly ship = async (records: readonly (NewRecord | NewLines)[]): Promise<void> => {
    this.attempts += 1;
    await sleep(1);
    if (this.isUnavailable) throw new Error('the log is unavailable');
    this.batches.push(toRecords(records));
  };

  get records(): readonly NewRecord[] {
    return this.batches.flat();
  }

  get values(): readonly string[] {
    return this.records.map(({ value }) => value);
  }

  /** The request ids of a spool's visits, ascending, without the duplicates that readers drop. */
  visitsOf(spoolId: string): number[] {
    return visitsOf(this.records, spoolId);
  }
}

export const visitsOf = (records: readonly NewRecord[], spoolId: string): number[] => {
  const highWaterMarks = new Map<number, number>();
  const visits: number[] = [];
  for (const { key, value } of records) {
    const event = readEvent(value);
    const partition = partitionOf(key, topics.visits.partitions);
    if (event.source !== spoolSource(`${spoolId}/${partition}`)) continue;
    if (event.sequence <= (highWaterMarks.get(partition) ?? 0)) continue;
    if (event.subject !== key)
      throw new Error(`the key ${key} is not the subject ${event.subject}`);
    highWaterMarks.set(partition, event.sequence);
    visits.push(Number(event.correlationid));
  }
  return visits.sort((a, b) => a - b);
};

export const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

export const folderBytes = async (folder: string): Promise<number> => {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.seg'));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
};

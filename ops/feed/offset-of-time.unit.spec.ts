import { expect } from 'chai';
import { topics } from '../../schemas/events/topics.js';
import {
  at,
  importedVisit,
  importIdAt,
  recordOf,
  spooledVisit,
} from '../../schemas/testing/events.js';
import type { Batch, NewRecord } from '../event-log/port.js';
import { offsetOfTime } from './offset-of-time.js';

const known = { topic: topics.visits.name, partition: 0 };

const offsetIn = (records: readonly NewRecord[], time: Date): Promise<number> => {
  const log = {
    async *read(_topic: string, _partition: number, from: number, to: number) {
      await Promise.resolve();
      const found = records
        .slice(from, to)
        .map((record, index) => ({ ...record, offset: from + index }));
      if (found.length > 0) yield { ...known, records: found } satisfies Batch;
    },
  };
  return offsetOfTime(log, known, { partition: 0, first: 0, next: records.length }, time.getTime());
};

describe('feed: the offset of a time', () => {
  const visits = (first: number, last: number): readonly NewRecord[] =>
    Array.from({ length: last - first + 1 }, (_, index) =>
      recordOf(spooledVisit('a', { sequence: first + index + 1, time: at(first + index) })),
    );

  it('is that of the first event with this time or a later one', async () => {
    const records = visits(0, 99);
    for (const second of [-5, 0, 1, 50, 99, 100]) {
      const expected = Math.max(0, second);
      expect(await offsetIn(records, at(second)), String(second)).to.equal(expected);
    }
  });

  it('does not depend on the times of imported visits between them', async () => {
    const years = [-7, 3];
    for (const year of years) {
      const imported = Array.from({ length: 500 }, (_, index) =>
        recordOf(
          importedVisit('a', {
            ...{ sequence: index + 1, importId: importIdAt(at(50)) },
            time: at(year * 365 * 86_400 + index),
          }),
        ),
      );
      const records = [...visits(0, 50), ...imported, ...visits(51, 99)];
      expect(await offsetIn(records, at(20))).to.equal(20);
      expect(await offsetIn(records, at(80))).to.equal(580);
    }
  });
});

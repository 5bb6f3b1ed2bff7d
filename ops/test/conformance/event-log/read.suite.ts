import { expect } from 'chai';
import { topics } from '../../../../schemas/events/topics.js';
import type { LogBench } from './bench.js';
import { codeIn, eventIn, eventIdOf, partitionCount, recordsOf } from './events.js';
import { recordOf } from '../../../../schemas/testing/events.js';
import type { LogRecord } from '../../../event-log/port.js';

const visits = topics.visits.name;
const partition = 6;
/** More than one batch of any adapter. */
const many = 2_500;

export const describeRead = (bench: () => LogBench): void => {
  describe('read and ranges', () => {
    let ids: readonly string[];
    let from: number;

    const rangeOf = async (which: number) => {
      const range = (await bench().log.ranges(visits))[which];
      if (!range) throw new RangeError(`no partition ${which}`);
      return range;
    };

    const collect = async (begin: number, end: number) => {
      const batches: (readonly LogRecord[])[] = [];
      for await (const batch of bench().log.read(visits, partition, begin, end)) {
        expect(batch).to.include({ topic: visits, partition });
        batches.push(batch.records);
      }
      return batches;
    };

    before(async () => {
      from = (await rangeOf(partition)).next;
      const records = recordsOf(visits, codeIn(visits, partition), many);
      ids = records.map(eventIdOf);
      await bench().log.append(visits, records);
    });

    it('returns the records of a partition in order, in batches of bounded size', async () => {
      const batches = await collect(from, from + many);
      expect(batches.length).to.be.above(1);
      expect(Math.min(...batches.map(({ length }) => length))).to.be.above(0);
      const records = batches.flat();
      expect(records.map(eventIdOf)).to.deep.equal(ids);
      expect(records.map(({ offset }) => offset)).to.deep.equal(
        ids.map((_, index) => from + index),
      );
    });

    it('includes the first offset and excludes the last', async () => {
      for (const [begin, end] of [
        [0, 1],
        [7, 12],
        [998, 1_002],
        [many - 1, many],
      ] as const) {
        const records = (await collect(from + begin, from + end)).flat();
        expect(records.map(eventIdOf)).to.deep.equal(ids.slice(begin, end));
      }
      expect(await collect(from + 5, from + 5)).to.deep.equal([]);
    });

    it('returns each record unchanged from every start offset, also records that are not events', async () => {
      const { log } = bench();
      const key = codeIn(visits, partition);
      const other = codeIn(visits, partition);
      const begin = (await rangeOf(partition)).next;
      const events = (count: number) =>
        recordsOf(visits, key, count).concat(recordsOf(visits, other, count));
      const records = [
        ...events(3),
        { key, value: 'no event' },
        { key, value: '' },
        ...events(2),
        // Two lines, and an event of another subject.
        { key, value: JSON.stringify({ subject: key }, null, 2) },
        ...recordsOf(visits, other, 2).map(({ value }) => ({ key, value })),
        { key, value: JSON.stringify({ data: { subject: key }, subject: other }) },
        ...events(1),
      ];
      await log.append(visits, records);
      for (let from = 0; from < records.length; from += 1) {
        const found = (await collect(begin + from, begin + records.length)).flat();
        expect(found.map((record) => ({ key: record.key, value: record.value }))).to.deep.equal(
          records.slice(from),
        );
        expect(found[0]?.offset).to.equal(begin + from);
      }
    });

    it('returns all records with a text, whatever batches it omits', async () => {
      const { log } = bench();
      const begin = (await rangeOf(partition)).next;
      const key = codeIn(visits, partition);
      const appended = recordsOf(visits, key, many);
      await log.append(visits, appended);
      const text = eventIdOf(appended[1_700] ?? { key, value: '' });
      const found: LogRecord[] = [];
      const batches = log.read(visits, partition, begin, begin + many, text);
      for await (const { records } of batches) found.push(...records);
      const matches = found.filter(({ value }) => value.includes(text));
      expect(matches.map(({ offset }) => offset)).to.deep.equal([begin + 1_700]);
    });

    it('can stop early', async () => {
      for await (const { records } of bench().log.read(visits, partition, from, from + many)) {
        expect(records[0]?.offset).to.equal(from);
        break;
      }
      // The resources are released: another read completes.
      expect((await collect(from, from + 3)).flat()).to.have.lengthOf(3);
    });

    it('returns the range of each partition once', async () => {
      const ranges = await bench().log.ranges(visits);
      const count = partitionCount(visits);
      expect(ranges.map((range) => range.partition)).to.deep.equal([...Array(count).keys()]);
      for (const { first, next } of ranges) expect(first).to.be.within(0, next);
    });

    it('returns ranges with all appended records, also from the outbox', async () => {
      const { log, harness } = bench();
      const code = codeIn(visits, partition);
      const { next } = await rangeOf(partition);
      await log.append(visits, recordsOf(visits, code, 3));
      expect(await rangeOf(partition)).to.include({ next: next + 3 });
      await harness.decide([eventIn(visits, code), eventIn(visits, code, 2)]);
      expect(await rangeOf(partition)).to.include({ next: next + 5 });
      await log.append(visits, []);
      expect(await rangeOf(partition)).to.include({ next: next + 5 });
      await log.append(visits, [recordOf(eventIn(visits, codeIn(visits, 0)))]);
      expect(await rangeOf(partition)).to.include({ next: next + 5 });
    });
  });
};

import { expect } from 'chai';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { SpoolUnavailable } from './folder.js';
import { readEvent, writeEvent } from '../../schemas/events/codec.js';
import { readSpooledVisit, type NewVisit } from '../../schemas/events/spooled-visit.js';
import { maxCodeLength, subjectOf } from '../../schemas/link-subject.js';
import { recordsIn } from './record.js';
import { nodeFiles, type SegmentFiles } from './segment.js';
import { append, FakeLog, folderBytes, range, visit } from './testing/harness.js';
import type { Spool } from './spool.js';
import { spoolFixture } from './testing/spool-fixture.js';
import { eventually, eventuallyPasses, rejection } from '../../ops/test/support/waiting.js';

const refusal = async (promise: Promise<void>): Promise<SpoolUnavailable> => {
  const error = await rejection(promise);
  expect(error).to.be.instanceOf(SpoolUnavailable);
  return error as SpoolUnavailable;
};

/** The numbers of visits, by their events. A gap in the sequences of a source would mean a lost visit. */
const numbersOf = (events: readonly string[]): number[] => {
  const last = new Map<string, number>();
  return events.map((event) => {
    const { source, sequence, correlationid } = readEvent(event);
    expect(sequence).to.equal((last.get(source) ?? 0) + 1);
    last.set(source, sequence);
    return Number(correlationid);
  });
};

const eventsIn = (segment: Buffer): string[] =>
  [...recordsIn(segment)].flatMap(({ lines }) => lines.toString().trimEnd().split('\n'));

/** Files with injected faults. */
const faultyFiles = () => {
  const faults = { write: false, partialWrite: 0, sync: false, truncate: false, writes: 0 };
  const fail = (code: string): never => {
    throw Object.assign(new Error(code), { code });
  };
  const files: SegmentFiles = {
    create: nodeFiles.create,
    write: (fd, bytes, offset, length, position) => {
      faults.writes += 1;
      if (faults.partialWrite > 0) {
        const part = Math.min(faults.partialWrite, length);
        faults.partialWrite = 0;
        faults.write = true;
        return nodeFiles.write(fd, bytes, offset, part, position);
      }
      if (faults.write) fail('ENOSPC');
      return nodeFiles.write(fd, bytes, offset, length, position);
    },
    sync: (fd) => {
      if (faults.sync) fail('EIO');
      nodeFiles.sync(fd);
    },
    truncate: (fd, length) => {
      if (faults.truncate) fail('EIO');
      nodeFiles.truncate(fd, length);
    },
  };
  return { faults, files };
};

describe('redirect edge: spool', () => {
  const bench = spoolFixture();

  const spoolDirs = () => readdir(bench.root);
  const isShipped = (spool: Spool) =>
    eventually('the spool is shipped', () => spool.depth().events === 0);
  /** Appends visits in one tick. @returns the failures; `null` for a written visit */
  const appendTogether = (spool: Spool, first: number, last: number) =>
    Promise.all(
      range(first, last).map((number) =>
        append(spool, visit(number)).then(
          () => null,
          (reason: unknown) => reason as SpoolUnavailable,
        ),
      ),
    );

  describe('that appends', () => {
    it('writes the visits of a tick with one write before their callbacks', async () => {
      const { faults, files } = faultyFiles();
      bench.log.isUnavailable = true;
      const spool = await bench.open({ files });
      const appends = range(1, 50).map((number) => append(spool, visit(number)));
      expect(faults.writes).to.equal(0);
      await Promise.all(appends);
      expect(faults.writes).to.equal(1);

      const file = join(bench.root, spool.id, '0000000000000001.seg');
      expect(numbersOf(eventsIn(await readFile(file)))).to.have.members(range(1, 50));
      expect(spool.depth()).to.deep.equal({ bytes: (await readFile(file)).length, events: 50 });
    });

    it('calls all callbacks of a tick synchronously, even if one throws, after success or failure', async () => {
      const { faults, files } = faultyFiles();
      const spool = await bench.open({ files });
      for (const write of [false, true]) {
        faults.write = write;
        const results: unknown[] = [];
        let microtasks = 0;
        for (const number of range(1, 50)) {
          spool.append(visit(number), (failure) => {
            results.push(failure);
            queueMicrotask(() => (microtasks += Number(results.length < 50)));
            if (number === 2) throw new Error('this callback throws');
          });
        }
        expect(results).to.be.empty;
        await tick();
        expect([results.length, microtasks]).to.deep.equal([50, 0]);
        expect(new Set(results).size).to.equal(1);
        expect(results[0] === null).to.equal(!write);
      }
      await spool.stop({ shipWithinMs: 0 });
      spool.append(visit(4), () => {
        throw new Error('so does this one');
      });
      const errors = bench.logLines.flatMap(({ err }) => (err as Error | undefined)?.message ?? []);
      expect(errors.filter((message) => message.includes('th'))).to.deep.equal([
        'this callback throws',
        'this callback throws',
        'so does this one',
      ]);
    });

    it('writes events in the layout that readers of the log expect', async () => {
      const data: NewVisit['data'] = {
        ...{ bot: false, country: 'DE', referrer: 'news.example.com', browser: 'Microsoft Edge' },
        ...{ os: 'Windows Phone', device: 'mobile', language: 'de', visitor: 'Az09_-Az09_-Az09' },
        ...{ trigger: 'qr', version: 2 ** 32 - 1, target: 'test/b_2-x' },
        ...{ code: 'go.example.com/b', campaign: 'campaign=50%25 Ü&source=&medium=%22' },
      };
      const code = '🎉'.repeat(maxCodeLength);
      const subject = subjectOf({ domain: 'x'.repeat(253), code });
      const visits: readonly NewVisit[] = [
        ...[visit(1), { ...visit(2), data }, { ...visit(3), requestId: undefined, subject }],
      ];
      const spool = await bench.open();
      for (const newVisit of visits) await append(spool, newVisit);
      await isShipped(spool);
      for (const [index, newVisit] of visits.entries()) {
        const { key, value } = bench.log.records[index] ?? { key: '', value: '' };
        const event = readEvent(value);
        expect(readSpooledVisit(value), value).to.deep.equal(event);
        expect(writeEvent(event)).to.equal(value);
        const { account, requestId, at } = newVisit;
        expect(event).to.deep.include({ subject: key, account, time: new Date(at).toISOString() });
        expect(event.subject).to.equal(newVisit.subject);
        expect(event.correlationid).to.equal(requestId);
        expect(event.data).to.deep.equal({ click: null, ...newVisit.data });
      }
    });

    it('closes full segments and creates new ones', async () => {
      bench.log.isUnavailable = true;
      const spool = await bench.open({ segmentBytes: 1_500 });
      for (const number of range(1, 200)) await append(spool, visit(number));
      const folder = join(bench.root, spool.id);
      const segments = async () =>
        (await readdir(folder)).filter((name) => name.endsWith('.seg')).length;
      expect(await segments()).to.be.greaterThan(5);

      bench.log.isUnavailable = false;
      await isShipped(spool);
      expect(bench.log.visitsOf(spool.id)).to.deep.equal(range(1, 200));
      await eventually('one segment is left', async () => (await segments()) <= 1);
    });

    it('refuses visits beyond the size limit, and accepts visits after shipping', async () => {
      bench.log.isUnavailable = true;
      const maxBytes = 200_000;
      const spool = await bench.open({ maxBytes });
      let accepted = 0;
      let refused: SpoolUnavailable | null = null;
      while (!refused) {
        const results = await appendTogether(spool, accepted + 1, accepted + 100);
        accepted += results.filter((failure) => failure === null).length;
        refused = results.find((failure) => failure !== null) ?? null;
      }
      expect(refused).to.be.instanceOf(SpoolUnavailable).and.to.include({ code: 'SPOOL_FULL' });
      const bytes = await folderBytes(join(bench.root, spool.id));
      expect(bytes).to.be.within(maxBytes - 1000, maxBytes);

      bench.log.isUnavailable = false;
      await isShipped(spool);
      await append(spool, visit(accepted + 1));
      await isShipped(spool);
      expect(bench.log.visitsOf(spool.id)).to.deep.equal(range(1, accepted + 1));
    });

    it('accepts visits again after a single tick reaches the size limit', async () => {
      const spool = await bench.open({ maxBytes: 100_000 });
      for (let round = 0; round < 3; round += 1) {
        const results = await appendTogether(spool, 1, 2000);
        expect(results.at(-1)).to.be.instanceOf(SpoolUnavailable);
        await eventuallyPasses(() => append(spool, visit(1)));
      }
    });
  });

  describe('with failing writes', () => {
    for (const truncate of [false, true]) {
      it(`refuses the visits of the tick and ships none of them${truncate ? ', even if truncation fails' : ''}`, async () => {
        const { faults, files } = faultyFiles();
        const spool = await bench.open({ files });
        await append(spool, visit(1));

        // The file gets one complete record, of the visits 2 and 4, and a part of the other.
        Object.assign(faults, { partialWrite: 1_000, truncate });
        const failed = [2, 3, 4].map((number) => refusal(append(spool, visit(number))));
        for (const error of await Promise.all(failed)) {
          expect(error).to.have.property('code', 'SPOOL_WRITE_FAILED');
          expect(error.cause).to.include({ code: 'ENOSPC' });
        }
        faults.write = false;
        if (truncate) {
          expect((await refusal(append(spool, visit(5)))).cause).to.include({ code: 'EIO' });
        }
        faults.truncate = false;
        await append(spool, visit(6));
        await append(spool, visit(7));

        const file = join(bench.root, spool.id, '0000000000000001.seg');
        const bytes = await readFile(file);
        expect([...recordsIn(bytes)].at(-1)?.end).to.equal(bytes.length);
        expect(numbersOf(eventsIn(bytes))).to.deep.equal([1, 6, 7]);
        await isShipped(spool);
        expect(bench.log.visitsOf(spool.id)).to.deep.equal([1, 6, 7]);
        expect(bench.logLines.filter(({ msg }) => msg.includes('visits are refused'))).lengthOf(1);
      });
    }

    it('refuses visits if fsync fails', async () => {
      const { faults, files } = faultyFiles();
      const spool = await bench.open({ files, fsync: true });
      await append(spool, visit(1));
      faults.sync = true;
      expect(await refusal(append(spool, visit(2)))).to.include({ code: 'SPOOL_WRITE_FAILED' });
      faults.sync = false;
      await append(spool, visit(3));
      await isShipped(spool);
      expect(bench.log.visitsOf(spool.id)).to.deep.equal([1, 3]);
      expect(numbersOf(bench.log.values)).to.have.members([1, 3]);
    });
  });

  describe('that ships', () => {
    it('ships each visit of an idle spool without waiting for another one', async () => {
      const spool = await bench.open();
      for (const number of range(1, 5)) {
        await append(spool, visit(number));
        await eventually('the visit is shipped', () => bench.log.records.length === number);
      }
    });

    it('ships bounded batches in order, one at a time', async () => {
      let running = 0;
      const spool = await bench.open({
        ship: async (records) => {
          running += 1;
          expect(running).to.equal(1);
          await bench.log.ship(records);
          running -= 1;
        },
      });
      for (let number = 1; number <= 12_000; number += 400) {
        await appendTogether(spool, number, number + 399);
      }
      await isShipped(spool);
      expect(numbersOf(bench.log.values)).to.have.members(range(1, 12_000));
      expect(Math.max(...bench.log.batches.map((batch) => batch.length))).to.be.within(
        1_900,
        2_000,
      );
      expect(spool.counters).to.include({ appended: 12_000, shipped: 12_000, refused: 0 });
    });

    it('retries with backoff until the log is available, and logs that once', async () => {
      bench.log.isUnavailable = true;
      const spool = await bench.open();
      await append(spool, visit(1));
      const begun = performance.now();
      await eventually('there are five more attempts', () => bench.log.attempts > 5);
      // Constant pauses would take at most 250 ms.
      expect(performance.now() - begun).to.be.above(350);
      await append(spool, visit(2));
      bench.log.isUnavailable = false;
      await isShipped(spool);
      expect(bench.log.visitsOf(spool.id)).to.deep.equal([1, 2]);
      expect(bench.logLines.filter(({ msg }) => msg.startsWith('the log'))).lengthOf(2);
    });
  });

  describe('that stops', () => {
    it('ships its visits, deletes its folder, and refuses more visits', async () => {
      const spool = await bench.open();
      const waiting = append(spool, visit(1));
      const stopping = spool.stop();
      expect(await refusal(append(spool, visit(2)))).to.include({ code: 'SPOOL_STOPPED' });
      await waiting;
      await stopping;
      expect(bench.log.visitsOf(spool.id)).to.deep.equal([1]);
      expect(await spoolDirs()).to.deep.equal([]);
    });

    it('leaves visits that are not shipped, and its position, to the next start', async () => {
      const spool = await bench.open();
      await append(spool, visit(1));
      await isShipped(spool);
      bench.log.isUnavailable = true;
      await append(spool, visit(2));
      await spool.stop({ shipWithinMs: 200 });
      expect(await spoolDirs()).to.deep.equal([spool.id]);

      const next = new FakeLog();
      const successor = await bench.open({ ship: next.ship });
      await eventually('one spool is left', async () => (await spoolDirs()).length === 1);
      expect(next.records).to.have.length(1);
      expect(next.visitsOf(spool.id)).to.deep.equal([2]);
      expect(await spoolDirs()).to.deep.equal([successor.id]);
    });

    it('does not wait for a batch that never ends', async () => {
      const spool = await bench.open({ ship: () => new Promise(() => undefined) });
      await append(spool, visit(1));
      await tick();
      await spool.stop({ shipWithinMs: 50 });
      await access(join(bench.root, spool.id));
    });
  });
});

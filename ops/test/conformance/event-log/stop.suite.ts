import { expect } from 'chai';
import { topics } from '../../../../schemas/events/topics.js';
import { eventually, endsWithin } from '../../support/waiting.js';
import type { LogBench } from './bench.js';
import { eventIdOf, newCode, recordsOf } from './events.js';
import { fence } from './reader.js';
import { deferred } from '../../../platform/concurrency/deferred.js';

const links = topics.links.name;

export const describeStop = (bench: () => LogBench): void => {
  describe('stop', () => {
    it('waits for the current batch, and starts no other', async () => {
      const { log, follow, ends, afterwards } = bench();
      const blocked = deferred();
      afterwards(blocked.resolve);
      let started = 0;
      let ended = 0;
      const positions = await ends([links]);
      const reader = follow({
        topics: [links],
        positions,
        maxBatch: 2,
        handle: async () => {
          started += 1;
          await blocked.promise;
          ended += 1;
        },
      });
      // For the same partition and others: no further batch may start.
      const codes = Array.from({ length: 10 }, newCode);
      await log.append(
        links,
        codes.flatMap((code) => recordsOf(links, code, 3)),
      );
      await eventually('a batch is being handled', () => started > 0);
      const stopped = reader.subscription.stop();
      expect(await endsWithin(stopped, 200)).to.be.false;
      const inProgress = started;
      blocked.resolve();
      await stopped;
      expect(ended).to.equal(inProgress);
      expect(started).to.equal(inProgress);
      await reader.subscription.done;
    });

    it('keeps the checkpoint of the last batch: the next reader receives the rest once', async () => {
      const { log, follow, ends } = bench();
      const positions = await ends([links]);
      const records = recordsOf(links, newCode(), 200);
      await log.append(links, records);
      const first = follow({ topics: [links], positions, maxBatch: 10 });
      await first.has(records.slice(0, 40).map(eventIdOf));
      await first.subscription.stop();
      const second = follow({ topics: [links], positions });
      await second.has(records.slice(first.ids.length).map(eventIdOf));
      expect([...first.ids, ...second.ids]).to.deep.equal(records.map(eventIdOf));
    });

    it('works right after the start, and twice', async () => {
      const { log, follow, ends } = bench();
      const positions = await ends([links]);
      await log.append(links, recordsOf(links, newCode(), 3));
      const reader = follow({ topics: [links], positions });
      await Promise.all([reader.subscription.stop(), reader.subscription.stop()]);
      const handled = reader.ids.length;
      await reader.subscription.stop();
      await reader.subscription.done;
      const witness = follow({ topics: [links], positions: await ends([links]) });
      await fence(log, witness, [links]);
      expect(reader.ids).to.have.lengthOf(handled);
    });

    it('does not wait for a partition with failing batches', async () => {
      const { log, follow, ends } = bench();
      let failures = 0;
      const reader = follow({
        topics: [links],
        positions: await ends([links]),
        handle: () => {
          failures += 1;
          return Promise.reject(new Error('injected failure'));
        },
      });
      await log.append(links, recordsOf(links, newCode(), 1));
      // Then the delay between retries is several hundred milliseconds.
      await eventually('the batch failed four times', () => failures >= 4);
      await reader.subscription.stop();
      await reader.subscription.done;
    });
  });
};

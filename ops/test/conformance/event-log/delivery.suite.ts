import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { topics } from '../../../../schemas/events/topics.js';
import { collectLogLines } from '../../support/log-lines.js';
import { eventually } from '../../support/waiting.js';
import type { LogBench } from './bench.js';
import { codeIn, eventIdOf, manyPartitions, newCode, recordsOf } from './events.js';
import { fence, Positions } from './reader.js';
import { deferred } from '../../../platform/concurrency/deferred.js';

const links = topics.links.name;
const visits = topics.visits.name;

export const describeDelivery = (bench: () => LogBench): void => {
  describe('delivery', () => {
    it('resumes in the middle of a batch', async () => {
      const { log, follow, ends } = bench();
      const positions = await ends([links]);
      const end = positions.get(links, 3);
      if (!end) throw new Error('partition not found');
      const records = recordsOf(links, codeIn(links, 3), 10);
      await log.append(links, records);
      positions.set(links, 3, { ...end, offset: end.offset + 7 });
      const reader = follow({ topics: [links], positions, maxBatch: 2 });
      await reader.has(records.slice(7).map(eventIdOf));
      expect(reader.ids).to.deep.equal(records.slice(7).map(eventIdOf));
    });

    it('replays the whole log to a reader without checkpoints', async () => {
      const { log, follow } = bench();
      await log.append(visits, recordsOf(visits, newCode(), 3));
      const reader = follow({ topics: [visits], positions: new Positions() });
      await fence(log, reader, [visits]);
      for (const { partition, first, next } of await log.ranges(visits)) {
        const received = reader.received.filter((record) => record.partition === partition);
        expect(received.map(({ offset }) => offset)).to.deep.equal(
          Array.from({ length: next - first }, (_, index) => first + index),
        );
        let index = 0;
        for await (const { records } of log.read(visits, partition, first, next)) {
          for (const { key, value } of records) {
            expect(received[index]).to.include({ key, value });
            index += 1;
          }
        }
        expect(index).to.equal(next - first);
      }
    });

    it('reaches every group completely', async () => {
      const { log, follow, ends } = bench();
      const readers = [];
      for (let count = 0; count < 3; count += 1) {
        readers.push(follow({ topics: [links], positions: await ends([links]) }));
      }
      const records = recordsOf(links, newCode(), 30);
      await log.append(links, records);
      for (const reader of readers) {
        await reader.has(records.map(eventIdOf));
        expect(reader.ids).to.deep.equal(records.map(eventIdOf));
      }
    });

    it('has the records of all subscribed topics, and no others', async () => {
      const { log, follow, ends } = bench();
      const subscribed = [links, visits] as const;
      const pair = follow({ topics: subscribed, positions: await ends(subscribed) });
      const single = follow({ topics: [visits], positions: await ends(subscribed) });
      const sent = new Map<string, string>();
      for (const topic of manyPartitions) {
        for (const record of recordsOf(topic, newCode(), 4)) {
          await log.append(topic, [record]);
          sent.set(eventIdOf(record), topic);
        }
      }
      await fence(log, pair, subscribed);
      await single.has([...sent].filter(([, topic]) => topic === visits).map(([id]) => id));
      for (const [id, topic] of sent) {
        expect(pair.ids.includes(id), `${topic} to both`).to.equal(topic !== topics.usage.name);
        expect(single.ids.includes(id), `${topic} to single`).to.equal(topic === visits);
      }
      expect(new Set(pair.received.map(({ topic }) => topic))).to.deep.equal(new Set(subscribed));
      for (const record of pair.received) {
        const topic = sent.get(eventIdOf(record));
        if (topic !== undefined) expect(record.topic).to.equal(topic);
      }
    });

    it('is repeated if a reader crashed between its work and its checkpoint', async () => {
      const { log, harness, follow, ends, afterwards } = bench();
      const group = `crash-${newCode()}`;
      const positions = await ends([links]);
      const crashing = await harness.connect();
      const stuck = deferred();
      afterwards(stuck.resolve);
      let worked: readonly string[] = [];
      // Its checkpoints are lost in the crash.
      follow(
        {
          group,
          topics: [links],
          positions: await ends([links]),
          handle: async ({ records }) => {
            worked = records.map(eventIdOf);
            await stuck.promise;
          },
        },
        crashing.log,
      );
      const records = recordsOf(links, newCode(), 5);
      await log.append(links, records);
      await eventually('the work was done', () => worked.length > 0);
      await crashing.crash();

      const successor = follow({ group, topics: [links], positions });
      await successor.has(records.map(eventIdOf));
      expect(successor.ids).to.deep.equal(records.map(eventIdOf));
      expect(successor.ids).to.include.members([...worked]);
    });

    it('waits for a slow handler: one batch of bounded size for each partition', async () => {
      const { log, follow, ends } = bench();
      const code = codeIn(links, 1);
      const maxBatch = 20;
      const backlog = recordsOf(links, code, 300);
      const positions = await ends([links]);
      await log.append(links, backlog);
      let inProgress = 0;
      let most = 0;
      let batches = 0;
      const reader = follow({
        topics: [links],
        positions,
        maxBatch,
        handle: async ({ records }) => {
          batches += 1;
          inProgress += records.length;
          most = Math.max(most, inProgress);
          await sleep(3);
          inProgress -= records.length;
        },
      });
      await reader.has(backlog.map(eventIdOf));
      expect(reader.ids).to.deep.equal(backlog.map(eventIdOf));
      expect(most).to.be.at.most(maxBatch);
      expect(batches).to.be.at.least(backlog.length / maxBatch);
    });
  });

  describe('a handler that throws', () => {
    it('receives the batch again, without a lost record', async () => {
      const { log, follow, ends } = bench();
      const records = recordsOf(links, newCode(), 10);
      const attempts: string[][] = [];
      const reader = follow({
        topics: [links],
        positions: await ends([links]),
        maxBatch: 4,
        handle: (batch) => {
          attempts.push(batch.records.map(eventIdOf));
          return attempts.length <= 3
            ? Promise.reject(new Error('injected failure'))
            : Promise.resolve();
        },
      });
      await log.append(links, records);
      await reader.has(records.map(eventIdOf));
      expect(reader.ids).to.deep.equal(records.map(eventIdOf));
      for (const attempt of attempts.slice(0, 4)) {
        expect(attempt[0]).to.equal(records.map(eventIdOf)[0]);
      }
    });

    it('continues at the current checkpoint, not at the failed batch', async () => {
      const { log, follow, ends } = bench();
      const code = codeIn(links, 2);
      const positions = await ends([links]);
      const start = positions.get(links, 2);
      if (!start) throw new Error('partition not found');
      const records = recordsOf(links, code, 6);
      await log.append(links, records);
      let failed = false;
      const reader = follow({
        topics: [links],
        positions,
        handle: () => {
          if (failed) return Promise.resolve();
          failed = true;
          // As if another reader of the group handled the first four.
          positions.set(links, 2, { ...start, offset: start.offset + 4 });
          return Promise.reject(new Error('not at the checkpoint'));
        },
      });
      const rest = records.slice(4).map(eventIdOf);
      await reader.has(rest);
      expect(reader.ids).to.deep.equal(rest);
    });

    it('logs one line about all partitions, and is then silent for a minute', async () => {
      const { harness, follow, ends } = bench();
      const { logger, lines } = collectLogLines();
      const { log } = await harness.connect(logger);
      const group = 'failing';
      let failures = 0;
      const handle = (): Promise<void> => {
        failures += 1;
        return failures <= 20 ? Promise.reject(new Error('injected failure')) : Promise.resolve();
      };
      const reader = follow(
        { group, topics: [links], positions: await ends([links]), handle },
        log,
      );
      const records = [0, 1, 2, 3].flatMap((at) => recordsOf(links, codeIn(links, at), 1));
      await log.append(links, records);
      await reader.has(records.map(eventIdOf));
      expect(lines.filter((line) => line['group'] === group).map(({ msg }) => msg)).to.deep.equal([
        'the log cannot be read; trying again',
      ]);
    });

    it('does not delay other partitions', async () => {
      const { log, follow, ends, afterwards } = bench();
      let failing = true;
      afterwards(() => {
        failing = false;
      });
      const failures: number[] = [];
      const reader = follow({
        topics: [links],
        positions: await ends([links]),
        handle: ({ partition }) => {
          if (partition !== 0 || !failing) return Promise.resolve();
          failures.push(partition);
          return Promise.reject(new Error('injected failure'));
        },
      });
      const stuck = recordsOf(links, codeIn(links, 0), 3);
      await log.append(links, stuck);
      await eventually('the partition fails', () => failures.length > 1);
      const others = [1, 4, 7].flatMap((partition) =>
        recordsOf(links, codeIn(links, partition), 2),
      );
      await log.append(links, others);
      await reader.has(others.map(eventIdOf));
      expect(stuck.map(eventIdOf).filter((id) => reader.ids.includes(id))).to.deep.equal([]);
      failing = false;
      await reader.has(stuck.map(eventIdOf));
      expect([...reader.ids].sort()).to.deep.equal([...others, ...stuck].map(eventIdOf).sort());
    });
  });
};

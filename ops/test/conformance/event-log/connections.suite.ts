import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { topics } from '../../../../schemas/events/topics.js';
import type { NewRecord } from '../../../event-log/port.js';
import { toRecords } from '../../support/to-records.js';
import type { LogBench } from './bench.js';
import { eventIdOf, newCode, recordsOf } from './events.js';
import { fence } from './reader.js';

const links = topics.links.name;

export const describeConnections = (bench: () => LogBench): void => {
  describe('lost connections', () => {
    /** Retries like every sender, which may cause a repeat. */
    const appendWithRetry = async (records: readonly NewRecord[]): Promise<void> => {
      for (;;) {
        try {
          await bench().log.append(links, records);
          return;
        } catch {
          await sleep(20);
        }
      }
    };

    it('lose no record while records are written, read and handled', async () => {
      const { log, harness, follow, ends } = bench();
      const from = await ends([links]);
      const reader = follow({
        topics: [links],
        positions: await ends([links]),
        maxBatch: 5,
        handle: () => sleep(2),
      });
      const sent: string[] = [];
      let cutting = true;
      const writer = async (): Promise<void> => {
        const code = newCode();
        while (cutting) {
          const records = recordsOf(links, code, 4);
          await appendWithRetry(records);
          sent.push(...records.map(eventIdOf));
          await sleep(3);
        }
      };
      const writers = Promise.all([writer(), writer(), writer()]);
      for (let cut = 0; cut < 6; cut += 1) {
        await sleep(60 + 20 * cut);
        await harness.cutConnections();
      }
      cutting = false;
      await writers;
      await reader.has(sent);
      const due = new Map<number, number>();
      for (const { partition, offset } of reader.received) {
        const expected = due.get(partition) ?? from.get(links, partition)?.offset;
        expect(offset, `partition ${partition}`).to.equal(expected);
        due.set(partition, offset + 1);
      }
      await fence({ append: (_, records) => appendWithRetry(toRecords(records)) }, reader, [links]);
      expect(await log.ranges(links)).to.have.lengthOf(8);
    });
  });
};

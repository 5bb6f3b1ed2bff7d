import { expect } from 'chai';
import { topics } from '../../../../schemas/events/topics.js';
import { eventually, rejection } from '../../support/waiting.js';
import { ForeignPosition, type Position } from '../../../event-log/port.js';
import type { LogBench } from './bench.js';
import { codeIn, eventIdOf, recordsOf } from './events.js';
import { Positions } from './reader.js';

const links = topics.links.name;
const partition = 5;

export const describePositions = (bench: () => LogBench): void => {
  describe('a checkpoint', () => {
    const here = async (): Promise<Position & { readonly first: number }> => {
      const { log } = bench();
      const range = (await log.ranges(links)).find((known) => known.partition === partition);
      if (!range) throw new RangeError(`no partition ${partition}`);
      return { logId: log.logId(links), offset: range.next, first: range.first };
    };

    const foreign: readonly (readonly [string, () => Promise<Position>])[] = [
      ['of another log', async () => ({ ...(await here()), logId: 'another' })],
      [
        'of another topic of this log',
        async () => ({ ...(await here()), logId: bench().log.logId(topics.visits.name) }),
      ],
      [
        'beyond the end',
        async () => {
          const { logId, offset } = await here();
          return { logId, offset: offset + 1 };
        },
      ],
      [
        'before the start',
        async () => {
          const { logId, first } = await here();
          return { logId, offset: first - 1 };
        },
      ],
    ];

    for (const [what, position] of foreign) {
      it(`${what} is refused, and no record of its partition is handled`, async () => {
        const { log, follow } = bench();
        await log.append(links, recordsOf(links, codeIn(links, partition), 2));
        const positions = new Positions();
        positions.set(links, partition, await position());
        const reader = follow({ topics: [links], positions });
        const error = await rejection(reader.subscription.done);
        expect(error).to.be.instanceOf(ForeignPosition);
        expect(error).to.have.property('code', 'FOREIGN_POSITION');
        expect((error as Error).message).to.include(`${links}/${partition}`);
        await reader.subscription.stop();
        expect(reader.received.filter((record) => record.partition === partition)).to.be.empty;
      });
    }

    it('that becomes foreign while the reader runs is refused at the next read', async () => {
      const { log, follow, ends } = bench();
      const positions = await ends([links]);
      const reader = follow({
        topics: [links],
        positions,
        handle: () => {
          positions.set(links, partition, { logId: 'another', offset: 0 });
          return Promise.reject(new Error('tables swapped'));
        },
      });
      await log.append(links, recordsOf(links, codeIn(links, partition), 1));
      expect(await rejection(reader.subscription.done)).to.be.instanceOf(ForeignPosition);
    });

    it('that another reader moves past new records during the read is accepted', async () => {
      const { log, follow, ends } = bench();
      const positions = await ends([links]);
      const theirs = recordsOf(links, codeIn(links, partition), 1);
      let isRead = false;
      let moved = false;
      const reader = follow({
        topics: [links],
        positions,
        async position(topic, which) {
          if (which === partition && !isRead) {
            isRead = true;
            await log.append(links, theirs);
            positions.set(links, partition, await here());
            moved = true;
          }
          return positions.get(topic, which);
        },
      });
      const ours = recordsOf(links, codeIn(links, partition), 1);
      await eventually('the other reader has moved the checkpoint', () => moved);
      await log.append(links, ours);
      await reader.has(ours.map(eventIdOf));
      expect(reader.ids).not.to.include.members(theirs.map(eventIdOf));
    });

    it('that a command moves back is read again by an idle reader, after a notification', async () => {
      const { log, harness, follow, ends } = bench();
      const positions = await ends([links]);
      const records = recordsOf(links, codeIn(links, partition), 2);
      const before = await here();
      await log.append(links, records);
      const group = 'moved-back';
      const reader = follow({ group, topics: [links], positions });
      await reader.has(records.map(eventIdOf));
      positions.set(links, partition, before);
      await harness.notifyMoved(group);
      await eventually('the records are handled again', () => reader.received.length === 4);
      expect(reader.ids.slice(2)).to.deep.equal(records.map(eventIdOf));
    });

    it('has the same log id in every client', async () => {
      const { log, harness } = bench();
      const other = await harness.connect();
      expect(other.log.logId(links)).to.equal(log.logId(links));
    });
  });
};

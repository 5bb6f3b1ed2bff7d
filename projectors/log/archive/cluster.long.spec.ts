import { expect } from 'chai';
import { archiveUnderKills, type Fault } from '../../../ops/test/support/archive/kills.js';

const kinds = ['kill leader', 'hang leader', 'lose quorum'] as const satisfies readonly Fault[];

describe('archive: faults of a cluster', () => {
  for (const shift of [0, 1, 2]) {
    const order = [...kinds.slice(shift), ...kinds.slice(0, shift)];
    it(`stores each of 20,000 events once, in order: 12 times ${order.join(', ')}`, async () => {
      const faults = Array.from({ length: 12 }, (_, index) => order[index % 3] ?? 'kill leader');
      const report = await archiveUnderKills({ events: 20_000, faults });
      expect(report).to.deep.include({ wrong: [], archived: 20_000, started: 1, deadLetters: 0 });
      process.stdout.write(`${JSON.stringify({ ...report, faults: order })}\n`);
    });
  }
});

import { expect } from 'chai';
import { archiveUnderKills } from '../../../ops/test/support/archive/kills.js';

describe('archive: faults of a cluster', () => {
  it('stores each event once, in order, while it loses its leader and its quorum', async () => {
    const faults = ['kill leader', 'lose quorum'] as const;
    const report = await archiveUnderKills({ events: 1_000, faults });
    expect(report).to.deep.include({ wrong: [], archived: 1_000, started: 1, deadLetters: 0 });
  });
});

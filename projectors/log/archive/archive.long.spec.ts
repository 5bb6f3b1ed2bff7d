import { expect } from 'chai';
import { archiveUnderKills } from '../../../ops/test/support/archive/kills.js';

describe('archive: archive of 100,000 events, EventStoreDB killed 20 times', function () {
  this.timeout(3_600_000);

  it('stores each event once, in order, in every stream', async () => {
    const report = await archiveUnderKills({ events: 100_000, kills: 20 });
    console.info(JSON.stringify(report));
    expect(report).to.deep.include({ wrong: [], archived: 100_000, kills: 20 });
  });
});

import { expect } from 'chai';
import { concurrently } from '../support/http.js';
import { sharedProduct } from './harness.js';

describe('races', () => {
  const bench = sharedProduct();

  it('of a 201 with other visitors: the link redirects from the 201 on', async () => {
    const { key } = await bench.key('PRO', { account: 'races' });
    for (let round = 0; round < 10; round += 1) {
      const alias = `live-before-birth-${round}`;
      let isLive = false;
      const visitUntilLive = async (): Promise<void> => {
        for (let wasLive = false; !wasLive;) {
          // Whether the 201 was received before the visit.
          wasLive = isLive;
          const { status } = await bench.visit(alias);
          expect(status).to.be.oneOf(wasLive ? [302] : [302, 404]);
        }
      };
      const visitors = concurrently(20, visitUntilLive);
      await bench.link(key, { alias });
      isLive = true;
      await visitors;
    }
  });
});

import { expect } from 'chai';
import { isReservedAlias } from './reserved-alias.js';

describe('the reserved aliases', () => {
  const routes = ['admin', 'api', 'docs', 'health', 'metrics', 'openapi', 'qr', 'robots', 'stats'];
  for (const alias of [...routes, 'shorten', 'usage', 'favicon', 'well-known', 'v1', 'v2', 'v42']) {
    it(`are those of a route, whatever their case: ${alias}`, () => {
      expect(isReservedAlias(alias)).to.be.true;
      expect(isReservedAlias(alias.toUpperCase())).to.be.true;
    });
  }

  for (const alias of ['my-api', 'apis', 'administrator-letter', 'v2-launch', 'vv2', 'spring']) {
    it(`are whole aliases, and so not ${alias}`, () => {
      expect(isReservedAlias(alias)).to.be.false;
    });
  }
});

import { expect } from 'chai';
import { isAway } from './away.js';

describe('platform: whether PostgreSQL is away', () => {
  const withCode = (code: string): Error => Object.assign(new Error('failed'), { code });

  for (const code of [
    ...['ECONNREFUSED', 'EAI_AGAIN', 'ERR_STREAM_DESTROYED'],
    ...['57P01', '53000', '53100', '53200', '53300', '53400', '25006'],
  ]) {
    it(`it is, by ${code}`, () => {
      expect(isAway(withCode(code))).to.equal(true);
    });
  }

  for (const code of ['ERR_HTTP_HEADERS_SENT', 'ERR_INVALID_ARG_TYPE', '23505', 'OVERLOADED']) {
    it(`it is not, by ${code}`, () => {
      expect(isAway(withCode(code))).to.equal(false);
    });
  }
});

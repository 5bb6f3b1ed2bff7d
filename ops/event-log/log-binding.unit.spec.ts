import { expect } from 'chai';
import { ForeignLog } from './log-binding.js';

describe('event log: the log of another installation', () => {
  it('is named without the separator of an empty prefix', () => {
    const { message } = new ForeignLog('kafka:AbC:', 'kafka:dEf:staging.');
    expect(message).to.include(
      'belongs to the log kafka:AbC, the configured one is kafka:dEf:staging.: to',
    );
    expect(new ForeignLog('postgres', 'kafka:AbC:').message).to.include(
      'one is kafka:AbC: to move',
    );
  });
});

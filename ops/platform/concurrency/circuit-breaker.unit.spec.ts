import { expect } from 'chai';
import { createCircuitBreaker, type CircuitBreaker } from './circuit-breaker.js';

describe('platform: circuit breaker', () => {
  let time: number;
  let changes: string[];
  let breaker: CircuitBreaker;
  beforeEach(() => {
    time = 0;
    changes = [];
    breaker = createCircuitBreaker({
      failures: 3,
      pauseMs: 1_000,
      now: () => time,
      onChange: (state) => changes.push(state),
    });
  });
  const fail = (times: number): void => {
    for (let time = 0; time < times; time += 1) breaker.failed();
  };

  it('permits calls until some in a row have failed', () => {
    fail(2);
    expect(breaker.permits()).to.be.true;
    fail(1);
    expect(breaker.permits()).to.be.false;
    expect(changes).to.deep.equal(['open']);
  });

  it('resets the failures after a success', () => {
    fail(2);
    breaker.succeeded();
    fail(2);
    expect(breaker.permits()).to.be.true;
    expect(changes).to.deep.equal([]);
  });

  it('lets one probe through after the pause, and closes when it succeeds', () => {
    fail(3);
    time = 999;
    expect(breaker.permits()).to.be.false;
    time = 1_000;
    expect(breaker.permits()).to.be.true;
    expect(breaker.permits()).to.be.false;
    breaker.succeeded();
    expect(breaker.permits()).to.be.true;
    fail(2);
    expect(breaker.permits()).to.be.true;
    expect(changes).to.deep.equal(['open', 'probing', 'closed']);
  });

  it('pauses again when the probe fails', () => {
    fail(3);
    time = 1_000;
    breaker.permits();
    fail(1);
    time = 1_999;
    expect(breaker.permits()).to.be.false;
    time = 2_000;
    expect(breaker.permits()).to.be.true;
    expect(changes).to.deep.equal(['open', 'probing', 'open', 'probing']);
  });
});

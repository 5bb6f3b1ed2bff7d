import { expect } from 'chai';
import { rejection } from '../../test/support/waiting.js';
import { Backoff, createCircuitBreaker, retry, type CircuitBreaker } from './retry.js';

const pauses = { firstMs: 1, longestMs: 4 };

const failing = (failures: number) => {
  let calls = 0;
  return {
    calls: () => calls,
    work: () => {
      calls += 1;
      return calls <= failures ? Promise.reject(new Error(`${calls}`)) : Promise.resolve('done');
    },
  };
};

describe('platform: retry', () => {
  it('tries until it succeeds, and reports each failure', async () => {
    const { work, calls } = failing(3);
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => failures.push((error as Error).message);
    expect(await retry(work, { pauses, onFailure })).to.equal('done');
    expect(calls()).to.equal(4);
    expect(failures).to.deep.equal(['1', '2', '3']);
  });

  it('throws the last failure when no attempt is left', async () => {
    const { work, calls } = failing(9);
    const error = await rejection(retry(work, { pauses, attempts: 3 }));
    expect(error).to.have.property('message', '3');
    expect(calls()).to.equal(3);
  });

  it('resets the pauses after an attempt of steadyMs', async () => {
    const { work, calls } = failing(20);
    // Pauses that double would take minutes.
    await retry(work, { pauses: { firstMs: 1, longestMs: 600_000 }, steadyMs: 0 });
    expect(calls()).to.equal(21);
  });

  it('throws an error that is not retryable immediately', async () => {
    const { work, calls } = failing(9);
    await rejection(retry(work, { pauses, isRetryable: () => false }));
    expect(calls()).to.equal(1);
  });

  it('ends with the signal’s reason, in a pause as well', async () => {
    const ended = new AbortController();
    const { work, calls } = failing(9);
    const retrying = rejection(
      retry(work, {
        pauses: { firstMs: 10_000, longestMs: 10_000 },
        signal: ended.signal,
        onFailure: () => {
          setImmediate(() => {
            ended.abort(new Error('stopped'));
          });
        },
      }),
    );
    expect(await retrying)
      .to.have.property('cause')
      .that.has.property('message', 'stopped');
    expect(calls()).to.equal(1);
  });
});

describe('platform: backoff', () => {
  it('doubles its pauses up to the longest, until a reset', () => {
    const backoff = new Backoff(pauses);
    expect([1, 2, 3, 4].map(() => backoff.next())).to.deep.equal([1, 2, 4, 4]);
    backoff.reset();
    expect(backoff.next()).to.equal(1);
  });
});

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

import { expect } from 'chai';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { created, idOf, visited } from '../../../schemas/testing/events.js';
import { LogCopy } from './log-copy.js';
import { countLog } from './log-counts.js';
import { noPromises, promiseLink, type Promises } from './promises.js';

const source = spoolSource(idOf('spool'));

/** Promises of a link without a limit and a link with a limit. */
const promised = (redirected: number): Promises => {
  const promises = noPromises();
  for (const [code, maxClicks] of [
    ['free', null],
    ['limited', 10],
  ] as const) {
    const link = promiseLink(promises, { code, url: 'https://example.com/', maxClicks });
    link.redirected = redirected;
  }
  return promises;
};

describe('chaos: counts of the log', () => {
  it('count acknowledged links, visits and limited clicks, and a repeat once', () => {
    const visit = visited('free', null, { source, sequence: 1 });
    const log = LogCopy.of(
      created('free'),
      created('limited'),
      visit,
      visit,
      visited('limited', 1),
    );
    const count = { acknowledged: 1, found: 1, missing: 0, unanswered: 0 };
    expect(countLog(promised(1), log)).to.deep.equal({
      links: { acknowledged: 2, found: 2, missing: 0, unanswered: 0 },
      ...{ visits: count, limitedClicks: count },
      ...{ spools: 1, subjects: 3, gaps: 0 },
    });
  });

  it('report a missing link, visit, click and sequence number', () => {
    const log = LogCopy.of(created('free'), visited('free', null, { source, sequence: 2 }));
    const counts = countLog(promised(2), log);
    expect(counts.links.missing).to.equal(1);
    expect(counts.visits.missing).to.equal(1);
    expect(counts.limitedClicks.missing).to.equal(2);
    expect(counts.gaps).to.equal(1);
  });
});

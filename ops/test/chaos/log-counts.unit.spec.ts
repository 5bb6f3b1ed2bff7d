import { expect } from 'chai';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf, writeEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { created, idOf, visited } from '../../../schemas/testing/events.js';
import { LogCopy } from './log-copy.js';
import { countLog } from './log-counts.js';
import { noPromises, promiseLink, type Promises } from './promises.js';

const source = spoolSource(idOf('spool'));

const copyOf = (events: readonly LinklogEvent[]): LogCopy => {
  const copy = new LogCopy();
  for (const event of events) {
    const topic = topicOf(event);
    const place = { topic, partition: 0, offset: copy.next(topic, 0) };
    copy.add({ ...place, value: writeEvent(event) });
  }
  return copy;
};

/** Promises of a link without a limit and of one with a limit, each redirected so many times. */
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
  it('has the acknowledged links, visits and limited clicks, a repeat once', () => {
    const visit = visited('free', null, { source, sequence: 1 });
    const log = copyOf([created('free'), created('limited'), visit, visit, visited('limited', 1)]);
    const count = { acknowledged: 1, found: 1, missing: 0, unanswered: 0 };
    expect(countLog(promised(1), log)).to.deep.equal({
      links: { acknowledged: 2, found: 2, missing: 0, unanswered: 0 },
      ...{ visits: count, limitedClicks: count },
      ...{ spools: 1, subjects: 3, gaps: 0 },
    });
  });

  it('reports what is missing: a link, a visit, a click, a sequence number', () => {
    const log = copyOf([created('free'), visited('free', null, { source, sequence: 2 })]);
    const counts = countLog(promised(2), log);
    expect(counts.links.missing).to.equal(1);
    expect(counts.visits.missing).to.equal(1);
    expect(counts.limitedClicks.missing).to.equal(2);
    expect(counts.gaps).to.equal(1);
  });
});

import { expect } from 'chai';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf, writeEvent } from '../../../schemas/events/codec.js';
import {
  at,
  created,
  deleted,
  disabled,
  edited,
  visited,
} from '../../../schemas/testing/events.js';
import { LogCopy } from './log-copy.js';
import { lateClickFaults, servedFaults, versionFaults } from './managed-links.js';
import { noPromises, promiseLink, type ManagedLink } from './promises.js';

const [made, later] = ['https://example.com/abc', 'https://example.com/later'];

const copyOf = (...events: readonly LinklogEvent[]): LogCopy => {
  const copy = new LogCopy();
  for (const event of events) {
    const topic = topicOf(event);
    copy.add({ topic, partition: 0, offset: copy.next(topic, 0), value: writeEvent(event) });
  }
  return copy;
};

const managed = (...served: readonly (readonly [string, string])[]): ManagedLink => ({
  link: promiseLink(noPromises(), { code: 'abc', url: made, maxClicks: 100 }),
  urls: new Set([made, later]),
  served: new Map(served),
  deletion: 'none',
  isBusy: false,
});

describe('chaos: owners’ changes held against the log', () => {
  const log = copyOf(created('abc'), edited('abc', 2, { url: later }), disabled('abc', 3));

  it('are found at the version that their answers named', () => {
    const is = { url: later, disabled: true };
    expect(versionFaults([{ code: 'abc', version: 3, is }], log)).to.deep.equal([]);
    expect(versionFaults([{ code: 'abc', version: 2, is: { url: later } }], log)).to.be.empty;
    for (const version of [1, 2, 4]) {
      expect(versionFaults([{ code: 'abc', version, is }], log)).to.have.length(1);
    }
    expect(versionFaults([{ code: 'other', version: 1, is: {} }], log)).to.have.length(1);
  });

  it('are what the visits of their versions led to', () => {
    const visit = (click: number, version: number): LinklogEvent => {
      const event = visited('abc', click, { correlationId: `request-${click}` });
      return { ...event, data: { ...event.data, version } };
    };
    const visits = copyOf(
      created('abc'),
      edited('abc', 2, { url: later }),
      visit(1, 1),
      visit(2, 2),
    );
    const right = managed(['request-1', made], ['request-2', later]);
    expect(servedFaults([right], visits)).to.deep.equal([]);
    expect(servedFaults([managed(['request-1', later])], visits)).to.have.length(1);
    expect(servedFaults([managed(['request-3', later])], visits)).to.have.length(1);
  });

  it('end the clicks of a limit where they delete', () => {
    const ended = (seconds: number): LogCopy =>
      copyOf(
        created('abc', { maxClicks: 100 }),
        visited('abc', 1, { time: at(seconds) }),
        deleted('abc', 2, { time: at(5) }),
      );
    expect(lateClickFaults([managed()], ended(5))).to.deep.equal([]);
    expect(lateClickFaults([managed()], ended(6))).to.have.length(1);
  });
});

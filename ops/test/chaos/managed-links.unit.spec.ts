import { expect } from 'chai';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
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

const [first, later] = ['https://example.com/abc', 'https://example.com/later'];

const managed = (...served: readonly (readonly [string, string])[]): ManagedLink => ({
  link: promiseLink(noPromises(), { code: 'abc', url: first, maxClicks: 100 }),
  urls: new Set([first, later]),
  served: new Map(served),
  deletion: 'none',
  isBusy: false,
});

describe('chaos: comparison of owners’ changes and log', () => {
  const log = LogCopy.of(created('abc'), edited('abc', 2, { url: later }), disabled('abc', 3));

  it('finds changes that the log does not have at the version of the response', () => {
    const is = { url: later, disabled: true };
    expect(versionFaults([{ code: 'abc', version: 3, is }], log)).to.deep.equal([]);
    expect(versionFaults([{ code: 'abc', version: 2, is: { url: later } }], log)).to.be.empty;
    for (const version of [1, 2, 4]) {
      expect(versionFaults([{ code: 'abc', version, is }], log)).to.have.length(1);
    }
    expect(versionFaults([{ code: 'other', version: 1, is: {} }], log)).to.have.length(1);
  });

  it('finds visits that were redirected to another version', () => {
    const visit = (click: number, version: number): LinklogEvent => {
      const event = visited('abc', click, { correlationId: `request-${click}` });
      return { ...event, data: { ...event.data, version } };
    };
    const visits = LogCopy.of(
      created('abc'),
      edited('abc', 2, { url: later }),
      visit(1, 1),
      visit(2, 2),
    );
    const correct = managed(['request-1', first], ['request-2', later]);
    expect(servedFaults([correct], visits)).to.deep.equal([]);
    expect(servedFaults([managed(['request-1', later])], visits)).to.have.length(1);
    expect(servedFaults([managed(['request-3', later])], visits)).to.have.length(1);
  });

  it('finds clicks of a limit after the deletion', () => {
    const ended = (seconds: number): LogCopy =>
      LogCopy.of(
        created('abc', { maxClicks: 100 }),
        visited('abc', 1, { time: at(seconds) }),
        deleted('abc', 2, { time: at(5) }),
      );
    expect(lateClickFaults([managed()], ended(5))).to.deep.equal([]);
    expect(lateClickFaults([managed()], ended(6))).to.have.length(1);
  });
});

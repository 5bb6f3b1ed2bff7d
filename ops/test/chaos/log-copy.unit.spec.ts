import { expect } from 'chai';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf, writeEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { blocked, created, idOf, visited } from '../../../schemas/testing/events.js';
import { LogCopy } from './log-copy.js';
import { differences, type ReadModels } from './read-models.js';

const source = spoolSource(idOf('spool'));

/** A copy of these events, all of them in one partition of their topic. */
const copyOf = (events: readonly LinklogEvent[]): LogCopy => {
  const copy = new LogCopy();
  for (const event of events) {
    const topic = topicOf(event);
    const offset = copy.next(topic, 0);
    copy.add({ topic, partition: 0, offset, value: writeEvent(event) });
  }
  return copy;
};

const visitOf = (code: string, sequence: number): LinklogEvent =>
  visited(code, null, { source, sequence });

describe('chaos: copy of the log', () => {
  it('counts an event once, however often it was sent', () => {
    const copy = copyOf([visitOf('abc', 1), visitOf('abc', 2), visitOf('abc', 1)]);
    expect(copy.visits.get('abc')).to.have.length(2);
    expect([copy.records, copy.repeats]).to.deep.equal([3, 1]);
    expect(copy.faults).to.deep.equal([]);
  });

  it('finds two events that have one number', () => {
    const copy = copyOf([created('abc'), created('abc', {}, { id: idOf('another') })]);
    expect(copy.faults).to.have.length(1);
  });

  it('finds an event that comes first behind a later one: readers would take it for a repeat', () => {
    const copy = copyOf([visitOf('abc', 2), visitOf('abc', 1)]);
    expect(copy.faults).to.have.length(1);
  });

  it('finds a number that was never sent', () => {
    expect(copyOf([created('abc'), blocked('abc', 2)]).gaps()).to.deep.equal([]);
    expect(copyOf([created('abc'), blocked('abc', 3)]).gaps()).to.have.length(1);
  });

  it('finds an offset that is missing', () => {
    const copy = copyOf([]);
    const event = created('abc');
    copy.add({ topic: topicOf(event), partition: 0, offset: 1, value: writeEvent(event) });
    expect(copy.faults).to.have.length(1);
  });
});

describe('chaos: read models held against the log', () => {
  const log = copyOf([created('abc'), visitOf('abc', 1), visitOf('abc', 2)]);
  const row = {
    code: 'abc',
    status: 'active' as const,
    expired: null,
    url: 'https://example.com/abc',
    account: 'default',
    created_at: new Date(created('abc').time),
    expires_at: null,
    max_clicks: null,
    password_hash: null,
    sequence: 1,
    blocked: null,
    disabled: null,
    custom: null,
    title: null,
    note: null,
    tags: null,
    updated_at: null,
    live_since: null,
    original: null,
    starts_at: null,
  };
  const readModels = (rows: (typeof row)[], clicks: number, applied: number): ReadModels => ({
    redirects: { checkpoints: new Map([['linklog.links.v1/0', rows.length]]), rows },
    stats: {
      checkpoints: new Map([['linklog.visits.v1/0', applied]]),
      clicks: new Map(clicks === 0 ? [] : [['abc', clicks]]),
    },
  });

  it('are its fold up to their checkpoints', () => {
    expect(differences(readModels([], 0, 0), log)).to.deep.equal([]);
    expect(differences(readModels([row], 1, 1), log)).to.deep.equal([]);
    expect(differences(readModels([row], 2, 2), log)).to.deep.equal([]);
  });

  it('are found to differ: a row, a click too many, one too few', () => {
    const other = { ...row, url: 'https://example.com/other' };
    expect(differences(readModels([other], 2, 2), log)).to.have.length(1);
    expect(differences(readModels([row], 3, 2), log)).to.have.length(1);
    expect(differences(readModels([row], 1, 2), log)).to.have.length(1);
  });
});

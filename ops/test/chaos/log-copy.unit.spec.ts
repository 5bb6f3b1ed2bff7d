import { expect } from 'chai';
import type { LinklogEvent } from '../../../schemas/events/catalogue.js';
import { topicOf, writeEvent } from '../../../schemas/events/codec.js';
import { spoolSource } from '../../../schemas/events/envelope.js';
import { blocked, created, idOf, visited } from '../../../schemas/testing/events.js';
import { LogCopy } from './log-copy.js';
import { differences, type ReadModels } from './read-models.js';

const source = spoolSource(idOf('spool'));

const visitOf = (code: string, sequence: number): LinklogEvent =>
  visited(code, null, { source, sequence });

describe('chaos: copy of the log', () => {
  it('counts a repeated event once', () => {
    const copy = LogCopy.of(visitOf('abc', 1), visitOf('abc', 2), visitOf('abc', 1));
    expect(copy.visits.get('abc')).to.have.length(2);
    expect([copy.records, copy.repeats]).to.deep.equal([3, 1]);
    expect(copy.faults).to.deep.equal([]);
  });

  it('finds two events with one sequence number', () => {
    const copy = LogCopy.of(created('abc'), created('abc', {}, { id: idOf('another') }));
    expect(copy.faults).to.have.length(1);
  });

  it('finds an event after one with a higher sequence number', () => {
    const copy = LogCopy.of(visitOf('abc', 2), visitOf('abc', 1));
    expect(copy.faults).to.have.length(1);
  });

  it('finds a missing sequence number', () => {
    expect(LogCopy.of(created('abc'), blocked('abc', 2)).gaps()).to.deep.equal([]);
    expect(LogCopy.of(created('abc'), blocked('abc', 3)).gaps()).to.have.length(1);
  });

  it('finds a missing offset', () => {
    const copy = LogCopy.of();
    const event = created('abc');
    copy.add({ topic: topicOf(event), partition: 0, offset: 1, value: writeEvent(event) });
    expect(copy.faults).to.have.length(1);
  });
});

describe('chaos: comparison of read models and log', () => {
  const log = LogCopy.of(created('abc'), visitOf('abc', 1), visitOf('abc', 2));
  const row = {
    subject: 'abc',
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
    rules: null,
    forward_query: null,
  };
  const readModels = (rows: (typeof row)[], clicks: number, applied: number): ReadModels => ({
    redirects: { checkpoints: new Map([['linklog.links.v1/0', rows.length]]), rows },
    stats: {
      checkpoints: new Map([['linklog.visits.v1/0', applied]]),
      clicks: new Map(clicks === 0 ? [] : [['abc', clicks]]),
    },
  });

  it('accepts the fold of the log up to the checkpoints', () => {
    expect(differences(readModels([], 0, 0), log)).to.deep.equal([]);
    expect(differences(readModels([row], 1, 1), log)).to.deep.equal([]);
    expect(differences(readModels([row], 2, 2), log)).to.deep.equal([]);
  });

  it('finds a different row, an additional click and a missing click', () => {
    const other = { ...row, url: 'https://example.com/other' };
    expect(differences(readModels([other], 2, 2), log)).to.have.length(1);
    expect(differences(readModels([row], 3, 2), log)).to.have.length(1);
    expect(differences(readModels([row], 1, 2), log)).to.have.length(1);
  });
});

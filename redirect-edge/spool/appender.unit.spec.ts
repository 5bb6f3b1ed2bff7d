import { expect } from 'chai';
import { version } from 'uuid';
import { readEvent } from '../../schemas/events/codec.js';
import { unknownVisitor } from '../domain/visit-facts.js';
import { eventIds, visitEvent } from './appender.js';

describe('redirect edge: visit’s event', () => {
  const at = new Date('2026-01-02T03:04:05.678Z');

  it('names its source and the request that caused it', () => {
    const id = eventIds()();
    const facts = unknownVisitor(true, { sequence: 3 });
    const visit = { code: 'spring', at, facts, account: 'acme', requestId: 'r-1' };
    expect(readEvent(visitEvent(visit, id, '/linklog/spool/s', 42))).to.deep.equal({
      specversion: '1.0',
      id,
      type: 'linklog.LinkVisited.v2',
      source: '/linklog/spool/s',
      subject: 'spring',
      time: '2026-01-02T03:04:05.678Z',
      datacontenttype: 'application/json',
      sequence: 42,
      account: 'acme',
      correlationid: 'r-1',
      data: { click: null, ...facts },
    });
  });

  it('needs neither account nor request id', () => {
    const facts = unknownVisitor(false, { sequence: 1 });
    const event = readEvent(visitEvent({ code: 'spring', at, facts }, eventIds()(), '/s', 1));
    expect(event).to.not.have.any.keys('account', 'correlationid');
  });

  it('has a UUIDv7 of its own', () => {
    const newId = eventIds();
    const ids = Array.from({ length: 1000 }, newId);
    expect(new Set(ids).size).to.equal(1000);
    expect(ids.every((id) => version(id) === 7)).to.be.true;
  });
});

import { expect } from 'chai';
import { eventLine } from './events.js';

const event = {
  specversion: '1.0',
  id: '01990000-0000-7000-8000-000000000000',
  type: 'linklog.LinkDescribed.v1',
  source: '/linklog/ledger',
  subject: 'go.example.com/spring',
  time: '2026-05-20T12:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: '0000000000000002',
  account: 'shop',
  actor: 'operator',
  data: { title: 'Spring sale', note: null, tags: ['a', 'b'] },
} as const;

describe('CLI: the line of an event', () => {
  it('has its time, type, subject, actor and data', () => {
    expect(eventLine(event)).to.equal(
      '2026-05-20T12:00:00.000Z  LinkDescribed    go.example.com/spring  operator  ' +
        'title=Spring sale tags=["a","b"]',
    );
    const { actor, ...visit } = event;
    expect(actor).to.equal('operator');
    expect(eventLine({ ...visit, type: 'linklog.LinkVisited.v2', data: {} })).to.equal(
      '2026-05-20T12:00:00.000Z  LinkVisited      go.example.com/spring  -',
    );
  });

  it('escapes control characters, and cuts long data between characters', () => {
    expect(eventLine({ ...event, data: { note: 'a\n\u001b[31mb' } })).to.match(
      / {2}note=a\\u000a\\u001b\[31mb$/,
    );
    const [, long = ''] =
      / {2}(note=.*)$/u.exec(eventLine({ ...event, data: { note: '😀'.repeat(200) } })) ?? [];
    expect(Array.from(long)).to.have.length(120);
    expect(long).to.match(/^note=😀+…$/u);
  });
});

import { expect } from 'chai';
import fc from 'fast-check';
import { someEventNamed } from '../testing/events.js';
import { catalogue, type LinklogEvent } from './catalogue.js';
import { eventReader, UnreadableEvent, writeEvent } from './codec.js';
import { readSpooledVisit } from './spooled-visit.js';

const bySchemas = eventReader(Object.values(catalogue));

/** The result of the schemas; `null` if they refuse the text. */
const expected = (value: string): LinklogEvent | null => {
  try {
    return bySchemas(value);
  } catch (error) {
    if (error instanceof UnreadableEvent) return null;
    throw error;
  }
};

const expectSame = (value: string): void => {
  const read = readSpooledVisit(value);
  if (read === null) return;
  expect(read, value).to.deep.equal(expected(value));
  // The attributes are in order.
  expect(writeEvent(read)).to.equal(value);
};

const data: Readonly<Record<string, unknown>> = {
  click: null,
  bot: false,
  country: 'DE',
  referrer: 'news.example.com',
  browser: 'Chrome',
  os: 'Windows',
  device: 'desktop',
  language: 'de',
  visitor: 'Az09_-Az09_-Az09',
  trigger: 'link',
  version: 3,
  target: 'test/b',
  code: 'go.example.com/b',
  campaign: 'campaign=a&source=&medium=%22',
};
const visit: Readonly<Record<string, unknown>> = {
  specversion: '1.0',
  id: '12',
  type: 'linklog.LinkVisited.v4',
  source: '/linklog/spool/1',
  subject: 'spring',
  time: '2026-05-20T12:00:00.000Z',
  datacontenttype: 'application/json',
  sequence: '0000000000000012',
  account: 'default',
  correlationid: 'r-1',
  data,
};

/** Each value is valid for some attributes and invalid for others. */
const values: readonly unknown[] = [
  ...[undefined, null, true, 'true', {}, []],
  ...[0, 1, -1, 1.5, 1e15, 1e16, 1e21],
  ...['', '0', '01', '1', '9'.repeat(16), '9'.repeat(17), '0'.repeat(16), `${'0'.repeat(15)}1`],
  ...['a"b', 'a\\b', 'a\nb', 'a\u007fb\u2028', '\ud800', '1.0', '1x0', '2.0'],
  ...['2026-02-30T12:00:00.000Z', '2026-02-28T24:00:00.000Z', '2028-02-29T12:00:00.000Z'],
  ...['2026-05-20T12:00:00Z', '2026-05-20T12:00:00.000+02:00', '2026-05-20t12:00:00.000z'],
  ...['DE', 'De', 'DEU', 'de', 'deu', 'deut', 'Firefox', 'Netscape', 'Linux', 'tablet', 'qr'],
  ...['x'.repeat(15), 'x'.repeat(16), 'x'.repeat(17), '.'.repeat(16)],
  ...[
    'campaign=',
    'source=a&medium=b',
    'medium=a&source=b',
    'campaign=&',
    `source=${'x'.repeat(301)}`,
  ],
];

describe('schemas: visits of a spool, read by their layout', () => {
  it('equal the result of the schemas', () => {
    const value = JSON.stringify(visit);
    expect(readSpooledVisit(value)).to.deep.equal(expected(value)).and.not.null;
  });

  for (const name of [...Object.keys(visit), ...Object.keys(data), 'actor']) {
    it(`equal the result of the schemas for any value of ${name}`, () => {
      for (const value of values) {
        const changed =
          name in data
            ? { ...visit, data: { ...data, [name]: value } }
            : { ...visit, [name]: value };
        expectSame(JSON.stringify(changed));
      }
    });
  }

  it('equal the result of the schemas for any changed character', () => {
    const text = JSON.stringify(visit);
    const characters = ['', '0', 'x', '"', '\\', '}'];
    for (let at = 0; at <= text.length; at += 1) {
      for (const character of characters) {
        expectSame(text.slice(0, at) + character + text.slice(at));
        expectSame(text.slice(0, at) + character + text.slice(at + 1));
      }
    }
  });

  it('equal the result of the schemas for any event', () => {
    fc.assert(
      fc.property(someEventNamed('LinkVisited'), (event) => {
        expectSame(writeEvent(event));
      }),
      { numRuns: 100 },
    );
  });
});

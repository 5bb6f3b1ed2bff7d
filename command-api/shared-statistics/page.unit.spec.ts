import { expect } from 'chai';
import fc from 'fast-check';
import { pagesIn, type SharedStats } from './page.js';
import { basicPassword } from './visitors.js';

const statsWith = (text: string): SharedStats => ({
  ...{ shortCode: text, url: text, clickCount: 2, maxClicks: null, expiresAt: null },
  ...{ createdAt: '2026-05-01T12:00:00.000Z', lastAccessed: null },
  period: {
    from: '2026-05-01T00:00:00+05:45',
    to: '2026-05-03T00:00:00+05:45',
    ...{ interval: 'day', tz: 'Asia/Kathmandu', clickCount: 2 },
  },
  timeseries: [
    { start: '2026-05-01T00:00:00+05:45', clicks: 0 },
    { start: '2026-05-02T00:00:00+05:45', clicks: 2 },
  ],
  referrers: [{ value: text, clicks: 2 }],
  countries: [{ value: text, clicks: 2 }],
  languages: [{ value: text, clicks: 2 }],
  devices: [{ value: text, clicks: 2 }],
  bots: 1,
});

const specialsIn = (html: Buffer): number => html.toString().split(/[<>"]/).length;

describe('page of shared statistics', () => {
  it('escapes every text, and accepts values that are no codes', () => {
    const plain = specialsIn(pagesIn.en().statistics(statsWith('x')).html);
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        for (const create of [pagesIn.en, pagesIn.de]) {
          expect(specialsIn(create().statistics(statsWith(text)).html)).to.equal(plain);
        }
      }),
    );
  });

  it('has a bar and a row of the table for each interval, on its local day', () => {
    const html = pagesIn.en().statistics(statsWith('x')).html.toString();
    expect(html.match(/<rect /g)).to.have.length(2);
    expect(html).to.include('May 1, 2026 – May 2, 2026, Asia/Kathmandu');
    expect(html).to.include('<title>May 2, 2026: 2 clicks</title>');
  });

  it('has bars without a height if there are no clicks', () => {
    const timeseries = [{ start: '2026-05-01T00:00:00Z', clicks: 0 }];
    const page = pagesIn.de().statistics({ ...statsWith('x'), timeseries });
    expect(page.html.toString()).to.include('height="0"').and.not.to.include('NaN');
  });

  it('reports errors in both languages, and others with their message, escaped', () => {
    for (const status of [404, 410, 429]) {
      const [english, german] = [pagesIn.en(), pagesIn.de()].map((pages) =>
        pages.error(status, 'a message', 7).html.toString(),
      );
      expect(english).not.to.include('a message').and.not.to.equal(german);
    }
    expect(pagesIn.en().error(429, '', 7).html.toString()).to.include('in 7 s');
    expect(pagesIn.de().error(400, '<b>', 0).html.toString()).to.include('&lt;b&gt;');
  });

  it('reads the password of Authorization: Basic, with colons and of any user', () => {
    const user = fc.string({ unit: 'grapheme' }).filter((name) => !name.includes(':'));
    fc.assert(
      fc.property(user, fc.string({ unit: 'grapheme' }), (name, password) => {
        const encoded = Buffer.from(`${name}:${password}`).toString('base64');
        expect(basicPassword(`basic  ${encoded} `)).to.equal(password);
      }),
    );
    for (const other of [undefined, '', 'Basic', 'Bearer eDp5', 'Basic eA==', 'Basic e:y']) {
      expect(basicPassword(other)).to.equal(null);
    }
  });
});

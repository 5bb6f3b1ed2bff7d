import { expect } from 'chai';
import fc from 'fast-check';
import { campaignOf, campaignPattern, readCampaign, writeCampaign } from './campaign.js';
import { codePoint } from './testing/code-point.js';

const none = { campaign: null, source: null, medium: null };
const value = fc.option(
  fc.oneof(
    fc.string({ unit: codePoint, maxLength: 100 }),
    fc.string({ unit: fc.constantFrom('&', '=', '+', '%', '"', '\\', '\n', '\u0000', ' ', '💡') }),
  ),
  { nil: null },
);
const someCampaign = fc.record({ campaign: value, source: value, medium: value });

const cut = (text: string | null): string | null =>
  text === null ? null : Array.from(text.toWellFormed()).slice(0, 100).join('');

describe('schemas: campaign of a destination', () => {
  it('is read as written, up to 100 code points a value, and needs no escape in JSON', () => {
    fc.assert(
      fc.property(someCampaign, ({ campaign, source, medium }) => {
        const text = writeCampaign({ campaign, source, medium });
        expect(readCampaign(text)).to.deep.equal({
          ...{ campaign: cut(campaign), source: cut(source), medium: cut(medium) },
        });
        if (text === null) return;
        expect(text).to.match(campaignPattern);
        expect(writeCampaign(readCampaign(text))).to.equal(text);
        if (text.isWellFormed()) expect(JSON.stringify(text)).to.equal(`"${text}"`);
      }),
    );
  });

  it('is that of the decoded query of a destination', () => {
    fc.assert(
      fc.property(someCampaign, fc.webUrl(), ({ campaign, source, medium }, base) => {
        const parameters = Object.entries({ medium, campaign, source }).flatMap(([name, text]) =>
          text === null ? [] : [[`utm_${name}`, text] as [string, string]],
        );
        const url = `${base}?a=b&${String(new URLSearchParams(parameters))}#utm_source=hash`;
        expect(campaignOf(url)).to.equal(writeCampaign({ campaign, source, medium }));
      }),
    );
  });

  for (const [destination, expected] of [
    ['https://example.com/', none],
    ['https://example.com/?a=utm_source=b&UTM_SOURCE=c&xutm_source=d', none],
    ['https://example.com/#?utm_source=a', none],
    ['https://example.com/?utm_source=', { ...none, source: '' }],
    ['https://example.com/?utm_source', { ...none, source: '' }],
    ['https://example.com/?utm_medium=a%20b+c&utm_medium=d', { ...none, medium: 'a b c' }],
    ['https://example.com/?utm%5Fsource=%C3%A4#x', { ...none, source: 'ä' }],
    ['https://example.com/?utm_campaign=a?b=c', { ...none, campaign: 'a?b=c' }],
    ['mailto:a@example.com?utm_source=x', { ...none, source: 'x' }],
  ] as const) {
    it(`of ${destination} is ${JSON.stringify(expected)}`, () => {
      expect(readCampaign(campaignOf(destination))).to.deep.equal(expected);
    });
  }
});

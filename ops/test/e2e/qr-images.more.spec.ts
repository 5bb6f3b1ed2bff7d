// An own product: its long host gives large codes with small modules.
import { expect } from 'chai';
import { needs } from '../support/needs.js';
import { findMisread, longHost, randomLinks } from '../support/qr-images.js';
import { seededRandom } from '../support/random.js';
import { productFixture } from './harness.js';

const seed = 20_261_121;
const black = { dark: '000', light: 'fff' };

describe('a QR code, read by an independent reader', () => {
  needs('zbarimg', 'rsvg-convert');
  const bench = productFixture({ SHORT_URL_HOST: longHost });

  it('is its short URL with modules of one pixel', async () => {
    const links = await randomLinks(bench.product, 43, seededRandom(seed + 2));
    const looks = [100, 101, 102, 103, 104, 110].flatMap((size) =>
      [0, 1, 4, 10].flatMap((margin) =>
        (['png', 'svg'] as const).map((format) => ({
          ...{ format, size, margin, ecc: 'H', colours: black },
        })),
      ),
    );
    // The longest aliases only.
    expect(await findMisread(bench.product, links.slice(-5), looks)).to.deep.equal([]);
  });

  it('is its short URL with the lowest allowed contrast, and in the largest size', async () => {
    const links = await randomLinks(bench.product, 5, seededRandom(seed + 1));
    const look = { format: 'png', size: 300, ecc: 'M', margin: 4, colours: black } as const;
    const pale = [
      { dark: '939393', light: 'fff' },
      { dark: '000', light: '5a5a5a' },
      { dark: 'a08a00', light: 'fff' },
    ].map((colours) => ({ ...look, colours }));
    const looks = [...pale, { ...look, size: 4_000 }];
    expect(await findMisread(bench.product, links, looks)).to.deep.equal([]);
  });
});

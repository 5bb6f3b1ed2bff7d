import { expect } from 'chai';
import { inflateSync } from 'node:zlib';
import { create } from 'qrcode';
import { qrQuery } from '../../../schemas/http/qr.js';
import { encodeQr, layOut, renderQr } from './render.js';

/** The rows of a PNG with one bit per pixel, as text: `0` and `1`. */
const pixelsOf = (png: Buffer): readonly string[] => {
  const size = png.readUInt32BE(16);
  const data: Buffer[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    const isData = png.toString('latin1', at + 4, at + 8) === 'IDAT';
    if (isData) data.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const bytes = inflateSync(Buffer.concat(data));
  const width = Math.ceil(size / 8);
  let above: Uint8Array = new Uint8Array(width);
  return Array.from({ length: size }, (_, y) => {
    const [filter] = bytes.subarray(y * (width + 1));
    expect(filter, `filter of row ${y}`).to.be.oneOf([0, 2]);
    const line: Uint8Array = bytes.subarray(y * (width + 1) + 1, (y + 1) * (width + 1));
    const previous = above;
    above = line.map((byte, x) => byte + (filter === 2 ? (previous[x] ?? 0) : 0));
    return Array.from(above, (byte) => byte.toString(2).padStart(8, '0'))
      .join('')
      .slice(0, size);
  });
};

describe('command API: PNG of a QR code', () => {
  const text = 'https://sho.rt/abcdefgh?qr';
  for (const [size, margin] of [
    ['100', '0'],
    ['301', '10'],
    ['501', '1'],
  ] as const) {
    it(`has every module at its position, ${size} pixels with a margin of ${margin}`, () => {
      const query = qrQuery.parse({ size, margin, ecc: 'Q' });
      const pixels = pixelsOf(renderQr(encodeQr(text, 'Q'), query) as Buffer);
      const { size: modules, data } = create(text, { errorCorrectionLevel: 'Q' }).modules;
      const { scale, start } = layOut(Number(size), modules, Number(margin));
      const rowOf = (module: number): string => {
        if (module < 0 || module >= modules) return '0'.repeat(Number(size));
        const bits = data.slice(module * modules, (module + 1) * modules);
        const dark = Array.from(bits, (bit) => String(bit).repeat(scale)).join('');
        return `${'0'.repeat(start)}${dark}`.padEnd(Number(size), '0');
      };
      for (const [y, row] of pixels.entries()) {
        const expected = rowOf(Math.floor((y - start) / scale));
        if (row !== expected) expect(row, `row ${y}`).to.equal(expected);
      }
    });
  }
});

describe('command API: layout of a QR code', () => {
  it('has modules of the same whole number of pixels, and a quiet zone of the remaining pixels', () => {
    expect(layOut(300, 25, 4)).to.deep.equal({ size: 300, modules: 25, scale: 9, start: 37 });
    expect(layOut(300, 25, 0)).to.deep.equal({ size: 300, modules: 25, scale: 12, start: 0 });
  });

  it('keeps the margin in every size and for every code that fits', () => {
    for (let size = 100; size <= 1_000; size += 71) {
      for (const modules of [21, 25, 29, 33, 37, 41, 45, 49, 53, 57]) {
        for (let margin = 0; margin <= 10; margin += 1) {
          const { scale, start } = layOut(size, modules, margin);
          const after = size - start - modules * scale;
          const what = `${modules} modules with a margin of ${margin} in ${size} pixels`;
          expect(Math.min(start, after), what).to.be.at.least(margin * scale);
          // One more pixel per module would not fit.
          expect((scale + 1) * (modules + 2 * margin), what).to.be.above(size);
          expect(Math.abs(start - after), what).to.be.at.most(scale === 1 ? 3 : 1);
        }
      }
    }
  });

  it('starts modules of one pixel at an odd pixel', () => {
    expect(layOut(101, 49, 10)).to.include({ scale: 1, start: 27 });
    expect(layOut(100, 49, 10)).to.include({ scale: 1, start: 25 });
  });

  it('reduces the margin if a long address needs the room', () => {
    expect(layOut(100, 97, 10)).to.include({ scale: 1, start: 1 });
  });
});

describe('command API: error correction of a QR code', () => {
  const levels = ['L', 'M', 'Q', 'H'] as const;

  it('has the requested level if the URL fits', () => {
    for (const level of levels) {
      const url = `https://sho.rt/${'x'.repeat(190)}`;
      const { size } = create(url, { errorCorrectionLevel: level }).modules;
      expect(encodeQr(url, level).size).to.equal(size);
    }
  });

  it('has a lower level if the URL is too long for it', () => {
    // The longest host, scheme and code, and the mark.
    const url = `https://${'x'.repeat(253)}/${encodeURIComponent('🎉').repeat(190)}?qr`;
    expect(url).to.have.length(2_545);
    expect(encodeQr(url, 'H').size).to.be.at.most(177);
  });
});

import { expect } from 'chai';
import { layOut } from './render.js';

describe('command API: layout of a QR code', () => {
  it('gives each module the same whole number of pixels, and the quiet zone what is left', () => {
    expect(layOut(300, 25, 4)).to.deep.equal({ size: 300, modules: 25, scale: 9, start: 37 });
    expect(layOut(300, 25, 0)).to.deep.equal({ size: 300, modules: 25, scale: 12, start: 0 });
  });

  it('keeps the margin, in every size and for every code that has room for it', () => {
    for (let size = 100; size <= 1_000; size += 7) {
      for (const modules of [21, 25, 29, 33, 37, 41, 45, 49, 53, 57]) {
        for (let margin = 0; margin <= 10; margin += 1) {
          const { scale, start } = layOut(size, modules, margin);
          const after = size - start - modules * scale;
          const what = `${modules} modules and ${margin} in ${size}`;
          expect(Math.min(start, after), what).to.be.at.least(margin * scale);
          // A whole pixel more for each module would not have fitted.
          expect((scale + 1) * (modules + 2 * margin), what).to.be.above(size);
          expect(Math.abs(start - after), what).to.be.at.most(scale === 1 ? 3 : 1);
        }
      }
    }
  });

  it('begins modules of one pixel at an odd one', () => {
    expect(layOut(101, 49, 10)).to.include({ scale: 1, start: 27 });
    expect(layOut(100, 49, 10)).to.include({ scale: 1, start: 25 });
  });

  it('takes of the margin what a long address needs', () => {
    expect(layOut(100, 97, 10)).to.include({ scale: 1, start: 1 });
  });
});

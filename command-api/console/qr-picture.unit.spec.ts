import { expect } from 'chai';
import { logoFaultOf, logoSquares, withLogo } from './qr-picture.js';

describe('a QR code with a logo', () => {
  it('accepts PNG and SVG up to 1 MB', () => {
    expect(logoFaultOf({ type: 'image/png', size: 1_000_000 })).to.equal(null);
    expect(logoFaultOf({ type: 'image/svg+xml', size: 1 })).to.equal(null);
    expect(logoFaultOf({ type: 'image/png', size: 1_000_001 })).to.equal('size');
    expect(logoFaultOf({ type: 'text/html', size: 1 })).to.equal('type');
  });

  it('has it in the middle, on at most a fifth of the width', () => {
    for (const margin of [0, 4, 10]) {
      const { background, logo } = logoSquares(25, margin);
      expect(background.side).to.equal(5);
      expect(logo.side).to.be.lessThan(background.side);
      for (const { start, side } of [background, logo]) {
        expect(start + side / 2).to.equal(margin + 12.5);
      }
    }
  });

  it('embeds it as an image, after the modules', () => {
    const svg = '<svg viewBox="0 0 33 33" width="300"><path d="M0 0"/></svg>\n';
    const logo = 'data:image/png;base64,AA==';
    expect(withLogo(svg, logo, { light: '#ffffff', margin: 4 })).to.equal(
      '<svg viewBox="0 0 33 33" width="300"><path d="M0 0"/>' +
        '<rect x="14.000" y="14.000" width="5.000" height="5.000" fill="#ffffff"/>' +
        `<image x="14.250" y="14.250" width="4.500" height="4.500" href="${logo}"/></svg>\n`,
    );
  });
});

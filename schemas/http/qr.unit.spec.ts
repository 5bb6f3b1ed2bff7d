import { expect } from 'chai';
import { messageOf, specifyMessages } from '../testing/messages.js';
import { qrQuery } from './qr.js';

describe('schemas: query of GET /v2/qr', () => {
  it('has defaults, and ignores unknown parameters', () => {
    expect(qrQuery.parse({ colour: 'red' })).to.deep.equal({
      ...{ format: 'png', size: 300, margin: 4, ecc: 'M', dark: '#000000', light: '#ffffff' },
    });
  });

  it('accepts values up to the bounds', () => {
    for (const [size, margin] of [
      [100, 0],
      [4_000, 10],
    ] as const) {
      const query = { size: String(size), margin: String(margin), ecc: 'H', format: 'svg' };
      expect(qrQuery.parse(query)).to.include({ size, margin, ecc: 'H', format: 'svg' });
    }
  });

  it('accepts hex colours of 3, 6 and 8 digits, with and without #', () => {
    for (const digits of ['a00', 'AA2200', '000000c0']) {
      expect(qrQuery.parse({ dark: digits })).to.include({ dark: `#${digits}` });
    }
    for (const digits of ['fff', 'FF8800', '00000000']) {
      expect(qrQuery.parse({ light: `#${digits}` })).to.include({ light: `#${digits}` });
    }
  });

  // The contrast ratio of WCAG 2 must be 3:1; transparent colours lie on white.
  specifyMessages(
    qrQuery,
    [
      [
        null,
        ...['000000 ffffff', '0000ff ffffff', '000 5a5a5a', '000000 ffffff00', '000000 00000000'],
        // 3.07:1.
        ...['939393 ffffff', '000000c0 ffffff'],
      ],
      [
        'dark must be clearly darker than light',
        ...['ffffff 000000', 'ffffff ffffff', '000000 000000', 'ffffff 939393', 'ffff00 ffffff'],
        // 2.996:1.
        ...['959595 ffffff', '000000 0000ff', '000 595959', '00000000 ffffff', '00000040 ffffff'],
      ],
    ],
    (colors) => {
      const [dark, light] = (colors as string).split(' ');
      return { dark, light };
    },
  );

  it('checks the contrast after all fields', () => {
    expect(messageOf(qrQuery, { dark: 'fff', mark: '0' })).to.equal('mark must be 1');
  });

  const colors = ['', '#', 'red', 'ff', 'ffff', '##fff', 'fff\n', '#ggg', ['fff']];
  for (const [name, message, ...values] of [
    ['format', 'format must be either png or svg', 'PNG', '', 'jpeg', ['png', 'svg']],
    [
      ...['size', 'size must be between 100 and 4000'],
      ...['99', '4001', '', ' 300', '300 ', '1e2', '-1', '00300', '300.0', ['300', '300']],
    ],
    ['margin', 'margin must be between 0 and 10', '11', '-1', '', '0x1', ['1']],
    ['ecc', 'ecc must be one of L, M, Q, H', 'm', '', 'LM', ['L']],
    ['mark', 'mark must be 1', '0', '', 'true', '01', ['1']],
    ['dark', 'dark must be a hex colour, such as ff8800', ...colors],
    ['light', 'light must be a hex colour, such as ff8800', ...colors],
  ] as [string, string, ...unknown[]][]) {
    specifyMessages(qrQuery, [[message, ...values]], (value) => ({ [name]: value }));
  }

  it('names the first invalid field in the order of the contract', () => {
    expect(messageOf(qrQuery, { light: '', size: '', format: '' })).to.match(/^format/);
    expect(messageOf(qrQuery, { light: '', dark: '', size: '' })).to.match(/^size/);
  });
});

import { expect } from 'chai';
import { qrQuery } from './qr.js';

const messageOf = (query: unknown): string | null => {
  const result = qrQuery.safeParse(query);
  return result.success ? null : (result.error.issues[0]?.message ?? '');
};

describe('schemas: query of GET /v2/qr', () => {
  it('has a default for everything, and takes no notice of what is not listed', () => {
    expect(qrQuery.parse({ colour: 'red' })).to.deep.equal({
      format: 'png',
      size: 300,
      margin: 4,
      ecc: 'M',
      dark: '#000000',
      light: '#ffffff',
    });
  });

  it('takes every value up to its bounds', () => {
    for (const [size, margin] of [
      [100, 0],
      [1_000, 10],
    ] as const) {
      const query = { size: String(size), margin: String(margin), ecc: 'H', format: 'svg' };
      expect(qrQuery.parse(query)).to.include({ size, margin, ecc: 'H', format: 'svg' });
    }
  });

  it('takes hex colours of 3, 6 and 8 digits, with # and without', () => {
    for (const digits of ['fff', 'FF8800', '00000080']) {
      expect(qrQuery.parse({ dark: digits })).to.include({ dark: `#${digits}` });
      expect(qrQuery.parse({ light: `#${digits}` })).to.include({ light: `#${digits}` });
    }
  });

  const wrong: readonly (readonly [string, readonly unknown[], string])[] = [
    ['format', ['PNG', '', 'jpeg', ['png', 'svg']], 'format must be either png or svg'],
    [
      'size',
      ['99', '1001', '', ' 300', '300 ', '1e2', '-1', '00300', '300.0', ['300', '300']],
      'size must be between 100 and 1000',
    ],
    ['margin', ['11', '-1', '', '0x1', ['1']], 'margin must be between 0 and 10'],
    ['ecc', ['m', '', 'LM', ['L']], 'ecc must be one of L, M, Q, H'],
    ['mark', ['0', '', 'true', '01', ['1']], 'mark must be 1'],
    ...(['dark', 'light'] as const).map(
      (name) =>
        [
          name,
          ['', '#', 'red', 'ff', 'ffff', '##fff', 'fff\n', '#ggg', ['fff']],
          `${name} must be a hex colour, such as ff8800`,
        ] as const,
    ),
  ];
  for (const [name, values, message] of wrong) {
    for (const value of values) {
      it(`says what is wrong with ${name}=${JSON.stringify(value)}`, () => {
        expect(messageOf({ [name]: value })).to.equal(message);
      });
    }
  }

  it('names the first wrong field in the order of the contract', () => {
    expect(messageOf({ light: '', size: '', format: '' })).to.match(/^format/);
    expect(messageOf({ light: '', ecc: '', margin: '', size: '' })).to.match(/^size/);
  });
});

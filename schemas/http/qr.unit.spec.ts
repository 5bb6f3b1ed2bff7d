import { expect } from 'chai';
import { qrQuery } from './qr.js';

const messageOf = (query: unknown): string | null => {
  const result = qrQuery.safeParse(query);
  return result.success ? null : (result.error.issues[0]?.message ?? '');
};

describe('schemas: query of GET /v2/qr', () => {
  it('has defaults, and ignores unknown parameters', () => {
    expect(qrQuery.parse({ colour: 'red' })).to.deep.equal({
      format: 'png',
      size: 300,
      margin: 4,
      ecc: 'M',
      dark: '#000000',
      light: '#ffffff',
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

  describe('needs dark to be darker than light, with a contrast of 3:1', () => {
    const message = 'dark must be clearly darker than light';
    // The contrast ratio of WCAG 2; transparent colours lie on white.
    const pairs: readonly (readonly [dark: string, light: string, taken: boolean])[] = [
      ['000000', 'ffffff', true],
      ['ffffff', '000000', false],
      ['ffffff', 'ffffff', false],
      ['000000', '000000', false],
      // 3.07:1 and 2.996:1.
      ['939393', 'ffffff', true],
      ['959595', 'ffffff', false],
      ['ffffff', '939393', false],
      ['0000ff', 'ffffff', true],
      ['ffff00', 'ffffff', false],
      ['000000', '0000ff', false],
      ['000', '5a5a5a', true],
      ['000', '595959', false],
      ['000000', 'ffffff00', true],
      ['000000', '00000000', true],
      ['00000000', 'ffffff', false],
      ['00000040', 'ffffff', false],
      ['000000c0', 'ffffff', true],
    ];
    for (const [dark, light, taken] of pairs) {
      it(`${taken ? 'takes' : 'refuses'} ${dark} on ${light}`, () => {
        expect(messageOf({ dark, light })).to.equal(taken ? null : message);
      });
    }

    it('is checked after all fields', () => {
      expect(messageOf({ dark: 'fff', mark: '0' })).to.equal('mark must be 1');
    });
  });

  const wrong: readonly (readonly [string, readonly unknown[], string])[] = [
    ['format', ['PNG', '', 'jpeg', ['png', 'svg']], 'format must be either png or svg'],
    [
      'size',
      ['99', '4001', '', ' 300', '300 ', '1e2', '-1', '00300', '300.0', ['300', '300']],
      'size must be between 100 and 4000',
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
      it(`refuses ${name}=${JSON.stringify(value)}`, () => {
        expect(messageOf({ [name]: value })).to.equal(message);
      });
    }
  }

  it('names the first invalid field in the order of the contract', () => {
    expect(messageOf({ light: '', size: '', format: '' })).to.match(/^format/);
    expect(messageOf({ light: '', ecc: '', margin: '', size: '' })).to.match(/^size/);
  });
});

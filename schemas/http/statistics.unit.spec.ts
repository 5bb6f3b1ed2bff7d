import { expect } from 'chai';
import { accountStatsQuery, readStatsQuery, statsQuery } from './statistics.js';

const now = new Date('2026-11-22T10:20:30.000Z');

const read = (query: object, schema: typeof statsQuery | typeof accountStatsQuery = statsQuery) => {
  const request = readStatsQuery(schema, query, now);
  return 'refused' in request ? request.refused : request;
};

describe('schemas: query of GET /v2/stats', () => {
  it('has defaults, and ignores unknown parameters', () => {
    const request = read({ colour: 'red' });
    expect(request).to.deep.include({ include: new Set(), limit: 20 });
    expect(request).to.have.nested.property('period.starts').that.has.lengthOf(31);
    expect(request)
      .to.have.property('period')
      .that.includes({
        from: Date.parse('2026-10-23T10:15:00Z'),
        to: Date.parse('2026-11-22T10:30:00Z'),
        interval: 'day',
        tz: 'UTC',
      });
  });

  it('includes each name once; all excludes the lists that not every account has', () => {
    const two = ['bots', 'uniques'];
    const ofAccount = [
      ...['timeseries', 'referrers', 'countries', 'browsers', 'os', 'devices', 'languages'],
      ...['triggers', 'targets', 'campaigns', ...two],
    ];
    const allNames = [...ofAccount, 'codes'];
    for (const [include, expected, schema = statsQuery] of [
      ['bots,uniques,bots', two],
      [['bots', 'uniques'], two],
      [['bots,uniques', 'bots'], two],
      ['all,os', allNames],
      ['all', ofAccount, accountStatsQuery],
      ['links,all,tags', ['links', 'tags', ...ofAccount], accountStatsQuery],
    ] as const) {
      expect(read({ include }, schema)).to.deep.include({ include: new Set(expected) });
    }
  });

  it('filters visits of a link by each value of a breakdown; an empty one was not recorded', () => {
    expect(read({ country: 'DE', os: '', campaign: 'x' })).to.deep.include({
      visits: [
        ['country', 'DE'],
        ['os', null],
      ],
    });
    expect(read({ country: 'DE' }, accountStatsQuery)).to.deep.include({ visits: [] });
    expect(read({ country: ['DE', 'FR'] })).to.equal('country must have one value');
  });

  it('accepts an offset with an unencoded +', () => {
    const from = Date.parse('2026-11-22T00:00:00+05:45');
    for (const sign of ['+', ' ']) {
      const query = { from: `2026-11-22T00:00:00${sign}05:45`, to: '2026-11-23' };
      expect(read(query)).to.have.nested.property('period.from', from);
    }
  });

  const time = (name: string): string =>
    `${name} must be a time in ISO 8601, such as 2026-11-22 or 2026-11-22T09:30:00+05:45`;
  const zone = 'tz must be an IANA time zone, such as Europe/Berlin';
  const wrong: readonly (readonly [string, readonly unknown[], string | RegExp])[] = [
    [
      'include',
      ['', 'clicks', 'all,', 'links', 'Bots', ' bots', ['bots', ''], 5],
      /^include must be all, or some of timeseries, .*, uniques, with commas between them$/,
    ],
    ['from', ['', 'yesterday', '2026-02-30', '2026-11-22 10:00', ['2026-11-22']], time('from')],
    ['to', ['', 'now', '2026-13-01', '2026-11-22T25:00'], time('to')],
    ['to', ['2026-11-22T10:00 5:45'], time('to')],
    ['interval', ['', 'days', 'Day', 'year', ['day']], /^interval must be one of hour, day, week/],
    ['tz', ['', 'Berlin', '+01:00', 'CEST', ['UTC', 'UTC']], zone],
    ['limit', ['0', '201', '', '1.5', '-1', '1e2', ['5']], 'limit must be between 1 and 200'],
    ['from', ['2026-11-23', '2030-01-01'], 'from must be before to'],
    ['from', ['2020-01-01'], 'The period has more than 400 intervals'],
  ];
  for (const [name, values, message] of wrong) {
    it(`refuses ${name}=${JSON.stringify(values)}`, () => {
      for (const value of values) {
        expect(read({ [name]: value }), JSON.stringify(value)).to.match(
          typeof message === 'string' ? new RegExp(`^${message.replaceAll('+', '\\+')}$`) : message,
        );
      }
    });
  }

  it('names the first invalid parameter in the order of the contract', () => {
    const names = ['include', 'from', 'to', 'interval', 'tz', 'limit'];
    names.forEach((name, index) => {
      const later = names.slice(index).reverse();
      const query = Object.fromEntries(later.map((parameter) => [parameter, '']));
      expect(read(query)).to.match(new RegExp(`^${name} must`));
    });
  });
});

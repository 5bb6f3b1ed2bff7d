import { readZone } from '../../schemas/statistics/period.js';
import { expect } from 'chai';
import {
  addDays,
  alignSeries,
  comparedDays,
  dayIn,
  intervals,
  intervalsOf,
  presets,
  readView,
  writeView,
  zoneOrUtc,
  type Interval,
} from './periods.js';

/** 02:00 on the 24th in Berlin. */
const now = new Date('2026-11-24T01:00:00Z');
const zone = 'Europe/Berlin';
const read = (query: Record<string, string>) => readView(query, now, zone);

describe('the period of a page of statistics', () => {
  it('is the last 30 days of the browser’s zone, by day, by default', () => {
    expect(read({})).to.deep.equal({
      ...{ preset: '30d', from: '2026-10-26', to: '2026-11-25', interval: 'day' },
      ...{ tz: zone, compare: false, domain: '', tag: '', destination: '' },
      ...{ visits: {}, lists: [] },
    });
  });

  it('has presets that end today or earlier', () => {
    for (const [period, from, to] of [
      ['today', '2026-11-24', '2026-11-25'],
      ['yesterday', '2026-11-23', '2026-11-24'],
      ['7d', '2026-11-18', '2026-11-25'],
      ['month', '2026-11-01', '2026-11-25'],
      ['last-month', '2026-10-01', '2026-11-01'],
      ['12m', '2025-12-01', '2026-11-25'],
    ] as const) {
      expect(read({ period }), period).to.include({ from, to });
    }
  });

  it('uses the days of its zone', () => {
    expect(dayIn('America/Los_Angeles', now)).to.equal('2026-11-23');
    expect(read({ period: 'today', tz: 'America/Los_Angeles' }).from).to.equal('2026-11-23');
  });

  it('is the default if the address has an invalid period, and in UTC if the zone is unknown', () => {
    for (const query of [
      { period: 'custom', from: '2026-02-30', to: '2026-03-05' },
      { period: 'custom', from: '2026-03-05', to: '2026-03-05' },
      { period: 'constructor' },
    ]) {
      expect(read(query).preset).to.equal('30d');
    }
    expect(read({ tz: 'Mars/Olympus' }).tz).to.equal('UTC');
  });

  it('has no more intervals than the API allows', () => {
    expect(intervalsOf({ from: '2026-01-01', to: '2026-01-15' })).to.deep.equal(intervals);
    expect(intervalsOf({ from: '2026-01-01', to: '2026-01-18' })).not.to.include('hour');
    expect(intervalsOf({ from: '2020-01-01', to: '2026-01-01' })).to.deep.equal(['week', 'month']);
  });

  it('is read as written', () => {
    const custom = { period: 'custom', from: '2026-02-27', to: '2026-03-02', interval: 'hour' };
    const others = {
      tz: 'Asia/Kathmandu',
      compare: '1',
      domain: 'go.example.com',
      tag: 'Q4 & more',
      destination: 'example.com',
      ...{ country: 'DE', os: '', target: 'test/a & b' },
      lists: 'os,codes',
    };
    for (const query of [
      ...presets.filter((period) => period !== 'custom').map((period) => ({ period, ...others })),
      ...[custom, { ...custom, ...others }, { tz: zone, compare: '0', interval: 'week' }],
    ]) {
      const view = read(query);
      const written = Object.fromEntries(new URLSearchParams(writeView(view, zone)));
      expect(read(written)).to.deep.equal(view);
    }
  });
});

/** The compared period of a preset at a time. */
const compared = (period: string, at: string, query: Record<string, string> = {}) => {
  const time = new Date(at);
  const { from, to } = comparedDays(readView({ period, ...query }, time, 'UTC'), time);
  return [from, to];
};

describe('the compared period', () => {
  for (const [period, at, days] of [
    ['last-month', '2026-11-24T12:00Z', ['2026-09-01', '2026-10-01']],
    ['last-month', '2026-01-31T12:00Z', ['2025-11-01', '2025-12-01']],
    ['last-month', '2028-04-01T00:00Z', ['2028-02-01', '2028-03-01']],
    ['month', '2026-11-30T12:00Z', ['2026-10-01', '2026-10-31']],
    ['month', '2026-03-30T12:00Z', ['2026-02-01', '2026-03-01']],
    ['month', '2028-03-29T12:00Z', ['2028-02-01', '2028-03-01']],
    ['month', '2026-01-10T12:00Z', ['2025-12-01', '2025-12-11']],
    ['12m', '2026-11-24T12:00Z', ['2024-12-01', '2025-11-25']],
    ['12m', '2029-02-28T12:00Z', ['2027-03-01', '2028-02-29']],
    ['7d', '2026-11-24T12:00Z', ['2026-11-11', '2026-11-18']],
    ['30d', '2028-03-10T12:00Z', ['2028-01-11', '2028-02-10']],
    ['yesterday', '2026-03-01T12:00Z', ['2026-02-27', '2026-02-28']],
    ['today', '2026-03-01T14:07Z', ['2026-02-28', '2026-02-28T14:15']],
    ['today', '2026-03-01T23:59Z', ['2026-02-28', '2026-03-01']],
  ] as const) {
    it(`of ${period} on ${at} is ${days.join(' to ')}`, () => {
      expect(compared(period, at)).to.deep.equal(days);
    });
  }

  it('of other days is the previous period of the same length', () => {
    const query = { from: '2026-03-01', to: '2026-03-08' };
    const days = ['2026-02-22', '2026-03-01'];
    expect(compared('custom', '2026-11-24T12:00Z', query)).to.deep.equal(days);
  });
});

describe('the series of two periods', () => {
  const series = (...starts: readonly string[]) =>
    starts.map((start, index) => ({ start: `${start}:00+00:00`, clicks: index + 1 }));
  const days = (from: string, count: number) =>
    series(...Array.from({ length: count }, (_, index) => `${addDays(from, index)}T00:00`));
  const aligned = (
    now: ReturnType<typeof series>,
    earlier: ReturnType<typeof series>,
    interval: Interval,
  ) => alignSeries(now, earlier, interval).map((counted) => counted?.start.slice(0, 16) ?? null);

  it('are aligned by the day of the month, also if one month is shorter', () => {
    const march = days('2026-03-01', 31);
    const february = days('2026-02-01', 28);
    const shown = aligned(march, february, 'day');
    expect(shown).to.have.length(31);
    expect(shown.slice(27)).to.deep.equal(['2026-02-28T00:00', null, null, null]);
    expect(aligned(february, march, 'day').at(-1)).to.equal('2026-03-28T00:00');
  });

  it('are aligned by calendar month, also if they begin within one', () => {
    const now = series('2026-01-15T00:00', '2026-02-01T00:00', '2026-03-01T00:00');
    const earlier = ['2025-11-17T00:00', '2025-12-01T00:00', '2026-01-01T00:00'];
    expect(aligned(now, series(...earlier), 'month')).to.deep.equal(earlier);
  });

  it('are aligned by week, the first of which may be a part', () => {
    // Saturday, Monday; Wednesday, Monday.
    const now = series('2026-11-21T00:00', '2026-11-23T00:00');
    const earlier = ['2026-11-11T00:00', '2026-11-16T00:00'];
    expect(aligned(now, series(...earlier), 'week')).to.deep.equal(earlier);
  });

  it('are aligned by the hour when the clock changes', () => {
    const plain = series('2026-10-24T01:00', '2026-10-24T02:00', '2026-10-24T03:00');
    const back = series(
      ...['2026-10-25T01:00', '2026-10-25T02:00', '2026-10-25T02:00', '2026-10-25T03:00'],
    );
    const clicksOf = (now: typeof plain, earlier: typeof plain) =>
      alignSeries(now, earlier, 'hour').map((counted) => counted?.clicks);
    expect(clicksOf(plain, back)).to.deep.equal([1, 5, 4]);
    expect(clicksOf(back, plain)).to.deep.equal([1, 2, undefined, 3]);
    const ahead = series('2026-03-29T01:00', '2026-03-29T03:00');
    expect(aligned(ahead, plain, 'hour')).to.deep.equal(['2026-10-24T01:00', '2026-10-24T03:00']);
    const hours = ['2026-03-29T01:00', null, '2026-03-29T03:00'];
    expect(aligned(plain, ahead, 'hour')).to.deep.equal(hours);
  });
});

describe('the time zone of the console', () => {
  it('is that of the browser, if the API accepts it', () => {
    for (const [reported, zone] of [
      ['Europe/Berlin', 'Europe/Berlin'],
      ['CET', 'CET'],
      ['+01:00', 'Etc/GMT-1'],
      ['-11:00', 'Etc/GMT+11'],
      ...['', 'Etc/Unknown', 'Factory', 'localtime', 'UTC+3', 'GMT+1', '+05:30'].map(
        (name) => [name, 'UTC'] as const,
      ),
    ] as const) {
      expect(zoneOrUtc(reported), reported).to.equal(zone);
      expect(readZone(zone)).to.equal(zone);
    }
  });
});

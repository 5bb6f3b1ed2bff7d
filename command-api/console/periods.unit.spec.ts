import { expect } from 'chai';
import fc from 'fast-check';
import {
  addDays,
  countDays,
  dayIn,
  daysBefore,
  intervals,
  intervalsOf,
  presets,
  readView,
  writeView,
  type Preset,
} from './periods.js';

/** 02:00 on the 24th in Berlin. */
const now = new Date('2026-11-24T01:00:00Z');
const zone = 'Europe/Berlin';
const read = (query: Record<string, string>) => readView(query, now, zone);
const daysOf = (period: Preset) => {
  const { from, to } = read({ period });
  return [from, to];
};

describe('the period of a page of statistics', () => {
  it('is the last 30 days of the browser’s zone, by day, by default', () => {
    expect(read({})).to.deep.equal({
      preset: '30d',
      from: '2026-10-26',
      to: '2026-11-25',
      interval: 'day',
      tz: zone,
      compare: false,
      domain: '',
    });
  });

  it('has presets that end today or earlier', () => {
    expect(daysOf('today')).to.deep.equal(['2026-11-24', '2026-11-25']);
    expect(daysOf('yesterday')).to.deep.equal(['2026-11-23', '2026-11-24']);
    expect(daysOf('7d')).to.deep.equal(['2026-11-18', '2026-11-25']);
    expect(daysOf('month')).to.deep.equal(['2026-11-01', '2026-11-25']);
    expect(daysOf('last-month')).to.deep.equal(['2026-10-01', '2026-11-01']);
    expect(daysOf('12m')).to.deep.equal(['2025-12-01', '2026-11-25']);
  });

  it('uses the days of its zone', () => {
    expect(dayIn('America/Los_Angeles', now)).to.equal('2026-11-23');
    expect(read({ period: 'today', tz: 'America/Los_Angeles' }).from).to.equal('2026-11-23');
  });

  for (const [what, query] of [
    ['a day that does not exist', { period: 'custom', from: '2026-02-30', to: '2026-03-05' }],
    ['an end before its start', { period: 'custom', from: '2026-03-05', to: '2026-03-05' }],
    ['an unknown preset', { period: 'constructor' }],
  ] as const) {
    it(`is the default if the address has ${what}`, () => {
      expect(read(query).preset).to.equal('30d');
    });
  }

  it('is in UTC if the zone does not exist', () => {
    expect(read({ tz: 'Mars/Olympus' }).tz).to.equal('UTC');
  });

  it('is compared with the previous period of the same length', () => {
    expect(daysBefore({ from: '2026-03-01', to: '2026-03-08' })).to.deep.equal({
      from: '2026-02-22',
      to: '2026-03-01',
    });
  });

  it('has no more intervals than the API allows', () => {
    expect(intervalsOf({ from: '2026-01-01', to: '2026-01-15' })).to.deep.equal(intervals);
    expect(intervalsOf({ from: '2026-01-01', to: '2026-01-18' })).not.to.include('hour');
    expect(intervalsOf({ from: '2020-01-01', to: '2026-01-01' })).to.deep.equal(['week', 'month']);
  });

  const days = fc.record({
    from: fc.integer({ min: 0, max: 20_000 }).map((count) => addDays('1980-01-01', count)),
    count: fc.integer({ min: 1, max: 3_000 }),
  });

  it('is read as written', () => {
    const queries = fc.record({
      period: fc.constantFrom(...(Object.keys(presets) as Preset[])),
      days,
      interval: fc.constantFrom(...intervals),
      tz: fc.constantFrom('UTC', zone, 'Asia/Kathmandu'),
      compare: fc.constantFrom('0', '1'),
      domain: fc.constantFrom('', 'go.example.com'),
    });
    fc.assert(
      fc.property(queries, ({ days: { from, count }, ...query }) => {
        const view = read({ ...query, from, to: addDays(from, count) });
        const written = Object.fromEntries(new URLSearchParams(writeView(view, zone)));
        expect(read(written)).to.deep.equal(view);
        expect(countDays(view)).to.be.greaterThan(0);
      }),
    );
  });
});

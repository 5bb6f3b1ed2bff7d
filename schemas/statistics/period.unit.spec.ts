import { expect } from 'chai';
import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { zones } from '../testing/zones.js';
import { quarterMs } from './calendar.js';
import { intervals, periodOf, readTime, readZone, timesIn, type Interval } from './period.js';

const now = new Date('2026-11-22T10:20:30.400Z');

const requested = (from: string | null, to: string | null, interval: Interval, tz: string) =>
  periodOf(
    {
      from: from === null ? undefined : (readTime(from) ?? undefined),
      to: to === null ? undefined : (readTime(to) ?? undefined),
      interval,
      tz,
    },
    now,
  );

/** The formatted starts of a period's intervals, and its end. */
const startsOf = (from: string | null, to: string | null, interval: Interval, tz: string) => {
  const period = requested(from, to, interval, tz);
  if ('refused' in period) throw new Error(period.refused);
  return [...period.starts, period.to].map(timesIn(tz));
};

describe('schemas: periods of statistics', () => {
  it('are the last 30 days by default, in whole quarters of an hour', () => {
    const period = requested(null, null, 'month', 'UTC');
    expect(period).to.deep.equal({
      from: Date.parse('2026-10-23T10:15:00Z'),
      to: Date.parse('2026-11-22T10:30:00Z'),
      interval: 'month',
      tz: 'UTC',
      starts: [Date.parse('2026-10-23T10:15:00Z'), Date.parse('2026-11-01T00:00:00Z')],
    });
  });

  it('end now without an end, and start 30 days before the end without a start', () => {
    expect(startsOf('2026-11-21', null, 'day', 'UTC').at(-1)).to.equal('2026-11-22T10:30:00+00:00');
    expect(startsOf(null, '2026-03-31', 'month', 'UTC')[0]).to.equal('2026-03-01T00:00:00+00:00');
  });

  const times: readonly (readonly [what: string, time: string, tz: string, at: string])[] = [
    ['with an offset', '2026-11-22T00:00:00+05:45', 'UTC', '2026-11-21T18:15:00+00:00'],
    ['in UTC', '2026-11-22T00:00Z', 'Asia/Kathmandu', '2026-11-22T05:45:00+05:45'],
    ['without an offset', '2026-11-22T08:30', 'Asia/Kathmandu', '2026-11-22T08:30:00+05:45'],
    ['of a date', '2026-11-22', 'Asia/Kathmandu', '2026-11-22T00:00:00+05:45'],
    ['that comes twice', '2026-11-01T01:30', 'America/New_York', '2026-11-01T01:30:00-04:00'],
    ['that is skipped', '2026-03-08T02:30', 'America/New_York', '2026-03-08T03:30:00-04:00'],
    ['of a day that begins at 1', '2018-11-04', 'America/Sao_Paulo', '2018-11-04T01:00:00-02:00'],
    ['of a day that never was', '2011-12-30', 'Pacific/Apia', '2011-12-31T00:00:00+14:00'],
    ['within a quarter', '2026-11-22T08:44:59.999999999', 'UTC', '2026-11-22T08:30:00+00:00'],
  ];
  for (const [what, time, tz, at] of times) {
    it(`start at a time ${what}`, () => {
      expect(startsOf(time, '2027-01-01', 'month', tz)[0]).to.equal(at);
    });
  }

  it('are extended to the end of a quarter', () => {
    const ends = ['2026-11-22T08:30', '2026-11-22T08:30:00.000000001', '2026-11-22T08:44:59'];
    expect(ends.map((to) => startsOf('2026-11-22', to, 'day', 'UTC').at(-1))).to.deep.equal([
      '2026-11-22T08:30:00+00:00',
      '2026-11-22T08:45:00+00:00',
      '2026-11-22T08:45:00+00:00',
    ]);
  });

  const starts: readonly (readonly [
    title: string,
    query: Parameters<typeof startsOf>,
    ...starts: string[],
  ])[] = [
    [
      'have an additional hour if the clock changes within an hour',
      ['2026-04-05T01:00', '2026-04-05T03:00', 'hour', 'Australia/Lord_Howe'],
      ...['2026-04-05T01:00:00+11:00', '2026-04-05T01:30:00+10:30'],
      ...['2026-04-05T02:00:00+10:30', '2026-04-05T03:00:00+10:30'],
    ],
    [
      'have weeks from Monday; the first and the last one may be shorter',
      ['2026-11-21', '2026-12-01', 'week', 'Europe/Berlin'],
      ...['2026-11-21T00:00:00+01:00', '2026-11-23T00:00:00+01:00'],
      ...['2026-11-30T00:00:00+01:00', '2026-12-01T00:00:00+01:00'],
    ],
    [
      'omit a skipped day',
      ['2011-12-29', '2012-01-01', 'day', 'Pacific/Apia'],
      ...['2011-12-29T00:00:00-10:00', '2011-12-31T00:00:00+14:00', '2012-01-01T00:00:00+14:00'],
    ],
  ];
  for (const [title, query, ...expected] of starts) {
    it(title, () => {
      expect(startsOf(...query)).to.deep.equal(expected);
    });
  }

  it('have at most 400 intervals', () => {
    const refused = { refused: 'The period has more than 400 intervals' };
    expect(startsOf('2025-01-01', '2026-02-05', 'day', 'UTC')).to.have.lengthOf(401);
    expect(requested('2025-01-01', '2026-02-05T00:01', 'day', 'UTC')).to.deep.equal(refused);
    expect(requested('1000-01-01', '2999-12-31', 'month', 'Asia/Kathmandu')).to.deep.equal(refused);
  });

  it('start before they end', () => {
    const refused = { refused: 'from must be before to' };
    expect(requested('2026-11-22T08:01', '2026-11-22T08:01', 'day', 'UTC')).to.deep.equal(refused);
    expect(requested('2026-11-22T08:02', '2026-11-22T08:01', 'day', 'UTC')).to.deep.equal(refused);
    expect(requested('2026-11-23', null, 'day', 'UTC')).to.deep.equal(refused);
    expect(startsOf('2026-11-22T08:01', '2026-11-22T08:02', 'day', 'UTC')).to.have.lengthOf(2);
  });
});

/** The starts of intervals, computed with Temporal. */
const startsByTemporal = (from: number, interval: Interval, tz: string, count: number) => {
  const starts = [from];
  const local = (at: number) => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(tz);
  let date = local(from).toPlainDate();
  for (let at = from; starts.length < count;) {
    if (interval === 'hour') {
      const { minute, second } = local(at);
      const change = local(at).getTimeZoneTransition('next')?.epochMilliseconds ?? Infinity;
      at = Math.min(at + 3_600_000 - (minute * 60 + second) * 1_000, change);
      starts.push(at);
    } else {
      if (interval === 'day') date = date.add({ days: 1 });
      else if (interval === 'week') date = date.add({ days: 8 - date.dayOfWeek });
      else date = date.with({ day: 1 }).add({ months: 1 });
      const start = date.toZonedDateTime(tz).epochMilliseconds;
      if (start > at) {
        starts.push(start);
        at = start;
      }
    }
  }
  return starts;
};

describe('schemas: periods of any year', () => {
  const zoned = (at: number, tz: string) =>
    Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(tz);
  /** Half of the periods start shortly before a change of the clock. */
  const anyPeriod = fc
    .record({
      tz: fc.constantFrom(...zones, 'Africa/Monrovia', 'America/Juneau', 'Asia/Manila'),
      interval: fc.constantFrom(...intervals),
      near: fc.oneof(
        fc.integer({ min: Date.UTC(1000, 0, 3), max: Date.UTC(2990, 0) }),
        fc.integer({ min: Date.UTC(1840, 0), max: Date.UTC(2040, 0) }),
      ),
      before: fc.option(fc.integer({ min: 1, max: 10 * 3_600_000 })),
    })
    .map(({ tz, interval, near, before }) => {
      const change = zoned(near, tz).getTimeZoneTransition('next')?.epochMilliseconds;
      const at = before === null || change === undefined ? near : change - before;
      return { tz, interval, from: Math.floor(at / quarterMs) * quarterMs };
    });

  it('equal the result of Temporal, including offsets with seconds', () => {
    const count = 8;
    fc.assert(
      fc.property(anyPeriod, ({ tz, interval, from }) => {
        const starts = startsByTemporal(from, interval, tz, count);
        const to = Math.ceil((starts.at(-1) ?? from) / quarterMs + 1) * quarterMs;
        const at = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms);
        const period = periodOf({ from: at(from), to: at(to), interval, tz }, now);
        if ('refused' in period) throw new Error(period.refused);
        expect(period.starts.slice(0, count)).to.deep.equal(starts);
        expect(period.starts.map(timesIn(tz))).to.deep.equal(
          period.starts.map((start) =>
            at(start).toString({ timeZone: tz, smallestUnit: 'second' }),
          ),
        );
      }),
      { numRuns: 15 },
    );
  });
});

describe('schemas: times of a period', () => {
  for (const time of [
    ...['', 'now', '2026', '2026-11', '20261122', '2026-11-22 10:00', '2026-11-22T10'],
    ...['0999-01-01', '2026-11-22T10:00:00 05:45', '2026-11-22T10:00+0545', '2026-11-22Z'],
    ...['2026-02-30', ' 2026-11-22'],
    ...['2026-11-22T24:00', '2026-11-22T10:60', '2026-11-22T10:00:00.1234567890', '3000-01-01'],
    ...['2026-11-22T10:00[Europe/Berlin]', '2026-11-22\n', '2026-11-22T10:00+24:00', '1763769600'],
  ]) {
    it(`refuse ${JSON.stringify(time)}`, () => {
      expect(readTime(time)).to.equal(null);
    });
  }
});

describe('schemas: time zones', () => {
  it('have their names in their usual case', () => {
    expect(['utc', 'ASIA/KATHMANDU', 'america/st_johns'].map(readZone)).to.deep.equal([
      'UTC',
      'Asia/Kathmandu',
      'America/St_Johns',
    ]);
  });

  it('are only IANA names', () => {
    for (const name of ['', '+05:45', '-08:00', 'Z', 'UTC+1', 'Europe', 'Mars/Phobos', 'UTC\n']) {
      expect(readZone(name), name).to.equal(null);
    }
  });
});

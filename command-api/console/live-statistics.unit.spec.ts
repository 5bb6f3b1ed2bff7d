import { expect } from 'chai';
import type { AccountStatsResponse } from '../../schemas/http/statistics.js';
import type { LiveEvent } from './live-events.js';
import { matchesVisits, withVisits } from './live-statistics.js';

const stats: AccountStatsResponse = {
  ...{ linkCount: 2, clickCount: 9, bots: 1 },
  period: {
    ...{ from: '2026-11-22T00:00:00+01:00', to: '2026-11-24T00:00:00+01:00', interval: 'day' },
    ...{ tz: 'Europe/Berlin', clickCount: 5 },
  },
  timeseries: [
    { start: '2026-11-22T00:00:00+01:00', clicks: 5, bots: 1 },
    { start: '2026-11-23T00:00:00+01:00', clicks: 0, bots: 0 },
  ],
  countries: [
    { value: 'FR', clicks: 1 },
    { value: 'DE', clicks: 1 },
    { value: '(other)', clicks: 3 },
  ],
  browsers: [{ value: null, clicks: 5 }],
  campaigns: [{ campaign: 'spring', source: null, medium: 'mail', clicks: 5 }],
  links: [{ shortCode: 'a', domain: 'go.example', url: 'https://example.com/', clicks: 5 }],
};

const visit = (data: LiveEvent['data'], time = '2026-11-22T23:30:00Z'): LiveEvent => ({
  ...{ id: '1', type: 'linklog.LinkVisited.v4', subject: 'go.example/a', time, data },
});

describe('statistics with visits of a stream', () => {
  it('count only visits that pass all filters of the page', () => {
    const event = visit({ country: 'DE', os: null });
    for (const [filters, expected] of [
      [{}, true],
      [{ country: 'DE', os: '', browser: '', code: 'go.example/a' }, true],
      [{ country: 'DE', os: 'Linux' }, false],
      [{ country: '' }, false],
      [{ code: 'second' }, false],
    ] as const) {
      expect(matchesVisits(event, filters), JSON.stringify(filters)).to.equal(expected);
    }
  });

  it('count a visit in the total, its interval and each list', () => {
    const data = { country: 'DE', browser: 'Firefox', campaign: 'campaign=spring&medium=mail' };
    const { period, timeseries, countries, browsers, campaigns, links, bots, os } = withVisits(
      stats,
      [visit(data)],
    );
    expect([period.clickCount, bots, os]).to.deep.equal([6, 1, undefined]);
    expect(timeseries?.map(({ clicks }) => clicks)).to.deep.equal([5, 1]);
    expect(countries?.map(({ value, clicks }) => [value, clicks])).to.deep.equal([
      ['DE', 2],
      ['FR', 1],
      ['(other)', 3],
    ]);
    expect(browsers).to.deep.equal([
      { value: null, clicks: 5 },
      { value: 'Firefox', clicks: 1 },
    ]);
    expect(campaigns?.[0]?.clicks).to.equal(6);
    expect(links?.map(({ clicks }) => clicks)).to.deep.equal([6]);
  });

  it('count an unknown value as the others, if there are others', () => {
    const { countries } = withVisits(stats, [visit({ country: 'AT' })]);
    expect(countries?.at(-1)).to.deep.equal({ value: '(other)', clicks: 4 });
  });

  it('count the first visitor', () => {
    const uniquesAfter = (uniques: number, visitor: string | null) =>
      withVisits({ ...stats, uniques }, [visit({ visitor })]).uniques;
    expect([uniquesAfter(0, 'a'), uniquesAfter(0, null), uniquesAfter(3, 'a')]).to.deep.equal([
      ...[1, 0, 3],
    ]);
  });

  it('have a link without earlier clicks, whose URL is not known', () => {
    const { links } = withVisits(stats, [{ ...visit({}), subject: 'b' }]);
    expect(links?.[1]).to.deep.equal({ shortCode: 'b', domain: null, url: '', clicks: 1 });
  });

  it('count a bot only as such', () => {
    const counted = withVisits(stats, [visit({ bot: true })]);
    const [, day] = counted.timeseries ?? [];
    expect([counted.bots, counted.period.clickCount, day?.bots]).to.deep.equal([2, 5, 1]);
    expect(counted.countries).to.equal(stats.countries);
  });

  it('ignore visits outside of the period, and other events', () => {
    const other = { ...visit({}), type: 'linklog.LinkEdited.v2' };
    const outside = ['2026-11-21T22:59:59Z', '2026-11-23T23:00:00Z'];
    const events = [other, ...outside.map((time) => visit({}, time))];
    expect(withVisits(stats, events)).to.equal(stats);
  });
});

import { noOptions } from '../../../schemas/link-options.js';
import { expect } from 'chai';
import { invalidRecord, linkRecord, readRecords } from '../../testing/import-files.js';
import { emptyLink, type SourceLink, type SourceRecord, type SourceVisit } from './records.js';
import { readShlinkApi } from './shlink-api.js';

const url = 'https://example.org/';

const shortUrl = {
  ...{ shortCode: 'spring', shortUrl: 'https://s.test/spring', longUrl: url },
  ...{ dateCreated: '2024-08-15T15:03:56-04:00', domain: null, title: null, tags: [] },
  meta: { validSince: null, validUntil: null, maxVisits: null },
  visitsSummary: { total: 0, nonBots: 0, bots: 0 },
  ...{ crawlable: false, forwardQuery: true, hasRedirectRules: false },
};

const spring: SourceLink = {
  ...emptyLink,
  ...{ code: 'spring', domain: 's.test', url, options: { forwardQuery: true } },
  createdAt: '2024-08-15T19:03:56.000Z',
};

const visit = {
  ...{ referer: 'https://t.co/x', date: '2025-01-02T03:04:05+02:00', userAgent: 'Firefox' },
  visitLocation: { countryCode: 'de', cityName: 'Berlin', latitude: 52.5 },
  potentialBot: false,
};

const link = (row: number, fields: Partial<SourceLink> = {}): SourceRecord =>
  linkRecord(row, { ...spring, ...fields });

const invalid = (row: number, message: string, code: string | null, target: string | null = null) =>
  invalidRecord(row, message, { code, url: target });

const read = (...lines: readonly (object | string)[]): Promise<readonly SourceRecord[]> => {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return readRecords(readShlinkApi, texts.map((text) => `${text}\n`).join(''));
};

const readLink = async (fields: object, rules: unknown = null): Promise<SourceLink> => {
  const [record] = await read({ link: { ...shortUrl, ...fields }, rules });
  if (record?.type !== 'link') throw new Error(`read no link: ${JSON.stringify(record)}`);
  return record.link;
};

/** The rules of a link whose rules have these conditions: a type, and a value after a space. */
const readRules = async (...rules: readonly (readonly string[])[]) => {
  const conditionOf = (condition: string) => {
    const [type = '', ...values] = condition.split(' ');
    return { type, matchKey: null, matchValue: values.length === 0 ? null : values.join(' ') };
  };
  const read = await readLink(
    {},
    rules.map((conditions, index) => ({
      ...{ longUrl: `${url}${index + 1}`, priority: index + 1 },
      conditions: conditions.map(conditionOf),
    })),
  );
  return { rules: read.options.rules, messages: read.messages };
};

const rule = (number: number, when: object) => ({
  ...{ name: `rule-${number}`, when, url: `https://example.org/${number}` },
});

describe('imports: API of Shlink', () => {
  it('reads links and visits', async () => {
    const at2030 = '2030-01-01T00:00:00Z';
    const full = {
      ...shortUrl,
      ...{ shortCode: 'docs/käse', domain: 'Go.Example:8080', title: 'He said "hi"' },
      tags: ['news', '2024'],
      meta: { validSince: '2024-01-01T00:00:00+01:00', validUntil: at2030, maxVisits: 100 },
      ...{ visitsSummary: { total: 61, nonBots: 60, bots: 1 }, forwardQuery: false },
    };
    const records = await read(
      { link: shortUrl, rules: null },
      { link: full, rules: [] },
      { visit, shortCode: 'docs/käse', domain: 'go.example:8080' },
    );
    const expected: SourceVisit = {
      ...{ code: 'docs/käse', domain: 'go.example', time: '2025-01-02T01:04:05.000Z' },
      ...{ country: 'DE', referrer: 'https://t.co/x', userAgent: 'Firefox' },
    };
    expect(records).to.deep.equal([
      link(1),
      link(2, {
        ...{ code: 'docs/käse', domain: 'go.example', title: 'He said "hi"' },
        ...{ tags: ['news', '2024'], clicks: 61, maxClicks: 100, options: noOptions },
        ...{ startsAt: '2023-12-31T23:00:00.000Z', expiresAt: '2030-01-01T00:00:00.000Z' },
      }),
      { type: 'visit', row: 3, visit: expected },
    ]);
  });

  it('reads links of earlier versions', async () => {
    const { shortCode, shortUrl: short, longUrl, tags, dateCreated } = shortUrl;
    const deviceLongUrls = { android: 'https://android.example/', ios: null, desktop: '' };
    const early = { shortCode, shortUrl: short, longUrl, tags, dateCreated, visitsCount: 7 };
    const rules = [{ name: 'rule-1', when: { os: ['Android'] }, url: 'https://android.example/' }];
    const records = await read({ link: { ...early, deviceLongUrls }, rules: null });
    expect(records).to.deep.equal([
      link(1, { clicks: 7, options: { forwardQuery: true, rules: rules as never } }),
    ]);
  });

  it('leaves out what a visit does not have', async () => {
    const empty = { referer: '', date: '2025-01-02T03:04:05Z', userAgent: '', visitLocation: null };
    const records = await read(
      { visit: empty, shortCode: 'a', domain: null },
      { visit: { ...empty, visitLocation: { countryCode: '' } }, shortCode: 'a' },
    );
    const expected = {
      ...{ code: 'a', domain: null, time: '2025-01-02T03:04:05.000Z' },
      ...{ country: null, referrer: null, userAgent: null },
    };
    for (const record of records) expect(record).to.deep.include({ visit: expected });
    expect(records).to.have.length(2);
  });

  it('reports malformed lines, and reads the following ones', async () => {
    const stored = 'a character that cannot be stored: U+0000 or half a surrogate pair.';
    const records = await read(
      '{"link":{"shortCode":"a",,}',
      'null',
      { link: { ...shortUrl, longUrl: 5 }, rules: null },
      { link: { shortCode: 'b', longUrl: url, meta: { validUntil: 'soon' } } },
      { link: shortUrl, rules: [{ longUrl: url, conditions: [{}] }] },
      { rules: null },
      { link: 'x' },
      { visit: { date: 'soon' }, shortCode: 'c', domain: null },
      { visit, domain: null },
      { visit: { ...visit, date: null }, shortCode: 'd' },
      { visit: { ...visit, userAgent: '\0' }, shortCode: 'e' },
      { link: { ...shortUrl, title: '\ud83d' }, rules: null },
      { link: shortUrl, rules: null },
    );
    expect(records).to.deep.equal([
      invalid(1, 'The record is not a JSON object.', null),
      invalid(2, 'The record is not a JSON object.', null),
      invalid(3, 'The record has no valid "link.longUrl".', 'spring'),
      invalid(4, 'The value "soon" of "validUntil" is not a time.', 'b', url),
      invalid(5, 'The record has no valid "rules.0.conditions.0.type".', 'spring', url),
      invalid(6, 'The record has neither a link nor a visit.', null),
      invalid(7, 'The record has no valid "link".', null),
      invalid(8, 'The time of the visit, "soon", is not a time.', 'c'),
      invalid(9, 'The visit has no code.', null),
      invalid(10, 'The record has no valid "visit.date".', 'd'),
      invalid(11, `The visit has ${stored}`, 'e'),
      invalid(12, `The row has ${stored}`, 'spring', url),
      link(13),
    ]);
    expect(await read()).to.deep.equal([]);
  });
});

describe('imports: redirect rules of Shlink', () => {
  it('converts each condition that has an equivalent', async () => {
    const conditions: Readonly<Record<string, object>> = {
      'device android': { os: ['Android'] },
      'device ios': { os: ['iOS'] },
      'device mobile': { os: ['Android', 'iOS'] },
      'device macos': { os: ['macOS'] },
      'device chromeos': { os: ['Chrome OS'] },
      'device desktop': { os: ['Windows', 'macOS', 'Linux', 'Chrome OS'] },
      'browser edge': { browsers: ['Microsoft Edge'] },
      'browser android_browser': { browsers: ['Android Browser'] },
      'geolocation-country-code DE': { countries: ['DE'] },
      'geolocation-country-code at': { countries: ['AT'] },
      'language  De': { languages: ['de'] },
      'after-date 2025-01-01T00:00:00+01:00': { after: '2024-12-31T23:00:00.000Z' },
      'before-date 2025-01-01T00:00:00Z': { before: '2025-01-01T00:00:00.000Z' },
    };
    const read = await readRules(...Object.keys(conditions).map((condition) => [condition]));
    const rules = Object.values(conditions).map((when, index) => rule(index + 1, when));
    expect(read).to.deep.equal({ rules, messages: [] });
  });

  it('combines the conditions of a rule', async () => {
    const visitor = ['device desktop', 'device linux', 'geolocation-country-code DE'];
    const after = ['01', '03', '02'].map((month) => `after-date 2025-${month}-01T00:00:00Z`);
    const before = ['02', '01'].map((month) => `before-date 2026-${month}-01T00:00:00Z`);
    const conditions = [...visitor, ...after, ...before];
    const period = { after: '2025-03-01T00:00:00.000Z', before: '2026-01-01T00:00:00.000Z' };
    expect(await readRules(conditions, ['language de', 'language de'])).to.deep.equal({
      rules: [
        rule(1, { os: ['Linux'], countries: ['DE'], ...period }),
        rule(2, { languages: ['de'] }),
      ],
      messages: [],
    });
  });

  it('leaves out a rule that has no equivalent, with a message', async () => {
    const unknown = [
      ...['query-param x', 'ip-address 1.*.3.4', 'geolocation-city-name Rome', 'language de-AT'],
      ...['device constructor', 'browser lynx', 'before-date soon'],
    ];
    const faults: readonly (readonly [conditions: readonly string[], fault: string])[] = [
      ...unknown.map((condition) => {
        const shown = condition.replace(' ', ': ');
        return [[condition], `its condition "${shown}" has no equivalent`] as const;
      }),
      [['valueless-query-param'], 'its condition "valueless-query-param: " has no equivalent'],
      [['device android', 'query-param x'], 'its condition "query-param: x" has no equivalent'],
      [['language de', 'language fr'], 'its several conditions "language" have no equivalent'],
      [[], 'it has no conditions, so that it never applies'],
    ];
    const read = await readRules(...faults.map(([conditions]) => conditions), ['device ios']);
    expect(read.rules).to.deep.equal([rule(faults.length + 1, { os: ['iOS'] })]);
    expect(read.messages).to.deep.equal(
      faults.map(([, fault], index) => `Redirect rule ${index + 1} was left out: ${fault}.`),
    );
  });

  it('converts conditions of the query and of addresses', async () => {
    const condition = (type: string, matchKey: string | null, matchValue: string | null) => ({
      ...{ type, matchKey, matchValue },
    });
    const read = async (...conditions: readonly object[]) => {
      const { options } = await readLink({}, [{ longUrl: url, priority: 1, conditions }]);
      return options.rules?.[0]?.when;
    };
    expect(
      await read(
        condition('query-param', 'utm_source', 'news letter'),
        condition('any-value-query-param', 'a', null),
        condition('valueless-query-param', 'b', null),
        condition('query-param', 'utm_source', 'news letter'),
      ),
    ).to.deep.equal({ query: { utm_source: 'news letter', a: '*', b: '' } });
    for (const [address, network] of [
      ['192.0.2.1', '192.0.2.1'],
      ['192.0.2.0/24', '192.0.2.0/24'],
      ['192.0.*.*', '192.0.0.0/16'],
      ['192.*.*.*', '192.0.0.0/8'],
      ['2001:db8::/32', '2001:db8::/32'],
    ] as const) {
      const networks = [network];
      expect(await read(condition('ip-address', null, address))).to.deep.equal({ networks });
    }
    for (const conditions of [
      [condition('query-param', 'a', '*')],
      [condition('query-param', 'a', '1'), condition('query-param', 'a', '2')],
      [condition('ip-address', null, '*.*.*.*')],
      [condition('ip-address', null, '192.0.2.1'), condition('ip-address', null, '192.0.2.2')],
    ]) {
      expect(await read(...conditions)).to.equal(undefined);
    }
  });

  it('sorts rules by priority', async () => {
    const conditions = [{ type: 'device', matchKey: null, matchValue: 'ios' }];
    const ruleOf = (priority: number) => ({ longUrl: `${url}${priority}`, priority, conditions });
    const { options } = await readLink({}, [ruleOf(2), ruleOf(1)]);
    expect(options.rules).to.deep.equal([
      { ...rule(1, { os: ['iOS'] }), url: `${url}1` },
      { ...rule(2, { os: ['iOS'] }), url: `${url}2` },
    ]);
  });

  it('reads the first 20 rules', async () => {
    const many = Array.from({ length: 23 }, () => ['device ios']);
    const { rules, messages } = await readRules(...many);
    expect(rules).to.have.length(20);
    expect(messages).to.deep.equal(['3 redirect rules were left out: a link has at most 20.']);
  });
});

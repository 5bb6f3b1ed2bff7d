import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import type { RedirectRule } from '../../../schemas/redirect-rules.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import type { StatsResponse } from '../../../schemas/http/statistics.js';
import { fixture } from '../support/fixture.js';
import { sendRequest, type HttpResponse, type RequestOptions } from '../support/http.js';
import { temporaryDir } from '../support/process.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { destination, expectRefused, keyFixture, productFixture } from './harness.js';

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const iphone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 ' +
  '(KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1';
const [american, german] = ['8.8.8.8', '193.99.144.80'];

/** A visitor behind the trusted proxy. */
const visitor = (
  address: string,
  agent = firefox,
  headers: Readonly<Record<string, string>> = {},
): RequestOptions => ({
  headers: { 'X-Forwarded-For': address, 'User-Agent': agent, ...headers },
});

const rules: readonly RedirectRule[] = [
  { name: 'ios', when: { os: ['iOS'] }, url: 'https://apps.example/ios' },
  { name: 'de', when: { countries: ['DE'], languages: ['de'] }, url: 'https://example.com/de' },
  {
    name: 'past',
    when: { before: '2026-01-01T00:00:00.000Z' },
    url: 'https://example.com/past',
  },
];
const split: RedirectRule = {
  ...{ name: 'test', when: {} },
  split: ['a', 'b', 'c'].map((name) => ({ name, url: `https://example.com/${name}`, weight: 1 })),
};

const unsafe = 'URL appears to be unsafe and cannot be shortened';

describe('product: redirect rules', () => {
  const folder = fixture(
    async () => ({ path: await temporaryDir() }),
    (dir) => rm(dir.path, { recursive: true, force: true }),
  );
  const blocklist = (): string => path.join(folder.path, 'blocklist.txt');
  const bench = productFixture(async () => {
    await writeFile(blocklist(), 'blocked.example\n');
    return { TRUSTED_PROXIES: '127.0.0.1', BLOCKLIST_FILE: blocklist() };
  });
  const pro = keyFixture(bench, 'PRO');

  const details = async (code: string): Promise<LinkDetails> =>
    (await bench.api(`/v2/links/${code}`, pro.key)).json() as LinkDetails;
  const patch = (code: string, body: object): Promise<HttpResponse> =>
    bench.change(code, pro.key, body);
  const locationOf = async (code: string, options: RequestOptions): Promise<string> => {
    const response = await bench.visit(code, options);
    expect(response.status, response.text).to.be.oneOf([302, 303]);
    return response.headers.location ?? '';
  };
  const targetsOf = async (code: string): Promise<ReadonlyMap<string | null, number>> => {
    const response = await bench.api(`/v2/stats/${code}?include=targets`, pro.key);
    const { targets = [], period } = response.json() as StatsResponse;
    const sum = targets.reduce((clicks, entry) => clicks + entry.clicks, 0);
    expect(sum).to.equal(period?.clickCount);
    return new Map(targets.map(({ value, clicks }) => [value, clicks]));
  };

  it('are returned by POST, the batch, GET and PATCH; null and [] remove them', async () => {
    const link = await bench.link(pro.key, { rules, forwardQuery: true });
    expect(link).to.deep.include({ rules, forwardQuery: true });
    const code = link.shortCode;
    expect(await details(code)).to.deep.include({ rules, forwardQuery: true, version: 1 });
    expect((await patch(code, { rules, forwardQuery: true })).json()).to.include({ version: 1 });
    for (const none of [null, []]) {
      const changed = (await patch(code, { rules: none, forwardQuery: false })).json();
      expect(changed).to.deep.include({ rules: null, forwardQuery: false });
      expect((await patch(code, { rules: [split] })).json()).to.deep.include({ rules: [split] });
    }
    const batch = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: {
        urls: [
          { url: destination, rules },
          { url: destination, rules: [{}] },
          { url: destination, rules: [], forwardQuery: false },
        ],
      },
    });
    const { results } = batch.json() as { results: readonly object[] };
    expect(results[0]).to.deep.include({ success: true, rules });
    expect(results[1]).to.include({ success: false, statusCode: 400 });
    expect(results[2]).to.include({ success: true }).and.not.have.any.keys('rules', 'forwardQuery');
  });

  it('are rejected with the path of the invalid value', async () => {
    const when = { devices: ['mobile', 'watch'] };
    expectRefused(
      await bench.shorten(pro.key, { url: destination, rules: [{ ...rules[0], when }] }),
      400,
      'rules[0].when.devices[1]: must be one of: desktop, mobile, tablet, tv, other',
    );
    const ownHost = { name: 'loop', when: {}, url: `${bench.product.edge}/abc` };
    expectRefused(
      await bench.shorten(pro.key, { url: destination, rules: [...rules, ownHost] }),
      400,
      'rules[3].url: Please provide a valid URL',
      { reason: 'ownHost' },
    );
    const { shortCode } = await bench.link(pro.key);
    const response = await patch(shortCode, { rules: [{ ...rules[0], name: '' }] });
    expect(response.status).to.equal(400);
    expect(response.json()).to.include({
      message: 'rules[0].name: must have 1 to 50 letters, digits, hyphens and underscores',
    });
  });

  it('redirect to the first rule that matches, otherwise to the url, and count each target', async () => {
    const { shortCode: code } = await bench.link(pro.key, { rules });
    const language = { 'Accept-Language': 'de-DE,de;q=0.9' };
    const expected: readonly (readonly [RequestOptions, string])[] = [
      [visitor(german, iphone, language), 'https://apps.example/ios'],
      [visitor(german, firefox, language), 'https://example.com/de'],
      [visitor(german, firefox, { ...language, 'Sec-GPC': '1' }), 'https://example.com/de'],
      [visitor(german), destination],
      [visitor(american, firefox, language), destination],
      [visitor('', ''), destination],
    ];
    for (const [options, url] of expected) {
      expect(await locationOf(code, options)).to.equal(url);
      expect(await locationOf(code, { ...options, method: 'HEAD' })).to.equal(url);
    }
    await bench.expectClicks(code, pro.key, expected.length);
    await eventuallyPasses(async () => {
      expect(await targetsOf(code)).to.deep.equal(
        new Map<string | null, number>([
          [null, 3],
          ['de', 2],
          ['ios', 1],
        ]),
      );
    });
    // A visitor who opts out of tracking is redirected by country and language; neither is recorded.
    const stats = await bench.api(`/v2/stats/${code}?include=countries`, pro.key);
    const { countries = [] } = stats.json() as StatsResponse;
    const germans = countries.find(({ value }) => value === 'DE')?.clicks;
    expect(germans).to.equal(3);
  });

  it('send a visitor to the same entry of a split on every edge', async () => {
    const { shortCode: code } = await bench.link(pro.key, { rules: [split] });
    const found = new Set<string>();
    for (let network = 0; network < 40; network += 1) {
      const options = visitor(`203.0.113.${network}`);
      const locations = new Set<string>();
      for (const edge of bench.product.edges) {
        for (let visit = 0; visit < 2; visit += 1) {
          const { headers } = await sendRequest(`${edge}/${code}`, options);
          locations.add(headers.location ?? '');
        }
      }
      expect([...locations]).to.have.lengthOf(1);
      for (const location of locations) found.add(location);
    }
    expect(found.size).to.equal(3);
  });

  it('share an exact limit of clicks: the parts add up to it', async () => {
    const { shortCode: code } = await bench.link(pro.key, { rules: [split], maxClicks: 100 });
    const responses = await Promise.all(
      Array.from({ length: 160 }, (_, index) => bench.visit(code, visitor(`198.18.0.${index}`))),
    );
    const redirected = responses.filter(({ status }) => status === 302);
    expect(redirected).to.have.lengthOf(100);
    expect(responses.filter(({ status }) => status === 410)).to.have.lengthOf(60);
    const expected = new Map<string | null, number>();
    for (const { headers } of redirected) {
      const target = `test/${headers.location?.at(-1) ?? ''}`;
      expected.set(target, (expected.get(target) ?? 0) + 1);
    }
    await bench.expectClicks(code, pro.key, 100);
    expect(await targetsOf(code)).to.deep.equal(expected);
  });

  it('apply in one version to each of 10,000 responses while they are swapped every 20 ms', async () => {
    const versionOf = (name: string) => ({
      url: `https://example.com/${name}/url`,
      rules: [{ name, when: { os: ['Linux'] }, url: `https://example.com/${name}/rule` }],
    });
    const versions = ['even', 'odd'].map(versionOf);
    const { shortCode: code } = await bench.link(pro.key, versions[0]);
    let swaps = 0;
    let isDone = false;
    const swap = async (): Promise<void> => {
      while (!isDone) {
        const pause = sleep(20);
        swaps += 1;
        const response = await patch(code, versions[swaps % 2] ?? {});
        expect(response.status, response.text).to.equal(200);
        await pause;
      }
    };
    const visitsOfKind = 5_000;
    const locations = new Set<string>();
    const visitOften = (options: RequestOptions, kind: string): Promise<unknown> => {
      const visits = Array.from({ length: visitsOfKind }, () => kind);
      return pLimit(8).map(visits, async () => {
        const location = await locationOf(code, options);
        locations.add(location);
        expect(location).to.match(new RegExp(`^https://example\\.com/(?:even|odd)/${kind}$`));
      });
    };
    const visiting = Promise.all([
      visitOften(visitor(german), 'rule'),
      visitOften(visitor(german, 'curl/8'), 'url'),
    ]).finally(() => {
      isDone = true;
    });
    await Promise.all([visiting, swap()]);
    expect(swaps).to.be.above(2);
    expect(locations.size).to.equal(4);
    await bench.expectClicks(code, pro.key, 2 * visitsOfKind);
    const targets = await targetsOf(code);
    expect(targets.get(null)).to.equal(visitsOfKind);
    expect((targets.get('even') ?? 0) + (targets.get('odd') ?? 0)).to.equal(visitsOfKind);
  }).timeout(120_000);

  it('forward the query with forwardQuery, except that of Linklog', async () => {
    const link = { url: 'https://example.com/?a=b#top', forwardQuery: true, rules };
    const { shortCode: code } = await bench.link(pro.key, link);
    expect(await locationOf(`${code}?c=d&qr&c=e`, visitor(american))).to.equal(
      'https://example.com/?a=b&c=d&c=e#top',
    );
    expect(await locationOf(`${code}?qr`, visitor(american))).to.equal(link.url);
    expect(await locationOf(`${code}?c=%20d`, visitor(american, iphone))).to.equal(
      'https://apps.example/ios?c=%20d',
    );
    await patch(code, { forwardQuery: false });
    await eventuallyPasses(async () => {
      expect(await locationOf(`${code}?c=d`, visitor(american))).to.equal(link.url);
    });
  });

  it('are listed by the preview, unless the link has a password or a limit', async () => {
    const { shortCode: code } = await bench.link(pro.key, { rules: [...rules, split] });
    const { text } = await bench.visit(`${code}+`, { headers: { Accept: 'text/html' } });
    for (const url of [...rules, split].flatMap((rule) =>
      'url' in rule ? rule.url : rule.split.map((entry) => entry.url),
    )) {
      expect(text).to.include(url);
    }
    const { shortCode: limited } = await bench.link(pro.key, { rules, maxClicks: 5 });
    const hidden = await bench.visit(`${limited}+`, { headers: { Accept: 'text/html' } });
    expect(hidden.text).to.not.include('https://apps.example');
  });

  it('are found by search and by the destination filter', async () => {
    const title = 'found by a rule';
    const { shortCode: code } = await bench.link(pro.key, { rules, title });
    const list = async (query: string): Promise<readonly string[]> => {
      const { links } = (await bench.api(`/v2/links?${query}`, pro.key)).json() as {
        links: readonly LinkDetails[];
      };
      return links.filter((link) => link.title === title).map((link) => link.shortCode);
    };
    await eventually('the list has the link', async () => (await list('limit=100')).length === 1);
    for (const query of [
      'destination=apps.example',
      'destination=example.com',
      'search=apps.exa',
    ]) {
      expect(await list(`${query}&limit=100`), query).to.deep.equal([code]);
    }
    expect(await list('destination=exam.example')).to.deep.equal([]);
  });

  it('are checked for web safety when they are set and later', async () => {
    const bad = [{ name: 'bad', when: {}, url: 'https://www.blocked.example/' }];
    expectRefused(await bench.shorten(pro.key, { url: destination, rules: bad }), 400, unsafe);
    const { shortCode: code } = await bench.link(pro.key, {
      rules: [{ name: 'later', when: {}, url: 'https://later.example/' }],
    });
    const response = await patch(code, { rules: bad });
    expect(response.status).to.equal(400);
    expect(response.json()).to.include({ message: unsafe });
    await writeFile(blocklist(), 'blocked.example\nlater.example\n');
    await eventually(
      'the link is blocked',
      async () => (await details(code)).status === 'blocked',
      40_000,
    );
  }).timeout(60_000);

  it('end reuse, and are in the history', async () => {
    const url = 'https://example.com/with-rules';
    const { shortCode: code } = await bench.link(pro.key, { url, rules });
    const reused = await bench.shorten(pro.key, { url, reuse: true });
    expect(reused.status).to.equal(201);
    await patch(code, { rules: null });
    const history = await bench.api(`/v2/links/${code}/history`, pro.key);
    const { events } = history.json() as { events: { type: string; data: object }[] };
    expect(events.map(({ type }) => type)).to.deep.equal([
      'linklog.LinkCreated.v4',
      'linklog.LinkEdited.v3',
    ]);
    expect(events[0]?.data).to.deep.include({ rules });
    expect(events[1]?.data).to.deep.equal({ rules: null });
  });
});

import { expect } from 'chai';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { nullOn } from '../../platform/errors.js';
import { createLogger } from '../../platform/logging.js';
import { openRedis } from '../../platform/redis.js';
import { concurrently, type HttpResponse, type RequestOptions } from '../support/http.js';
import { startLinklogCli } from '../support/process.js';
import { serversFor } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { eventually } from '../support/waiting.js';
import { destination, expectError, keyFixture, passwordForm, productFixture } from './harness.js';

type Visit = EventNamed<'LinkVisited'>;

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
/** Addresses in the United States and in Belgium. */
const [american, belgian] = ['8.8.8.8', '2a02:1810:1:2::7'];

const known = {
  browser: 'Firefox',
  os: 'Linux',
  device: 'desktop',
  language: 'de',
  referrer: 'news.example.com',
};

describe('redirect edge: recorded visit', function () {
  this.timeout(60_000);
  const bench = productFixture({ TRUSTED_PROXIES: '127.0.0.1', SHORT_URL_HOST: 'https://sho.rt' });
  const pro = keyFixture(bench, 'PRO');

  const createLink = async (body: Record<string, unknown> = {}): Promise<string> =>
    (await bench.link(pro.key, body)).shortCode;

  /** A visitor's request, forwarded by a proxy. */
  const from = (address: string, headers: Record<string, string> = {}): RequestOptions => ({
    headers: {
      'X-Forwarded-For': address,
      'User-Agent': firefox,
      'Accept-Language': 'de-CH,de;q=0.9,en;q=0.8',
      Referer: 'https://www.news.example.com/page?secret=1',
      ...headers,
    },
  });

  /** The environment of commands for the product. */
  const servers = async (): Promise<Record<string, string>> => ({
    ...(await serversFor(bench.product.dataDir)),
    DATABASE_URL: (await runningPostgresUrl(bench.product.dataDir)) ?? '',
  });

  const replay = async (...args: readonly string[]): Promise<string> => {
    await waitUntilProjected(bench.product.edges);
    const { exitCode, stdout, stderr } = await startLinklogCli(
      ['audit', 'replay', ...args],
      await servers(),
    ).ended;
    expect({ exitCode, stderr }).to.deep.equal({ exitCode: 0, stderr: '' });
    return stdout;
  };

  /** The recorded visits of each link. */
  const visitsOf = async (...codes: readonly string[]): Promise<readonly Visit['data'][][]> => {
    const lines = (await replay('--type', 'LinkVisited')).split('\n').slice(0, -1);
    const visits = lines.map((line) => readEvent(line) as Visit);
    return codes.map((code) =>
      visits.filter(({ subject }) => subject === code).map(({ data }) => data),
    );
  };

  const follow = async (
    code: string,
    options: RequestOptions,
    status = 302,
  ): Promise<HttpResponse> => {
    const response = await bench.visit(code, options);
    expect(response.status, response.text).to.equal(status);
    return response;
  };

  it('contains country, referrer, browser, system, device, language, visitor, trigger, version', async () => {
    const code = await createLink();
    for (const options of [from(american), from(american), from(belgian)])
      await follow(code, options);
    await follow(`${code}?utm_source=x&qr`, from(american));
    const [visits = []] = await visitsOf(code);
    for (const [index, country] of ['US', 'US', 'BE', 'US'].entries()) {
      const trigger = index === 3 ? 'qr' : 'link';
      const rest = { country, trigger, click: null, bot: false, version: 1 };
      expect(visits[index]).to.deep.include({ ...known, ...rest });
    }
    const [first, again, other, byCode] = visits.map(({ visitor }) => visitor);
    expect(first).to.match(/^[\w-]{16}$/);
    expect([again, byCode]).to.deep.equal([first, first]);
    expect(other)
      .to.match(/^[\w-]{16}$/)
      .and.not.equal(first);
  });

  it('contains the version of the link that was served, while the link is edited', async () => {
    const codes = [await createLink(), await createLink({ maxClicks: 100 })];
    const got: string[][] = [];
    for (const code of codes) {
      const responses = [await follow(code, from(american))];
      const [during, edit] = await Promise.all([
        concurrently(30, () => bench.visit(code, from(american))),
        bench.change(code, pro.key, { url: `${destination}#2` }),
      ]);
      expect(edit.status).to.equal(200);
      await eventually(
        'the edit is live',
        async () => {
          responses.push(...during.splice(0), await follow(code, from(american)));
          return responses.at(-1)?.headers.location === `${destination}#2`;
        },
        1_000,
      );
      got.push(
        responses.map(({ headers }) => (headers.location === destination ? '1' : '2')).sort(),
      );
    }
    const visits = await visitsOf(...codes);
    const versions = visits.map((linkVisits) =>
      linkVisits.map(({ version }) => String(version)).sort(),
    );
    expect(versions).to.deep.equal(got);
  });

  it('contains the same for limited links and links with a password, if it redirects', async () => {
    const limited = await createLink({ maxClicks: 5 });
    await follow(`${limited}?qr`, from(american));
    const secured = await createLink({ password: 'open sesame' });
    await follow(`${secured}?qr`, from(american), 200);
    await follow(`${secured}?qr`, passwordForm('sesame', from(american)), 401);
    await follow(`${secured}?qr`, passwordForm('open sesame', from(american)), 303);
    const securedAndLimited = await createLink({ maxClicks: 5, password: 'open sesame' });
    await follow(securedAndLimited, passwordForm('open sesame', from(american)), 303);
    const visits = await visitsOf(limited, secured, securedAndLimited);
    const expected = [
      { click: 1, trigger: 'qr' },
      { click: null, trigger: 'qr' },
      { click: 1, trigger: 'link' },
    ];
    for (const [index, expectedFields] of expected.entries()) {
      const [visit, ...more] = visits[index] ?? [];
      expect(more).to.be.empty;
      expect(visit).to.deep.include({
        ...known,
        country: 'US',
        bot: false,
        version: 1,
        ...expectedFields,
      });
      expect(visit?.visitor).to.match(/^[\w-]{16}$/);
    }
  });

  it('counts as a person after a form submission, whatever the user agent', async () => {
    const googlebot = { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' };
    const open = await createLink();
    await follow(open, from(american, googlebot));
    const limited = await createLink({ maxClicks: 5 });
    await follow(limited, { ...from(american, googlebot), method: 'POST' }, 303);
    const secured = await createLink({ password: 'open sesame' });
    await follow(secured, passwordForm('open sesame', from(american, googlebot)), 303);
    const visits = await visitsOf(open, limited, secured);
    expect(visits.map((ofLink) => ofLink.map(({ bot, click }) => ({ bot, click })))).to.deep.equal([
      [{ bot: true, click: null }],
      [{ bot: false, click: 1 }],
      [{ bot: false, click: null }],
    ]);
  });

  it('contains no country, referrer, language or visitor with DNT or Sec-GPC', async () => {
    const codes = [await createLink(), await createLink({ maxClicks: 5 })];
    for (const code of codes) {
      await follow(code, from(american, { DNT: '1' }));
      await follow(code, from(american, { 'Sec-GPC': '1' }));
    }
    for (const visits of await visitsOf(...codes)) {
      expect(visits).to.have.length(2);
      for (const visit of visits) {
        const unknown = { country: null, referrer: null, language: null, visitor: null };
        expect(visit).to.include({ ...known, ...unknown, trigger: 'link' });
      }
    }
  });

  it('contains no own page as referrer, and ignores an untrusted X-Forwarded-For', async () => {
    const code = await createLink();
    await follow(code, from(american, { Referer: `https://sho.rt/${code}+` }));
    await follow(code, { ...from(american), localAddress: '127.0.0.9' });
    const [[own, stranger] = []] = await visitsOf(code);
    expect(own).to.include({ referrer: null, country: 'US' });
    expect(stranger).to.include({ referrer: known.referrer, country: null });
  });

  it('is not recorded for a prefetch, for every kind of link', async () => {
    const codes = [
      await createLink(),
      await createLink({ maxClicks: 1 }),
      await createLink({ password: 'open sesame' }),
    ];
    for (const code of [...codes, 'nothing0']) {
      for (const prefetch of [
        { 'Sec-Purpose': 'prefetch;prerender' },
        { Purpose: 'prefetch' },
        { 'X-Purpose': 'preview' },
        { 'X-Moz': 'prefetch' },
      ]) {
        const headers = prefetch as Record<string, string>;
        const message = 'Short links are not fetched ahead';
        const response = await follow(code, { headers }, 403);
        expectError(response, { status: 403, message, path: `/${code}` });
        await follow(code, { headers, method: 'HEAD' }, 403);
      }
    }
    const headers = { 'Sec-Purpose': '', Purpose: 'prefetch' };
    await follow(`${codes[0] ?? ''}+`, { headers }, 200);
    await follow(codes[0] ?? '', { headers: { 'Sec-Purpose': '' } });
    await follow(codes[1] ?? '', {});
    await follow(codes[2] ?? '', passwordForm('open sesame', { headers }), 303);
    for (const visits of await visitsOf(...codes)) expect(visits).to.have.length(1);
    await bench.admin('PATCH', '/admin/platform', { maintenance: true });
    try {
      await eventually('maintenance is on', async () => (await bench.visit('a')).status === 503);
      await follow(codes[0] ?? '', { headers }, 503);
    } finally {
      await bench.admin('PATCH', '/admin/platform', { maintenance: false });
    }
  });

  it('contains no address and no user agent, in no file', async () => {
    const marked = `${firefox} needle-of-an-agent`;
    const addresses = ['198.51.100.23', '203.0.113.45', '2001:db8:77:88::99'];
    const codes = [
      await createLink(),
      await createLink({ maxClicks: 9 }),
      await createLink({ password: 'right' }),
    ];
    // The search must find this one.
    const requestId = 'needle-of-a-request';
    for (const address of addresses) {
      const visitor = from(address, { 'User-Agent': marked, 'X-Request-Id': requestId });
      await follow(codes[0] ?? '', visitor);
      await follow(codes[1] ?? '', visitor);
      await follow(codes[2] ?? '', passwordForm('wrong', visitor), 401);
      await follow(codes[2] ?? '', passwordForm('right', visitor), 303);
    }

    const found = new Map(await bench.dumpTables());
    found.set('log', await replay('--code', codes[0] ?? ''));
    const { REDIS_URL: redisUrl } = await servers();
    if (redisUrl !== undefined) {
      const redis = await openRedis(redisUrl, createLogger('silent'));
      await eventually('Redis is connected', () => redis.status === 'ready');
      for (const name of await redis.keys('*')) {
        found.set(
          `redis ${name}`,
          ((await redis.getBuffer(name)) ?? Buffer.of()).toString('latin1'),
        );
      }
      redis.disconnect();
    }
    // Files of tables, WAL, spools and services.
    const { dataDir } = bench.product;
    for (const file of await readdir(dataDir, { recursive: true, withFileTypes: true })) {
      const name = path.join(file.parentPath, file.name);
      if (!file.isFile()) continue;
      // PostgreSQL removes files meanwhile.
      const text = await nullOn(readFile(name, 'latin1'), 'ENOENT');
      if (text !== null) found.set(name, text);
    }

    const has = (text: string, secret: string): boolean =>
      text.includes(secret) || text.includes(Buffer.from(secret).toString('hex'));
    const sourcesWith = (secret: string): readonly string[] =>
      [...found].flatMap(([source, text]) => (has(text, secret) ? [source] : []));
    expect(sourcesWith(requestId)).to.include('log');
    expect(sourcesWith(requestId).join()).to.include('/spool/').and.to.include('/pg_wal/');
    for (const secret of [
      '198.51.100',
      '203.0.113',
      '2001:db8:77',
      'needle-of-an-agent',
      'Gecko/',
    ]) {
      expect(sourcesWith(secret), secret).to.be.empty;
    }
    expect(sourcesWith(destination)).not.to.be.empty;
  });
});

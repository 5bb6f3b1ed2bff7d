import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { EventNamed } from '../../../schemas/events/catalogue.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { runningPostgresUrl } from '../../local/postgres/index.js';
import { nullOn } from '../../platform/errors.js';
import { createLogger } from '../../platform/logging.js';
import { openRedis } from '../../app/connections.js';
import type { HttpResponse, RequestOptions } from '../support/http.js';
import { startLinklogCli } from '../support/process.js';
import { serversFor } from '../support/product.js';
import { waitUntilProjected } from '../support/projected.js';
import { eventually } from '../support/waiting.js';
import { destination, expectError, keyFixture, passwordForm, sharedProduct } from './harness.js';

type Visit = EventNamed<'LinkVisited'>;

const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0';
const googlebot = { 'User-Agent': 'Mozilla/5.0 (compatible; Googlebot/2.1)' };
/** Addresses in the United States and in Belgium. */
const [american, belgian] = ['8.8.8.8', '2a02:1810:1:2::7'];

const known = {
  browser: 'Firefox',
  os: 'Linux',
  device: 'desktop',
  language: 'de',
  referrer: 'news.example.com',
};

describe('a recorded visit', function () {
  this.timeout(60_000);
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'visits' });

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
    const command = startLinklogCli(['audit', 'replay', ...args], await servers());
    const { exitCode, stdout, stderr } = await command.ended;
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
    for (const address of [american, american, belgian]) await follow(code, from(address));
    await follow(`${code}?utm_source=x&qr`, from(american));
    // Its own page as referrer, and an untrusted X-Forwarded-For.
    const { shortUrl } = await bench.link(pro.key);
    await follow(code, from(american, { Referer: `${shortUrl}+` }));
    await follow(code, { ...from(american), localAddress: '127.0.0.9' });
    const [visits = []] = await visitsOf(code);
    const rest = { trigger: 'link', click: null, bot: false, version: 1 };
    for (const [index, expected] of [
      ...[{ country: 'US' }, { country: 'US' }, { country: 'BE' }],
      ...[{ country: 'US', trigger: 'qr' }, { country: 'US', referrer: null }, { country: null }],
    ].entries()) {
      expect(visits[index], String(index)).to.deep.include({ ...known, ...rest, ...expected });
    }
    const [first, again, other, byCode] = visits.map(({ visitor }) => visitor);
    for (const visitor of [first, other]) expect(visitor).to.match(/^[\w-]{16}$/);
    expect([again, byCode]).to.deep.equal([first, first]);
    expect(other).to.not.equal(first);
  });

  it('of limited links and links with a password contains the same, and counts as a person', async () => {
    const password = 'open sesame';
    const [open, limited] = [await createLink(), await createLink({ maxClicks: 5 })];
    const secured = await createLink({ password });
    await follow(open, from(american, googlebot));
    await follow(`${limited}?qr`, from(american));
    await follow(limited, { ...from(american, googlebot), method: 'POST' }, 303);
    await follow(`${secured}?qr`, passwordForm('sesame', from(american)), 401);
    await follow(`${secured}?qr`, passwordForm(password, from(american)), 303);
    const visits = (await visitsOf(open, limited, secured)).flat();
    const expected = [
      { bot: true, click: null, trigger: 'link' },
      { ...known, bot: false, click: 1, trigger: 'qr' },
      { bot: false, click: 2, trigger: 'link' },
      { ...known, bot: false, click: null, trigger: 'qr' },
    ];
    expect(visits).to.have.length(expected.length);
    for (const [index, visit] of visits.entries()) {
      expect(visit).to.deep.include({ country: 'US', version: 1, ...expected[index] });
      expect(visit.visitor).to.match(/^[\w-]{16}$/);
    }
  });

  it('is not recorded for a prefetch, which gets 403 for every kind of link', async () => {
    const [open, limited] = [await createLink(), await createLink({ maxClicks: 1 })];
    const headers = { Purpose: 'prefetch' };
    for (const code of [open, limited, 'nothing0']) {
      const response = await follow(code, { headers }, 403);
      const message = 'Short links are not fetched ahead';
      expectError(response, { status: 403, message, path: `/${code}` });
    }
    await follow(`${open}+`, { headers }, 200);
    await follow(open, { headers: { 'Sec-Purpose': '' } });
    await follow(limited, {});
    for (const visits of await visitsOf(open, limited)) expect(visits).to.have.length(1);
  });

  it('contains no address and no user agent, in no file, and tables contain no key or token', async () => {
    const secrets = ['198.18.77', '198.19.55', '2001:db8:77', 'needle-of-an-agent'];
    const codes = [
      ...[await createLink(), await createLink({ maxClicks: 9 })],
      await createLink({ password: 'right' }),
    ];
    // The search must find this one.
    const requestId = 'needle-of-a-request';
    for (const address of ['198.18.77.23', '198.19.55.45', '2001:db8:77:88::99']) {
      const agent = `${firefox} needle-of-an-agent`;
      const visitor = from(address, { 'User-Agent': agent, 'X-Request-Id': requestId });
      await follow(codes[0] ?? '', visitor);
      await follow(codes[1] ?? '', visitor);
      await follow(codes[2] ?? '', passwordForm('wrong', visitor), 401);
      await follow(codes[2] ?? '', passwordForm('right', visitor), 303);
    }

    const found = new Map(await bench.dumpTables());
    const tables = [...found.values()].join('\n');
    expect(tables).to.include('argon2id').and.to.include(codes[0]);
    const { adminToken } = bench.product;
    for (const secret of [pro.key, adminToken, Buffer.from(pro.key).toString('hex')]) {
      expect(tables).to.not.include(secret);
    }
    found.set('log', await replay('--code', codes[0] ?? ''));
    found.set('log lines', bench.product.stdout() + bench.product.stderr());
    const { REDIS_URL: redisUrl } = await servers();
    if (redisUrl !== undefined) {
      const redis = await openRedis(redisUrl, createLogger('silent'));
      await eventually('Redis is connected', () => redis.status === 'ready');
      for (const name of await redis.keys('*')) {
        const value = (await redis.getBuffer(name)) ?? Buffer.of();
        found.set(`redis ${name}`, value.toString('latin1'));
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
    expect(sourcesWith(destination)).not.to.be.empty;
    for (const secret of secrets) expect(sourcesWith(secret), secret).to.be.empty;
    // Only hashes of keys are stored.
    const hash = createHash('sha256').update(pro.key).digest('hex');
    expect([...found.values()].some((text) => text.includes(hash))).to.equal(true);
    expect([...found.values()].some((text) => text.includes(pro.key))).to.equal(false);
  });
});

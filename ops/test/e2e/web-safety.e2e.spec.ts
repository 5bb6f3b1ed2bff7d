import { expect } from 'chai';
import { rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { safeBrowsingFixture } from '../support/fixtures.js';
import type { HttpResponse } from '../support/http.js';
import { type IssuedKey } from '../support/product.js';
import { Bench, destination, expectError, expectRefused, monthly, resetDate } from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';
import { runToEnd, temporaryDir } from '../support/process.js';

const unsafe = 'URL appears to be unsafe and cannot be shortened';
const unavailable = 'Web safety check is temporarily unavailable';

describe('command API: web safety check of the running product', () => {
  const bench = new Bench();
  const double = safeBrowsingFixture();
  let folder: string;
  let blocklist: string;
  let pro: IssuedKey;

  before('start the product', async () => {
    folder = await temporaryDir();
    blocklist = path.join(folder, 'blocklist.txt');
    await writeFile(blocklist, '# ours\nblocked.example\nexample.org/private\n');
    await bench.start({
      BLOCKLIST_FILE: blocklist,
      SAFE_BROWSING_API_KEY: 'a-key',
      SAFE_BROWSING_URL: double.url,
    });
    pro = await bench.key('PRO');
  });
  after('stop the product', async () => {
    try {
      await bench.end();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
  beforeEach(() => {
    double.behaviour = 'answer';
    double.asked.length = 0;
  });

  const shorten = (body: object, headers: Record<string, string> = {}): Promise<HttpResponse> =>
    bench.shorten(pro.key, body, headers);

  it('accepts a safe URL, and looks it up once', async () => {
    const url = 'https://fine.example/a?b=c';
    const { shortCode } = await bench.link(pro.key, { url });
    await bench.link(pro.key, { url });
    expect(double.urls()).to.deep.equal([[url]]);
    expect((await bench.visit(shortCode)).headers.location).to.equal(url);
  });

  it('rejects a URL that Safe Browsing lists, and spends no link', async () => {
    const { links } = await bench.usage(pro.key);
    const body = { url: 'https://evil.example/', alias: 'not-spent-unsafe' };
    expectRefused(await shorten(body), 400, unsafe);
    expectRefused(await shorten(body), 400, unsafe);
    expect(double.asked).to.have.length(1);
    expect((await bench.usage(pro.key)).links).to.equal(links);
    await bench.link(pro.key, { alias: 'not-spent-unsafe' });
  });

  it('rejects a URL on the blocklist, without a look-up', async () => {
    const blocked = [
      'https://blocked.example/',
      'http://www.BLOCKED.example.:8080/x?y#z',
      'https://%62locked.example',
      'https://example.org/private/page',
      'https://example.org/public/..//%70rivate',
    ];
    for (const url of blocked) expectRefused(await shorten({ url }), 400, unsafe);
    expect(double.asked).to.have.length(0);
    await bench.link(pro.key, { url: 'https://unblocked.example/' });
    await bench.link(pro.key, { url: 'https://example.org/public' });
  });

  it('comes after the monthly links and before the alias', async () => {
    const url = 'https://evil.example/order';
    expectRefused(await shorten({ url, alias: 'admin' }), 400, unsafe);
    await bench.link(pro.key, { alias: 'safety-order' });
    expectRefused(await shorten({ url, alias: 'safety-order' }), 400, unsafe);
    const { key } = await bench.key('FREE');
    for (let link = 0; link < 35; link += 1) await bench.link(key);
    const response = await bench.shorten(key, { url });
    expect(response.json()).to.deep.equal(monthly('Monthly link limit reached.', 35));
    expect(response.json()).to.include({ resetDate: resetDate() });
  });

  it('checks all items of a batch in one call, each with its own outcome', async () => {
    const { links } = await bench.usage(pro.key);
    const urls = [
      { url: 'https://batch-1.example/' },
      { url: 'https://evil.example/batch' },
      { url: 'https://blocked.example/batch' },
      { url: 'not a url' },
      { url: 'https://batch-2.example/', alias: 'p4ypal-login' },
      { url: 'https://batch-2.example/', alias: 'batch-of-safe' },
    ];
    const response = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: { urls },
    });
    expect(response.status).to.equal(200);
    const { results } = response.json() as { results: Record<string, unknown>[] };
    expect(results.map(({ message }) => message)).to.deep.equal([
      undefined,
      unsafe,
      unsafe,
      'Please provide a valid URL',
      'This alias is reserved and cannot be used',
      undefined,
    ]);
    expect(double.urls()).to.deep.equal([
      ['https://batch-1.example/', 'https://evil.example/batch', 'https://batch-2.example/'],
    ]);
    expect((await bench.usage(pro.key)).links).to.equal(links + 2);
  });

  it('responds with 503 while Safe Browsing is unavailable, and spends no link', async () => {
    const { links } = await bench.usage(pro.key);
    const idempotent = { 'Idempotency-Key': 'after-the-outage' };
    const body = { url: 'https://outage.example/', alias: 'not-spent-unknown' };
    double.behaviour = 'fail';
    const failed = await shorten(body, idempotent);
    expectRefused(failed, 503, unavailable);
    expect(Number(failed.headers['retry-after'])).to.be.at.least(1);
    double.behaviour = 'hang';
    expectRefused(await shorten({ ...body, url: 'https://hung.example/' }), 503, unavailable);
    const batch = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: { urls: [{ url: 'https://hung.example/' }, { url: destination }] },
    });
    // Safe verdicts are cached.
    const { results } = batch.json() as { results: object[] };
    expect(results[0]).to.deep.equal({
      index: 0,
      success: false,
      url: 'https://hung.example/',
      statusCode: 503,
      message: unavailable,
    });
    expect(results[1]).to.include({ success: true });
    expectRefused(await shorten({ url: 'https://blocked.example/' }), 400, unsafe);
    double.behaviour = 'answer';
    expect((await bench.usage(pro.key)).links).to.equal(links + 1);
    expect((await shorten(body, idempotent)).status).to.equal(201);
  });

  it('accepts a retry of a batch that failed without Safe Browsing', async () => {
    const batch = async (name: string, urls: object[]): Promise<[HttpResponse, unknown[]]> => {
      const headers = { 'Idempotency-Key': name };
      const options = { method: 'POST', headers, body: { urls } };
      const response = await bench.api('/v2/shorten/batch', pro.key, options);
      const { results } = response.json() as { results: { statusCode?: number }[] };
      return [response, results.map(({ statusCode }) => statusCode)];
    };
    const away = { url: 'https://away.example/' };
    const malformed = { url: 'no url' };
    double.behaviour = 'fail';
    expect((await batch('none-made', [away, malformed]))[1]).to.deep.equal([503, 400]);
    const known = { url: destination };
    expect((await batch('one-made', [away, known]))[1]).to.deep.equal([503, undefined]);
    double.behaviour = 'answer';
    const [again, outcomes] = await batch('none-made', [away, malformed]);
    expect(outcomes).to.deep.equal([undefined, 400]);
    expect(again.headers).not.to.have.property('idempotency-replayed');
    // One link was created, so the response is replayed.
    const [replay, before] = await batch('one-made', [away, known]);
    expect(before).to.deep.equal([503, undefined]);
    expect(replay.headers['idempotency-replayed']).to.equal('true');
  });

  it('reloads the blocklist file, and keeps the old list when the new one is invalid', async () => {
    const url = (host: string): { url: string } => ({ url: `https://${host}.example/` });
    await bench.link(pro.key, url('listed-later'));

    await writeFile(`${blocklist}.new`, 'listed-later.example\n');
    await rename(`${blocklist}.new`, blocklist);
    await eventuallyPasses(async () => {
      expectRefused(await shorten(url('listed-later')), 400, unsafe);
    });
    await bench.link(pro.key, url('blocked'));

    await writeFile(blocklist, 'listed-later.example\nno host at all\n');
    await eventuallyPasses(() => {
      expect(bench.product.stderr()).to.include('line 2 is neither a host nor a URL prefix');
      return Promise.resolve();
    });
    expectRefused(await shorten(url('listed-later')), 400, unsafe);

    await rm(blocklist);
    await eventuallyPasses(() => {
      expect(bench.product.stderr()).to.include('ENOENT');
      return Promise.resolve();
    });
    expectRefused(await shorten(url('listed-later')), 400, unsafe);

    await writeFile(blocklist, '# nothing\n');
    await eventuallyPasses(async () => {
      await bench.link(pro.key, url('listed-later'));
    });
  });

  it('blocks live links on a new blocklist, and respects an unblock', async () => {
    const link = await bench.link(pro.key, { url: 'https://attacked-later.example/login' });
    const other = await bench.link(pro.key, { url: 'https://not-attacked.example/' });
    expect((await bench.visit(link.shortCode)).status).to.equal(302);

    await writeFile(blocklist, 'attacked-later.example\n');
    await eventuallyPasses(async () => {
      expectError(await bench.visit(link.shortCode), {
        status: 410,
        message: 'This link has been blocked',
        path: `/${link.shortCode}`,
        errorType: 'BLOCKED',
      });
    });
    expect((await bench.visit(other.shortCode)).status).to.equal(302);
    const history = async () => {
      const response = await bench.admin('GET', `/admin/links/${link.shortCode}/history`);
      return (response.json() as { events: { type: string; actor?: string; data: object }[] })
        .events;
    };
    await eventuallyPasses(async () => {
      const blocks = (await history()).filter(({ type }) => type === 'linklog.LinkBlocked.v1');
      expect(blocks.map(({ actor, data }) => ({ actor, data }))).to.deep.equal([
        { actor: 'web-safety', data: { reason: 'The destination is on the blocklist' } },
      ]);
    });

    const reason = { reason: 'the page was mended' };
    await bench.admin('POST', `/admin/links/${link.shortCode}/unblock`, reason);
    await eventuallyPasses(async () => {
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
    });
    // When a later link is blocked, the check has passed the unblocked link.
    const last = await bench.link(pro.key, { url: 'https://attacked-last.example/' });
    await eventuallyPasses(async () => {
      expect((await bench.stats(last.shortCode, pro.key)).url).to.equal(last.url);
    });
    await writeFile(blocklist, 'attacked-later.example\nattacked-last.example\n');
    await eventuallyPasses(async () => {
      expect((await bench.visit(last.shortCode)).status).to.equal(410);
    });
    expect((await bench.visit(link.shortCode)).status).to.equal(302);
  });

  it('never logs the API key of Safe Browsing', () => {
    expect(bench.product.stderr()).to.not.include('a-key');
  });
});

describe('command API: configuration of the web safety check', () => {
  const wrong: readonly [Record<string, string>, RegExp][] = [
    [{ BLOCKLIST_FILE: '/nowhere/blocklist.txt' }, /^linklog: BLOCKLIST_FILE .*ENOENT/m],
    [{ BLOCKLIST_FILE: '/' }, /^linklog: BLOCKLIST_FILE .*directory/m],
    [{ SAFE_BROWSING_URL: 'http://127.0.0.1:1' }, /^linklog: SAFE_BROWSING_URL .*_API_KEY/m],
    [{ SAFE_BROWSING_API_KEY: 'a key' }, /^linklog: SAFE_BROWSING_API_KEY /m],
  ];
  for (const [env, line] of wrong) {
    it(`ends with one line for ${JSON.stringify(env)}`, async () => {
      const dataDir = await temporaryDir();
      const { exitCode, stderr } = await runToEnd({ DATA_DIR: dataDir, ...env });
      await rm(dataDir, { recursive: true, force: true });
      expect(stderr).to.match(line);
      expect(stderr.trimEnd().split('\n')).to.have.length(1);
      expect(exitCode).to.equal(78);
    });
  }

  it('ends with one line for an invalid blocklist', async () => {
    const folder = await temporaryDir();
    const dataDir = await temporaryDir();
    const file = path.join(folder, 'list.txt');
    await writeFile(file, 'fine.example\nnot a host\n');
    const ended = await runToEnd({ DATA_DIR: dataDir, BLOCKLIST_FILE: file });
    await rm(folder, { recursive: true, force: true });
    await rm(dataDir, { recursive: true, force: true });
    expect(ended.stderr).to.match(/^linklog: BLOCKLIST_FILE .*line 2 .*not a host\n$/);
    expect(ended.exitCode).to.equal(78);
  });
});

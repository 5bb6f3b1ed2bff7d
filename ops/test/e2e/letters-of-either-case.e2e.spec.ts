import { expect } from 'chai';
import path from 'node:path';
import type { DomainResponse } from '../../../schemas/http/domains.js';
import type { LinkDetails } from '../../../schemas/http/links.js';
import { folderFixture } from '../support/fixtures.js';
import { concurrently, statuses, type HttpResponse } from '../support/http.js';
import { runToEnd, startLinklogCli, launch, type EndedProcess } from '../support/process.js';
import { onStack, serversFor, startProduct } from '../support/product.js';
import { stackFile } from '../support/stack.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls, expectDomain } from './domains-harness.js';
import {
  Bench,
  destination,
  expectError,
  expectRefused,
  keyFixture,
  sharedProduct,
} from './harness.js';
import { csvFile, importCalls, outcomesOf, row } from './imports-harness.js';

const alphabet = /^[23456789abcdefghijkmnpqrstuvwxyz]{8}$/;
const taken = 'Alias is already taken';

describe('letters of either case: on a domain', () => {
  const bench = sharedProduct();
  const account = 'either-case';
  const pro = keyFixture(bench, 'PRO', { account });
  const calls = domainCalls(bench);
  importCalls(bench);
  const domain = 'go.either-case.example';
  const other = 'go.one-case.example';
  const at = `?domain=${domain}`;

  const claim = (name: string, caseInsensitive?: unknown): Promise<HttpResponse> =>
    bench.api('/v2/domains', pro.key, { method: 'POST', body: { domain: name, caseInsensitive } });
  const addAsOperator = (name: string, caseInsensitive?: boolean): Promise<HttpResponse> =>
    bench.admin('POST', '/admin/domains', { domain: name, account, caseInsensitive });
  const add = (alias: string, more: object = {}): Promise<HttpResponse> =>
    bench.shorten(pro.key, { url: destination, alias, domain, ...more });
  const visit = (code: string, name = domain): Promise<HttpResponse> =>
    calls.visit(name, encodeURIComponent(code));

  before(async () => {
    expectDomain(await addAsOperator(domain, true), 201);
    expectDomain(await addAsOperator(other), 201);
  });

  it('are chosen with a claim, and do not change', async () => {
    const name = 'go.claimed-case.example';
    const claimed = expectDomain(await claim(name, true), 201);
    expect(claimed).to.include({ status: 'pending', caseInsensitive: true });
    for (const same of [true, undefined, null]) {
      expect(expectDomain(await claim(name, same), 200)).to.include({ caseInsensitive: true });
    }
    const path = '/v2/domains';
    const message = 'The domain has another caseInsensitive, which cannot change';
    expectError(await claim(name, false), { status: 409, message, path, method: 'POST' });
    const wrong = 'caseInsensitive must be true or false';
    expectError(await claim(name, 'yes'), { status: 400, message: wrong, path, method: 'POST' });
    calls.publish(claimed);
    const verified = expectDomain(await calls.verify(pro.key, name), 200);
    expect(verified).to.include({ status: 'active', caseInsensitive: true });
    expect((await claim(name, false)).status).to.equal(409);
    expect((await calls.change(pro.key, name, { caseInsensitive: false })).status).to.equal(400);
    const changed = { rootRedirect: destination, caseInsensitive: false };
    expect((await calls.change(pro.key, name, changed)).json()).to.include({
      rootRedirect: destination,
      caseInsensitive: true,
    });
    // Without links, a claim after a release may choose again.
    expect((await calls.remove(pro.key, name)).status).to.equal(204);
    expect(expectDomain(await claim(name), 201)).to.include({ caseInsensitive: false });
  });

  it('are part of the domain, also of a domain that an operator adds', async () => {
    const listed = await bench.api('/v2/domains', pro.key);
    const { domains } = listed.json() as { domains: readonly DomainResponse[] };
    const shown = domains.map((found) => [found.domain, found.caseInsensitive]);
    expect(shown).to.deep.include.members([
      [domain, true],
      [other, false],
    ]);
    expect(expectDomain(await addAsOperator(domain), 200)).to.include({ caseInsensitive: true });
    const refused = await addAsOperator(other, true);
    expect(refused.json()).to.include({
      message: 'The domain has another caseInsensitive, which cannot change',
    });
    expect(refused.status).to.equal(409);
  });

  it('are folded in a new link, and every case redirects', async () => {
    const created = await add('Spring-SALE_1');
    expect(created.status, created.text).to.equal(201);
    const link = created.json() as LinkDetails;
    expect(link).to.include({ shortCode: 'spring-sale_1', domain });
    expect(link.shortUrl).to.match(/go\.either-case\.example\/spring-sale_1$/);
    for (const code of ['spring-sale_1', 'SPRING-SALE_1', 'Spring-Sale_1']) {
      const visited = await visit(code);
      expect([visited.status, visited.headers.location], code).to.deep.equal([302, destination]);
      expect((await visit(`${code}.`)).status, code).to.equal(302);
      expect((await calls.visit(domain, `${code}+`)).status, code).to.equal(200);
      expect((await calls.visit(domain, code, { method: 'HEAD' })).status, code).to.equal(302);
    }
    await eventuallyPasses(async () => {
      const stats = await bench.api(`/v2/stats/SPRING-sale_1${at}`, pro.key);
      expect(stats.json()).to.include({ shortCode: 'spring-sale_1', clickCount: 6 });
    });
    expect((await bench.link(pro.key, { domain })).shortCode).to.match(alphabet);
    // The other domains of the installation keep the case.
    await bench.link(pro.key, { alias: 'One-Case', domain: other });
    await bench.link(pro.key, { alias: 'one-case', domain: other });
    expect((await visit('ONE-CASE', other)).status).to.equal(404);
    await bench.link(pro.key, { alias: 'Default-Case' });
    expect((await bench.visit('default-case')).status).to.equal(404);
  });

  it('are accepted by every call that takes a code', async () => {
    await add('Every-Call', { title: 'One' });
    const code = 'EVERY-call';
    const api = async (method: string, pathOf: string, body?: object): Promise<HttpResponse> => {
      const sent = { method, ...(body && { body }) };
      const response = await bench.api(pathOf, pro.key, sent);
      expect(response.status, `${method} ${pathOf} ${response.text}`).to.be.oneOf([200, 201, 204]);
      return response;
    };
    const expectCode = (response: HttpResponse): void => {
      expect(response.json()).to.include({ shortCode: 'every-call' });
    };
    expectCode(await api('GET', `/v2/links/${code}${at}`));
    expectCode(await api('PATCH', `/v2/links/${code}${at}`, { title: 'Two' }));
    expectCode(await api('GET', `/v2/stats/${code}${at}`));
    await api('GET', `/v2/links/${code}/history${at}`);
    const images = await Promise.all(
      [code, 'every-call'].map((name) => api('GET', `/v2/qr/${name}${at}&format=svg`)),
    );
    expect(images[0]?.text).to.equal(images[1]?.text);
    expectCode(await api('POST', `/v2/links/${code}/codes${at}`, { alias: 'Every-CODE', domain }));
    expectCode(await api('GET', `/v2/links/every-Code${at}`));
    expect((await visit('EVERY-code')).status).to.equal(302);
    const again = await bench.api(`/v2/links/${code}/codes${at}`, pro.key, {
      ...{ method: 'POST', body: { alias: 'EVERY-CALL', domain } },
    });
    expect(again.json()).to.include({ message: taken });
    const removed = encodeURIComponent(`${domain.toUpperCase()}/EVERY-CODE`);
    await api('DELETE', `/v2/links/${code}/codes/${removed}${at}`);
    const twice = { shortCodes: [`${domain}/${code}`, `${domain}/every-call`] };
    const change = { addTags: ['x'] };
    const bulk = (body: object) => bench.api('/v2/links/bulk', pro.key, { method: 'POST', body });
    expect((await bulk({ ...twice, change })).status).to.equal(400);
    const once = await bulk({ shortCodes: [`${domain}/${code}`], change });
    expect(once.text).to.include('"success":true').and.include('"shortCode":"every-call"');
    await eventuallyPasses(async () => {
      const feed = await api('GET', `/v2/events?shortCode=${code}&domain=${domain}`);
      expect((feed.json() as { events: readonly object[] }).events).to.have.length(5);
      const none = await api('GET', `/v2/events?shortCode=HEALTH&domain=${domain}`);
      expect((none.json() as { events: readonly object[] }).events).to.have.length(0);
      const listed = await api('GET', `/v2/links?search=${code}`);
      expect((listed.json() as { links: readonly object[] }).links).to.have.length(1);
    });
    const admin = async (method: string, pathOf: string, body?: object): Promise<HttpResponse> => {
      const response = await bench.admin(method, pathOf, body);
      expect(response.status, `${method} ${pathOf} ${response.text}`).to.equal(200);
      return response;
    };
    expectCode(await admin('GET', `/admin/links/${code}${at}`));
    expectCode(await admin('PATCH', `/admin/links/${code}${at}`, { title: 'Three' }));
    await admin('POST', `/admin/links/${code}/block${at}`, { reason: 'a test' });
    await admin('POST', `/admin/links/${code}/unblock${at}`, { reason: 'a test' });
    await admin('GET', `/admin/links/${code}/history${at}`);
    await admin('GET', `/admin/stats/${code}${at}`);
    const shown = await startLinklogCli(['audit', 'history', `${domain}/${code}`, '--json'], {
      ...(await serversFor(bench.product.dataDir)),
      DATA_DIR: bench.product.dataDir,
    }).ended;
    expect(shown).to.include({ exitCode: 0 });
    expect(shown.stdout).to.include('linklog.LinkCodeRemoved.v1');
    await api('DELETE', `/v2/links/${code}${at}`);
    expect((await visit(code)).status).to.equal(410);
    for (const name of ['HEALTH', '%E2%93%82', 'unknown-CODE']) {
      expect((await bench.api(`/v2/links/${name}${at}`, pro.key)).status, name).to.equal(404);
      expect((await calls.visit(domain, name)).status, name).to.equal(404);
    }
  });

  it('are one alias, which is taken in every case', async () => {
    await add('Taken-Once');
    for (const alias of ['Taken-Once', 'TAKEN-ONCE', 'taken-once']) {
      expectRefused(await add(alias), 400, taken);
    }
    const body = { url: destination, account, alias: 'TAKEN-once', domain };
    expect((await bench.admin('POST', '/admin/links', body)).json()).to.include({ message: taken });
    const created = await bench.admin('POST', '/admin/links', { ...body, alias: 'By-Operator' });
    expect(created.json()).to.include({ shortCode: 'by-operator' });
    const urls = ['In-Batch', 'IN-BATCH'].map((alias) => ({ url: destination, alias, domain }));
    const batch = await bench.api('/v2/shorten/batch', pro.key, { method: 'POST', body: { urls } });
    const { results } = batch.json() as { results: readonly object[] };
    expect(results[0]).to.include({ success: true, shortCode: 'in-batch' });
    expect(results[1]).to.include({ success: false, message: taken });
    expectRefused(await add('HEALTH'), 400, 'This alias is reserved and cannot be used');
    await bench.link(pro.key, { alias: 'HEALTH', domain: other });
    // A deleted link keeps its code.
    await bench.api(`/v2/links/TAKEN-ONCE${at}`, pro.key, { method: 'DELETE' });
    expectRefused(await add('taken-ONCE'), 400, taken);
  });

  it('stay with the domain once it had a link', async () => {
    const name = 'go.kept-case.example';
    expectDomain(await addAsOperator(name, true), 201);
    await bench.link(pro.key, { alias: 'Kept', domain: name });
    await calls.release(name);
    await eventuallyPasses(async () => {
      expect((await visit('kept', name)).status).to.equal(404);
    });
    const change = { method: 'PATCH', body: { title: 'Still mine' } };
    const changed = await bench.api(`/v2/links/KEPT?domain=${name}`, pro.key, change);
    expect(changed.json()).to.include({ shortCode: 'kept', title: 'Still mine' });
    expect((await claim(name, false)).status).to.equal(409);
    expect((await addAsOperator(name, false)).status).to.equal(409);
    expect(expectDomain(await addAsOperator(name), 201)).to.include({ caseInsensitive: true });
    await eventuallyPasses(async () => {
      expect((await visit('KEPT', name)).status).to.equal(302);
    });
  });
});

describe('letters of either case: on the default domain', () => {
  const [backups, first, restoredTo, sensitive] = [
    folderFixture(),
    folderFixture(),
    folderFixture(),
    folderFixture(),
  ];
  const insensitive = { CODES_CASE: 'insensitive' };
  const ownDomains = ['go.sensitive.example', 'go.insensitive.example'];
  const bench = new Bench();

  /** Starts the product, which should exit. */
  const refusedStart = async (
    dataDir: string,
    env: Record<string, string> = {},
  ): Promise<EndedProcess> => {
    const environment = { ...(await serversFor(dataDir)), DATA_DIR: dataDir, ...env };
    return onStack ? launch(environment, [stackFile]).ended : runToEnd(environment);
  };
  const expectRefusedStart = (
    { exitCode, stdout, stderr }: EndedProcess,
    configured: string,
    chosen: string,
  ): void => {
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 78, stdout: '' });
    const line =
      `linklog: CODES_CASE is ${configured}, but the first start of this installation chose ` +
      `${chosen}, which cannot change\n`;
    // On a stack, each of its processes ends with the line.
    if (onStack) expect(stderr).to.include(line);
    else expect(stderr).to.equal(line);
  };
  const linklog = async (args: readonly string[], dataDir: string) =>
    startLinklogCli(args, { ...(await serversFor(dataDir)), DATA_DIR: dataDir }).ended;

  it('are chosen by the first start, kept by a restart and a restore, and refused otherwise', async function () {
    this.timeout(180_000);
    const [dataDir, target] = [first.path, restoredTo.path];
    const start = async (dir: string): Promise<void> => {
      bench.use(await startProduct({ dataDir: dir, env: insensitive }));
    };
    await start(dataDir);
    const { firstKey } = bench.product;
    if (firstKey === null) throw new Error('the first start made no key');
    const { key } = await bench.key('PRO');
    const check = async (): Promise<void> => {
      expect((await bench.visit('SPRING-Sale')).status).to.equal(302);
      const found = await bench.api('/v2/links/SPRING-SALE', key);
      expect(found.json()).to.include({ shortCode: 'spring-sale' });
      const ofDomains = [];
      for (const domain of ownDomains) {
        const added = await bench.admin('POST', '/admin/domains', { domain, account: 'default' });
        ofDomains.push((added.json() as DomainResponse).caseInsensitive);
      }
      expect(ofDomains).to.deep.equal([false, true]);
      expectRefused(
        await bench.shorten(key, { url: destination, alias: 'Spring-SALE' }),
        ...([400, taken] as const),
      );
    };
    try {
      expect((await bench.link(key, { alias: 'Spring-Sale' })).shortCode).to.equal('spring-sale');
      for (let count = 0; count < 10; count += 1) {
        expect((await bench.link(key)).shortCode).to.match(alphabet);
      }
      const raced = await concurrently(50, (index) =>
        bench.shorten(key, { url: destination, alias: index % 2 === 0 ? 'Raced' : 'rACED' }),
      );
      expect(statuses(raced)).to.deep.equal({ 201: 1, 400: 49 });
      const file = csvFile('code,url', row('CAFE\u0301'), row('Spring-SALE'));
      const imports = importCalls(bench);
      const { rows } = await imports.run(file, key, '?format=csv&onConflict=suffix');
      expect(outcomesOf({ rows })).to.deep.equal(['café created', 'spring-sale-2 created']);
      expect((await bench.visit(encodeURIComponent('CAFÉ'))).status).to.equal(302);
      // An own domain chooses for itself.
      for (const [index, domain] of ownDomains.entries()) {
        const body = { domain, account: 'default', caseInsensitive: index === 1 };
        await bench.admin('POST', '/admin/domains', body);
      }
      for (const alias of ['Case', 'case']) {
        await bench.link(key, { alias, domain: 'go.sensitive.example' });
      }
      await check();
      const backup = path.join(backups.path, 'linklog.backup');
      const saved = await linklog(['backup', backup, '--json'], dataDir);
      expect(saved.exitCode, saved.stderr).to.equal(0);
      await bench.product.stop();

      expectRefusedStart(await refusedStart(dataDir), 'sensitive', 'insensitive');
      const explicit = { CODES_CASE: 'sensitive' };
      expectRefusedStart(await refusedStart(dataDir, explicit), 'sensitive', 'insensitive');
      await start(dataDir);
      await check();
      await bench.product.stop();

      const restored = await linklog(['restore', backup, '--json'], target);
      expect(restored.exitCode, restored.stderr).to.equal(0);
      expectRefusedStart(await refusedStart(target), 'sensitive', 'insensitive');
      await start(target);
      await check();
      const verified = await linklog(['audit', 'verify', '--json'], target);
      expect(verified.exitCode, verified.stdout + verified.stderr).to.equal(0);
      await bench.product.stop();
    } finally {
      await bench.product.cleanup();
    }
  });

  it('are not chosen later: a sensitive installation stays so, also with no more than a key', async function () {
    this.timeout(120_000);
    const dataDir = sensitive.path;
    const product = await startProduct({ dataDir });
    try {
      await product.stop();
      expectRefusedStart(await refusedStart(dataDir, insensitive), 'insensitive', 'sensitive');
    } finally {
      await product.cleanup();
    }
  });
});

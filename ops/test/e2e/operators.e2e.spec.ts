import { expect } from 'chai';
import { linklogVersion } from '../../platform/files/project-file.js';
import type { AbuseReport } from '../../../schemas/http/abuse.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { sendRequest } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectEnvelope,
  expectError,
  expectRefused,
  sharedProduct,
  type Bench,
  type Link,
} from './harness.js';

const featuresOn = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };
const notFound = 'Short URL not found';

interface HistoryEvent {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly sequence: string;
  readonly actor: string;
  readonly correlationid: string;
  readonly data: object;
}

interface Page<Cursor> {
  readonly events: readonly HistoryEvent[];
  readonly next: Cursor | null;
  readonly actorNames: Readonly<Record<string, string>>;
  readonly earlier?: Readonly<Record<string, object>>;
}

describe('command API: operators', () => {
  const bench = sharedProduct();
  let pro: IssuedKey;

  before(async () => {
    pro = await bench.key('PRO', { account: 'of-operators' });
  });

  afterEach(async () => {
    await bench.admin('PATCH', '/admin/platform', { maintenance: false, features: featuresOn });
    await expectStatus('nothing0', 404);
  });

  const admin: Bench['admin'] = (...request) => bench.admin(...request);
  const done = async <Body = unknown>(...request: Parameters<typeof admin>): Promise<Body> => {
    const response = await admin(...request);
    expect(response.status, response.text).to.equal(200);
    expect(response.headers['cache-control']).to.equal('no-store');
    return response.json() as Body;
  };
  const expectStatus = (code: string, status: number): Promise<void> =>
    eventuallyPasses(async () => {
      expect((await bench.visit(code)).status).to.equal(status);
    });

  /** Type, actor, request id and data of the events of a subject. */
  const eventsOf = async (subject: string): Promise<readonly (readonly unknown[])[]> => {
    const { rows } = await withLedger(bench.product, (client) =>
      client.query<{ value: string }>(
        'SELECT value FROM log.events WHERE key = $1 ORDER BY record_offset',
        [subject],
      ),
    );
    const events = rows.map(({ value }) => readEvent(value));
    expect(events.map(({ sequence }) => sequence)).to.deep.equal(events.map((_, n) => n + 1));
    return events.map(({ type, actor, correlationid, data }) => [type, actor, correlationid, data]);
  };

  describe('switches', () => {
    const path = '/admin/platform';

    it('reject what is switched off, in a batch too; everything else works', async () => {
      const { key } = await bench.key('PRO');
      const existing = await bench.link(key, { expiresIn: 3_600 });
      for (const [feature, message, more] of [
        ['shortening', 'URL shortening is currently disabled', {}],
        ['aliases', 'Custom aliases are currently disabled on this platform', { alias: 'admin' }],
        [
          'passwords',
          'Password protection is currently disabled on this platform',
          { password: 'word' },
        ],
        ['expiration', 'URL expiration is currently disabled on this platform', { expiresIn: 60 }],
      ] as const) {
        await done('PATCH', path, { features: { ...featuresOn, [feature]: false } });
        const body = { url: destination, ...more };
        expectRefused(await bench.shorten(key, body), 400, message);
        const urls = { method: 'POST', body: { urls: [body, { url: destination }] } };
        const batch = await bench.api('/v2/shorten/batch', key, urls);
        const { results } = batch.json() as { results: readonly object[] };
        expect(results[0]).to.include({ success: false, statusCode: 400, message });
        expect(results[1]).to.include({ success: feature !== 'shortening' });
        expect((await bench.visit(existing.shortCode)).status).to.equal(302);
      }
    });

    it('are recorded with actor and request id, but only if they change something', async () => {
      const before = await eventsOf('platform');
      const headers = { 'X-Actor': 'maria', 'X-Request-Id': 'switch-1' };
      const body = { maintenance: true, features: { qr: false, shortening: true } };
      for (let time = 0; time < 2; time += 1) await done('PATCH', path, body, headers);
      expect(await done('GET', path)).to.deep.equal({
        ...{ maintenance: true, features: { ...featuresOn, qr: false } },
      });
      await done('PATCH', path, { maintenance: false }, { 'X-Request-Id': 's-2' });
      expect((await eventsOf('platform')).slice(before.length)).to.deep.equal([
        ['linklog.MaintenanceSwitched.v1', 'maria', 'switch-1', { on: true }],
        ['linklog.FeatureSwitched.v1', 'maria', 'switch-1', { feature: 'qr', on: false }],
        ['linklog.MaintenanceSwitched.v1', 'admin', 's-2', { on: false }],
      ]);
    });
  });

  describe('maintenance', () => {
    it('is 503 at API and edge, except health and operators, and costs nothing', async () => {
      const { key, id } = await bench.key('FREE');
      const { shortCode } = await bench.link(key);
      expect((await bench.visit(shortCode)).status).to.equal(302);
      await done('PATCH', '/admin/platform', { maintenance: true });

      const message = 'Service is temporarily unavailable for maintenance';
      for (const [path, token] of [
        ['/v2/usage', key],
        ['/v2/usage', null],
        [`/v2/qr/${shortCode}`, key],
        ['/v2/nothing', key],
      ] as const) {
        const response = await bench.api(path, token);
        expectError(response, { status: 503, message, path });
        expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
        expect('x-ratelimit-limit' in response.headers).to.equal(token !== null);
      }
      expectRefused(await bench.shorten(key, { url: destination }), 503, message);

      await expectStatus(shortCode, 503);
      const { api, edge } = bench.product;
      for (const path of [`/${shortCode}`, '/']) {
        const response = await sendRequest(edge + path);
        expectEnvelope(response, { status: 503, message, path });
        expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
      }
      for (const origin of [api, edge, bench.product.admin]) {
        for (const path of ['/health', '/health/ready']) {
          expect((await sendRequest(origin + path)).status, origin + path).to.equal(200);
        }
      }

      await done('PATCH', '/admin/platform', { maintenance: false });
      expect((await bench.api('/v2/usage', key)).status).to.equal(200);
      await expectStatus(shortCode, 302);
      const shown = await done('GET', `/admin/keys/${id}`);
      expect(shown).to.have.nested.property('usage.month.calls', 1);
    });
  });

  describe('blocks', () => {
    const block = (what: 'block' | 'unblock', code: string) =>
      done('POST', `/admin/links/${code}/${what}`, { reason: 'phishing' });

    it('take effect at the edge, as do unblocks, cached or not', async () => {
      const [cached, uncached] = [await bench.link(pro.key), await bench.link(pro.key)];
      expect((await bench.visit(cached.shortCode)).status).to.equal(302);
      for (const { shortCode } of [cached, uncached]) {
        expect(await block('block', shortCode)).to.deep.equal({ shortCode, blocked: true });
        await expectStatus(shortCode, 410);
        expectError(await bench.visit(shortCode), {
          ...{ status: 410, message: 'This link has been blocked', path: `/${shortCode}` },
          errorType: 'BLOCKED',
        });
        expect(await block('unblock', shortCode)).to.deep.equal({ shortCode, blocked: false });
        await expectStatus(shortCode, 302);
      }
      const path = '/admin/links/nothing0/block';
      const unknown = await admin('POST', path, { reason: 'spam' });
      expectError(unknown, { status: 404, message: notFound, path, method: 'POST' });
      expect((await admin('POST', path, {})).status).to.equal(400);
    });
  });

  describe('the history of a link', () => {
    it('lists events with actor and request id, immediately and without secrets', async () => {
      const headers = { 'X-Request-Id': 'made-1' };
      const created = await bench.shorten(
        pro.key,
        { url: destination, alias: 'historic', maxClicks: 1 },
        headers,
      );
      const { shortCode } = created.json() as Link;
      const path = `/admin/links/${shortCode}`;
      await done('POST', `${path}/block`, { reason: 'phishing – käse' }, { 'X-Actor': 'maria' });
      // Already blocked: no event.
      await done('POST', `${path}/block`, { reason: 'again' }, { 'X-Actor': 'otto' });
      const unblocking = { 'X-Actor': 'otto', 'X-Request-Id': 'unblock-1' };
      await done('POST', `${path}/unblock`, { reason: 'a mistake' }, unblocking);
      await expectStatus(shortCode, 302);
      expect((await admin('GET', '/admin/links/nothing0/history')).status).to.equal(404);
      const response = await admin('GET', `${path}/history`);
      const { events, next } = response.json() as Page<number>;
      expect(next).to.equal(null);
      const brief = (event: HistoryEvent) => [event.type, event.actor, event.data];
      const data = { url: destination, custom: true, expiresAt: null, maxClicks: 1, keyId: pro.id };
      expect(events.map(brief).slice(0, 3)).to.deep.equal([
        ['linklog.LinkCreated.v4', pro.id, data],
        ['linklog.LinkBlocked.v1', 'maria', { reason: 'phishing – käse' }],
        ['linklog.LinkUnblocked.v1', 'otto', { reason: 'a mistake' }],
      ]);
      expect(events.slice(3).map(({ type, data: ended }) => [type, ended])).to.deep.equal([
        ['linklog.LinkExpired.v1', { reason: 'clicks' }],
      ]);
      expect(events[0]?.correlationid).to.equal('made-1');
      expect(events[2]?.correlationid).to.equal('unblock-1');
      for (const secret of ['passwordHash', pro.key, bench.product.adminToken]) {
        expect(response.text).to.not.include(secret);
      }
    });
  });

  it('see the changes of accounts and the platform, newest first', async () => {
    const changes = (query: string): Promise<Page<string>> => done('GET', `/admin/changes${query}`);
    const { id, key, name } = await bench.key('PRO');
    const options = { method: 'POST', body: { name: 'derived' } };
    const derived = ((await bench.api('/v2/keys', key, options)).json() as { id: string }).id;
    for (const qr of [false, true]) {
      await done('PATCH', '/admin/platform', { features: { qr } }, { 'X-Actor': 'maria' });
    }
    await eventuallyPasses(async () => {
      const { events, actorNames } = await changes('?limit=4');
      const brief = events.map(({ subject, type, actor }) => [subject, type.split('.')[1], actor]);
      expect(brief).to.deep.equal([
        ['platform', 'FeatureSwitched', 'maria'],
        ['platform', 'FeatureSwitched', 'maria'],
        [derived, 'ApiKeyCreated', id],
        [id, 'ApiKeyCreated', 'admin'],
      ]);
      expect(actorNames).to.deep.equal({ [id]: name, [derived]: 'derived' });
    });
    const first = await changes('?limit=1');
    const second = await changes(`?limit=1&after=${first.next}`);
    expect(second.events[0]).to.not.deep.equal(first.events[0]);
    await done('PATCH', `/admin/keys/${id}`, { name: 'renamed' }, { 'X-Actor': 'ma%20ria' });
    await eventuallyPasses(async () => {
      const query = 'account=default&actor=+ma+ria&type=ApiKeyChanged';
      const { events, earlier } = await changes(`?${query}`);
      expect(events.map(({ subject }) => subject)).to.deep.equal([id]);
      expect(earlier?.[events[0]?.id ?? '']).to.deep.include({ name, status: 'active' });
    });
    expect((await changes('?account=nothing-here')).events).to.deep.equal([]);
    const path = '/admin/changes';
    for (const [query, message] of [
      ['type=LinkVisited', /^type must be one of LinkCreated, .+, ProjectionWorkRequested$/],
      ['account=%00', /^account must have/],
      ['actor=%00', /^actor must have/],
      ['actor=', /^actor must have/],
    ] as const) {
      const response = await admin('GET', `${path}?${query}`);
      expect(response.status).to.equal(400);
      expect((response.json() as { message: string }).message).to.match(message);
    }
    const refused = await admin('GET', `${path}?after=x`);
    expectError(refused, { status: 400, message: 'after must be the next of a page', path });
  });

  it('see the most clicked links, the newest accounts and shared destinations', async () => {
    const { shortCode } = await bench.link(pro.key);
    const path = '/admin/abuse';
    for (let visits = 0; visits < 3; visits += 1) await bench.visit(shortCode);
    await eventuallyPasses(async () => {
      const { period, links } = await done<AbuseReport>('GET', `${path}?period=hour&limit=100`);
      expect(period).to.equal('hour');
      const link = links.find((found) => found.shortCode === shortCode);
      expect(link).to.include({ url: destination, status: 'active', clicks: 3, before: 0 });
    });
    const { account } = await bench.key('PRO', { account: `abuse-${Date.now()}` });
    const report = await done<AbuseReport>('GET', `${path}?limit=1`);
    expect(report).to.include({ period: 'day' });
    expect(report.links).to.have.length(1);
    expect(report.accounts.map((found) => found.account)).to.deep.equal([account]);
    for (const [query, message] of [
      ['period=month', 'period must be one of hour, day, week'],
      ['limit=101', 'limit must be between 1 and 100'],
      ['limit=0', 'limit must be between 1 and 100'],
    ] as const) {
      expectError(await admin('GET', `${path}?${query}`), { status: 400, message, path });
    }
    expect((await sendRequest(bench.product.admin + path)).status).to.equal(401);
    const headers = { Authorization: `Bearer ${pro.key}` };
    expect((await sendRequest(bench.product.admin + path, { headers })).status).to.equal(401);
  });

  it('see the statistics of a link of any account, running processes and their calls', async () => {
    const { shortCode } = await bench.link(pro.key);
    const stats = await done('GET', `/admin/stats/${shortCode}?include=timeseries`);
    expect(stats).to.include({ shortCode, clickCount: 0 });
    expect(stats).to.have.nested.property('period.clickCount', 0);
    const { processes } = await done<{ processes: readonly object[] }>('GET', '/admin/processes');
    expect(processes[0]).to.include({ version: linklogVersion() });
    const path = '/admin/openapi.json';
    expect(await done('GET', path))
      .to.have.property('paths')
      .that.includes.keys(path);
    expect((await sendRequest(bench.product.admin + path)).status).to.equal(401);
  });

  describe('overrides of reserved aliases', () => {
    const pathOf = (alias: string): string => `/admin/reserved-aliases/${alias}/override`;
    const listed = async (): Promise<readonly { readonly alias: string }[]> =>
      (
        await done<{ overrides: readonly { alias: string }[] }>(
          'GET',
          '/admin/reserved-aliases?limit=100',
        )
      ).overrides;

    it('let one account use the alias in any case, and no other account', async () => {
      const shorten = async (account: string, alias: string): Promise<unknown> => {
        const { key } = await bench.key('PRO', { account });
        const response = await bench.shorten(key, { url: destination, alias });
        const { message, alias: created } = response.json() as Record<string, string>;
        return created ?? message;
      };
      const reserved = 'This alias is reserved and cannot be used';
      expect(await shorten('acme', 'PayPal')).to.equal(reserved);
      await done('PUT', pathOf('paypal'), { account: 'acme' });
      expect(await shorten('other', 'PayPal')).to.equal(reserved);
      expect(await shorten('acme', 'PayPal')).to.equal('PayPal');
      expect(await shorten('acme', 'pay-pal')).to.equal(reserved);
      const shown = (await listed()).find(({ alias }) => alias === 'paypal');
      expect(shown).to.include({ account: 'acme' });
      for (const [alias, reserved] of [
        ['PayPal', true],
        ['spring-sale', false],
        ['', false],
      ] as const) {
        const found = await done('GET', `/admin/reserved-aliases?alias=${alias}`);
        expect(found).to.include({ reserved });
      }
      const gone = await done('DELETE', pathOf('PAYPAL'));
      expect(gone).to.deep.equal({ alias: 'paypal', account: null });
      expect((await admin('DELETE', pathOf('paypal'))).status).to.equal(404);
      expect(JSON.stringify(await listed())).to.not.include('"paypal"');
      expect(await shorten('acme', 'paypal')).to.equal(reserved);
    });
  });
});

import { expect } from 'chai';
import { linklogVersion } from '../../platform/files/project-file.js';
import { readEvent } from '../../../schemas/events/codec.js';
import { sendRequest } from '../support/http.js';
import {
  destination,
  expectEnvelope,
  expectError,
  expectRefused,
  productFixture,
  type Bench,
  type Link,
} from './harness.js';
import { withLedger } from '../support/ledger-events.js';
import { eventuallyPasses } from '../support/waiting.js';

const maintenanceMessage = 'Service is temporarily unavailable for maintenance';
const reasonMessage = 'reason must have 1 to 500 characters, none of them control characters';
const accountMessage =
  'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores';
const featuresOn = { shortening: true, aliases: true, passwords: true, expiration: true, qr: true };

interface HistoryEvent {
  readonly type: string;
  readonly subject: string;
  readonly sequence: string;
  readonly actor: string;
  readonly correlationid: string;
  readonly data: object;
}

interface History {
  readonly events: readonly HistoryEvent[];
  readonly next: number | null;
  readonly actorNames: Readonly<Record<string, string>>;
}

describe('command API: operators', () => {
  const bench = productFixture();
  let pro: string;
  let proId: string;

  before(async () => {
    ({ key: pro, id: proId } = await bench.key('PRO'));
    // Each test starts and ends with all features on.
    await bench.admin('PATCH', '/admin/platform', { features: featuresOn });
  });

  afterEach(async () => {
    await bench.admin('PATCH', '/admin/platform', { maintenance: false, features: featuresOn });
    await eventuallyPasses(async () => {
      expect((await bench.visit('nothing0')).status).to.equal(404);
    });
  });

  const admin: Bench['admin'] = (...request) => bench.admin(...request);

  const done = async (...request: Parameters<typeof admin>): Promise<unknown> => {
    const response = await admin(...request);
    expect(response.status, response.text).to.equal(200);
    expect(response.headers['cache-control']).to.equal('no-store');
    return response.json();
  };

  const switchFeature = (feature: string, on: boolean): Promise<unknown> =>
    done('PATCH', '/admin/platform', { features: { [feature]: on } });

  /** Type, actor, request id and data of the events of a subject. */
  const eventsOf = async (subject: string): Promise<readonly (readonly unknown[])[]> => {
    const { rows } = await withLedger(bench.product, (client) =>
      client.query<{ value: string }>(
        'SELECT value FROM log.events WHERE key = $1 ORDER BY record_offset',
        [subject],
      ),
    );
    const events = rows.map(({ value }) => readEvent(value));
    for (const { time } of events) {
      expect(Math.abs(Date.parse(time) - Date.now())).to.be.below(60_000);
    }
    expect(events.map(({ sequence }) => sequence)).to.deep.equal(events.map((_, n) => n + 1));
    return events.map(({ type, actor, correlationid, data }) => [type, actor, correlationid, data]);
  };

  describe('switches', () => {
    it('are readable, and a change returns the new state', async () => {
      expect(await done('GET', '/admin/platform')).to.deep.equal({
        maintenance: false,
        features: featuresOn,
      });
      const off = { maintenance: false, features: { ...featuresOn, qr: false, aliases: false } };
      const body = { features: { qr: false, aliases: false } };
      expect(await done('PATCH', '/admin/platform', body)).to.deep.equal(off);
      expect(await done('GET', '/admin/platform')).to.deep.equal(off);
    });

    const features = [
      ['shortening', 'URL shortening is currently disabled', {}],
      [
        'aliases',
        'Custom aliases are currently disabled on this platform',
        { alias: 'admin', expiresIn: 60 },
      ],
      [
        'passwords',
        'Password protection is currently disabled on this platform',
        { password: 'word' },
      ],
      [
        'expiration',
        'URL expiration is currently disabled on this platform',
        { expiresIn: 60, alias: 'operators-exp' },
      ],
    ] as const;
    for (const [feature, message, more] of features) {
      it(`${feature} off: rejected immediately, in a batch too; everything else works`, async () => {
        const { key } = await bench.key('PRO');
        const existing = await bench.link(key, { alias: `before-${feature}`, expiresIn: 3_600 });
        await switchFeature(feature, false);
        expectRefused(await bench.shorten(key, { url: destination, ...more }), 400, message);
        // The body is validated before the switches.
        const bad = await bench.shorten(key, { url: 'no', ...more });
        expectRefused(bad, 400, 'Please provide a valid URL');
        const batch = await bench.api('/v2/shorten/batch', key, {
          method: 'POST',
          body: { urls: [{ url: destination, ...more }, { url: destination }] },
        });
        const { results } = batch.json() as { results: readonly object[] };
        expect(results[0]).to.include({ success: false, statusCode: 400, message });
        expect(results[1]).to.include({ success: feature !== 'shortening' });
        expect((await bench.visit(existing.shortCode)).status).to.equal(302);
        expect((await bench.api(`/v2/qr/${existing.shortCode}`, key)).status).to.equal(200);
        await switchFeature(feature, true);
        expect((await bench.shorten(key, { url: destination })).status).to.equal(201);
      });
    }

    it('are recorded with actor and request id, but only if they change something', async () => {
      const before = await eventsOf('platform');
      const headers = { 'X-Actor': 'maria', 'X-Request-Id': 'switch-1' };
      const body = { maintenance: true, features: { qr: false, shortening: true } };
      await done('PATCH', '/admin/platform', body, headers);
      await done('PATCH', '/admin/platform', body, headers);
      await done('PATCH', '/admin/platform', { maintenance: false }, { 'X-Request-Id': 's-2' });
      expect((await eventsOf('platform')).slice(before.length)).to.deep.equal([
        ['linklog.MaintenanceSwitched.v1', 'maria', 'switch-1', { on: true }],
        ['linklog.FeatureSwitched.v1', 'maria', 'switch-1', { feature: 'qr', on: false }],
        ['linklog.MaintenanceSwitched.v1', 'admin', 's-2', { on: false }],
      ]);
    });

    it('reject an invalid body', async () => {
      for (const [body, message] of [
        [{}, 'nothing to switch: give maintenance or features'],
        [{ maintenance: 'on' }, 'maintenance must be true or false'],
        [{ features: { qr: 1 } }, 'features.qr must be true or false'],
        [{ maintenence: true }, 'the body may hold maintenance and features'],
      ] as const) {
        const response = await admin('PATCH', '/admin/platform', body);
        expectError(response, { status: 400, message, path: '/admin/platform', method: 'PATCH' });
      }
    });
  });

  describe('maintenance', () => {
    it('is 503 at API and edge, except health and operators, and costs nothing', async () => {
      const { key, id } = await bench.key('FREE');
      const { shortCode } = await bench.link(key);
      expect((await bench.visit(shortCode)).status).to.equal(302);
      await done('PATCH', '/admin/platform', { maintenance: true });

      const message = maintenanceMessage;
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

      await eventuallyPasses(async () => {
        expect((await bench.visit(shortCode)).status).to.equal(503);
      });
      for (const path of [`/${shortCode}`, '/nothing0', '/']) {
        const response = await sendRequest(bench.product.edge + path);
        expectEnvelope(response, { status: 503, message, path });
        expect(response.headers['retry-after']).to.match(/^[1-9]\d*$/);
        expect(response.headers['cache-control']).to.equal('no-store');
      }
      const page = await bench.visit(shortCode, { headers: { Accept: 'text/html' } });
      expect([page.status, page.headers['content-type']]).to.deep.equal([
        503,
        'text/html; charset=utf-8',
      ]);
      expect(page.headers['retry-after']).to.match(/^[1-9]\d*$/);

      for (const origin of [bench.product.api, bench.product.edge, bench.product.admin]) {
        for (const path of ['/health', '/health/ready']) {
          expect((await sendRequest(origin + path)).status, origin + path).to.equal(200);
        }
      }

      await done('PATCH', '/admin/platform', { maintenance: false });
      expect((await bench.api('/v2/usage', key)).status).to.equal(200);
      await eventuallyPasses(async () => {
        expect((await bench.visit(shortCode)).status).to.equal(302);
      });
      expect(await done('GET', `/admin/keys/${id}`)).to.have.nested.property(
        'usage.month.calls',
        1,
      );
    });

    it('ends in the state of the last of many quick switches', async () => {
      for (let round = 0; round < 10; round += 1) {
        await done('PATCH', '/admin/platform', { maintenance: true });
        await done('PATCH', '/admin/platform', { maintenance: false });
      }
      await eventuallyPasses(async () => {
        expect((await bench.visit('nothing0')).status).to.equal(404);
      });
    });
  });

  describe('blocks', () => {
    let link: Link;

    beforeEach(async () => {
      link = await bench.link(pro);
    });

    const block = (what: 'block' | 'unblock', reason = 'phishing', code = link.shortCode) =>
      done('POST', `/admin/links/${code}/${what}`, { reason });

    const expectStatus = (status: number, code = link.shortCode): Promise<void> =>
      eventuallyPasses(async () => {
        expect((await bench.visit(code)).status).to.equal(status);
      });

    it('take effect at the edge, as do unblocks, cached or not', async () => {
      const uncached = await bench.link(pro);
      const limited = await bench.link(pro, { maxClicks: 100 });
      for (const { shortCode } of [link, limited]) {
        for (let visit = 0; visit < 3; visit += 1) {
          expect((await bench.visit(shortCode)).status).to.equal(302);
        }
      }
      for (const { shortCode } of [link, limited, uncached]) {
        for (let round = 0; round < 3; round += 1) {
          expect(await block('block', 'phishing', shortCode)).to.deep.equal({
            shortCode,
            blocked: true,
          });
          await expectStatus(410, shortCode);
          expectError(await bench.visit(shortCode), {
            status: 410,
            message: 'This link has been blocked',
            path: `/${shortCode}`,
            errorType: 'BLOCKED',
          });
          expect(await block('unblock', 'a mistake', shortCode)).to.deep.equal({
            shortCode,
            blocked: false,
          });
          await expectStatus(302, shortCode);
        }
      }
    });

    it('keep the statistics and the code', async () => {
      const { shortCode } = await bench.link(pro, { alias: 'blocked-alias' });
      await block('block', 'spam', shortCode);
      await expectStatus(410, shortCode);
      expect((await bench.stats(shortCode, pro)).url).to.equal(destination);
      const again = await bench.shorten(pro, { url: destination, alias: shortCode });
      expectRefused(again, 400, 'Alias is already taken');
    });

    it('take precedence over an expiry, which returns after an unblock', async () => {
      const { shortCode } = await bench.link(pro, { maxClicks: 1 });
      expect((await bench.visit(shortCode)).status).to.equal(302);
      await block('block', 'spam', shortCode);
      const typeOf = async () =>
        ((await bench.visit(shortCode)).json() as { errorType: string }).errorType;
      await eventuallyPasses(async () => {
        expect(await typeOf()).to.equal('BLOCKED');
      });
      await block('unblock', 'over', shortCode);
      await eventuallyPasses(async () => {
        expect(await typeOf()).to.equal('EXPIRED');
      });
    });

    it('are 404 for an unknown code', async () => {
      for (const what of ['block', 'unblock']) {
        for (const code of ['nothing0', 'x', 'a.b', '%00']) {
          const path = `/admin/links/${code}/${what}`;
          const message = 'Short URL not found';
          const response = await admin('POST', path, { reason: 'spam' });
          expectError(response, { status: 404, message, path, method: 'POST' });
        }
      }
    });

    it('need a reason', async () => {
      const path = `/admin/links/${link.shortCode}/block`;
      for (const body of [{}, { reason: '' }, { reason: 'a\nb' }]) {
        const response = await admin('POST', path, body);
        expectError(response, { status: 400, message: reasonMessage, path, method: 'POST' });
      }
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
    });

    it('need the admin token and a printable actor', async () => {
      const path = `/admin/links/${link.shortCode}/block`;
      const body = { reason: 'spam' };
      const unauthorized = await admin('POST', path, body, { Authorization: `Bearer ${pro}` });
      expect(unauthorized.status).to.equal(401);
      for (const actor of ['a%0Ab', 'x'.repeat(65), '']) {
        const response = await admin('POST', path, body, { 'X-Actor': actor });
        const message = 'X-Actor must have 1 to 64 characters, none of them control characters';
        expectError(response, { status: 400, message, path, method: 'POST' });
      }
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
    });
  });

  describe('the history of a link', () => {
    const history = async (code: string, query = ''): Promise<History> =>
      (await done('GET', `/admin/links/${code}/history${query}`)) as History;

    it('lists events with actor and request id, immediately and without secrets', async () => {
      const headers = { 'X-Request-Id': 'made-1' };
      const created = await bench.shorten(pro, { url: destination, alias: 'historic' }, headers);
      const { shortCode } = created.json() as Link;
      const path = `/admin/links/${shortCode}`;
      await done('POST', `${path}/block`, { reason: 'phishing – käse' }, { 'X-Actor': 'maria' });
      // Already blocked: no event.
      await done('POST', `${path}/block`, { reason: 'again' }, { 'X-Actor': 'otto' });
      const unblocking = { 'X-Actor': 'otto', 'X-Request-Id': 'unblock-1' };
      await done('POST', `${path}/unblock`, { reason: 'a mistake' }, unblocking);
      const response = await admin('GET', `${path}/history`);
      const { events, next } = response.json() as History;
      expect(next).to.equal(null);
      const brief = (event: HistoryEvent) => [event.type, event.actor, event.data];
      expect(events.map(brief)).to.deep.equal([
        [
          'linklog.LinkCreated.v4',
          proId,
          { url: destination, custom: true, expiresAt: null, maxClicks: null, keyId: proId },
        ],
        ['linklog.LinkBlocked.v1', 'maria', { reason: 'phishing – käse' }],
        ['linklog.LinkUnblocked.v1', 'otto', { reason: 'a mistake' }],
      ]);
      expect(events[0]?.correlationid).to.equal('made-1');
      expect(events[2]?.correlationid).to.equal('unblock-1');
      expect(new Set(events.map(({ subject }) => subject))).to.deep.equal(new Set([shortCode]));
      expect(events.map(({ sequence }) => Number(sequence))).to.deep.equal([1, 2, 3]);
      for (const secret of ['passwordHash', pro, bench.product.adminToken]) {
        expect(response.text).to.not.include(secret);
      }
      // The projection returns the same as the log.
      await eventuallyPasses(async () => {
        const { rows } = await withLedger(bench.product, (client) =>
          client.query('SELECT FROM projection_history.events WHERE subject = $1', [shortCode]),
        );
        expect(rows).to.have.length(3);
      });
      const { actorNames, ...page } = await history(shortCode);
      expect(page).to.deep.equal({ events, next: null });
      expect(actorNames).to.have.all.keys(proId);
    });

    it('contains a link from its 201 on, and its expiry', async () => {
      const { shortCode } = await bench.link(pro, { maxClicks: 1 });
      expect((await history(shortCode)).events).to.have.length(1);
      await bench.visit(shortCode);
      const { events } = await history(shortCode);
      expect(events.map(({ type, data }) => [type, data]).at(-1)).to.deep.equal([
        'linklog.LinkExpired.v1',
        { reason: 'clicks' },
      ]);
    });

    it('has pages without gaps or repeats', async () => {
      const { shortCode } = await bench.link(pro);
      for (let change = 0; change < 6; change += 1) {
        const what = change % 2 === 0 ? 'block' : 'unblock';
        await done('POST', `/admin/links/${shortCode}/${what}`, { reason: `number ${change}` });
      }
      const events = (await history(shortCode)).events;
      expect(events).to.have.length(7);
      for (const limit of [1, 2, 3, 6, 7, 8]) {
        const pages: (readonly HistoryEvent[])[] = [];
        let after: number | null = 0;
        while (after !== null) {
          const page: History = await history(shortCode, `?limit=${limit}&after=${after}`);
          pages.push(page.events);
          after = page.next;
        }
        expect(pages.flat(), `limit ${limit}`).to.deep.equal(events);
        expect(pages).to.have.length(Math.ceil(events.length / limit));
      }
      expect(await history(shortCode, '?after=7')).to.deep.equal({
        events: [],
        next: null,
        actorNames: {},
      });
    });

    it('is 404 for an unknown code, on any page', async () => {
      for (const code of ['nothing0', 'x', '%00']) {
        for (const query of ['', '?after=3']) {
          const path = `/admin/links/${code}/history`;
          const response = await admin('GET', path + query);
          expectError(response, { status: 404, message: 'Short URL not found', path });
        }
      }
    });

    it('rejects an invalid page', async () => {
      const path = '/admin/links/nothing0/history';
      for (const [query, message] of [
        ['limit=1001', 'limit must be between 1 and 1000'],
        ['after=x', 'after must be a number that next gave'],
        ['after=1&after=2', 'after must be a number that next gave'],
      ] as const) {
        expectError(await admin('GET', `${path}?${query}`), { status: 400, message, path });
      }
    });
  });

  describe('the changes of accounts and the platform', () => {
    interface Changes {
      readonly events: readonly HistoryEvent[];
      readonly next: string | null;
      readonly actorNames: Readonly<Record<string, string>>;
    }
    const changes = async (query: string): Promise<Changes> =>
      (await done('GET', `/admin/changes${query}`)) as Changes;

    it('are listed with their actors, newest first, without gaps or repeats', async () => {
      const { id, key, name } = await bench.key('PRO');
      const created = await bench.api('/v2/keys', key, {
        method: 'POST',
        body: { name: 'derived' },
      });
      const derived = (created.json() as { readonly id: string }).id;
      const by = { 'X-Actor': 'maria' };
      await done('PATCH', '/admin/platform', { features: { qr: false } }, by);
      await done('PATCH', '/admin/platform', { features: { qr: true } }, by);
      const expected = [
        ['platform', 'linklog.FeatureSwitched.v1', 'maria'],
        ['platform', 'linklog.FeatureSwitched.v1', 'maria'],
        [derived, 'linklog.ApiKeyCreated', id],
        [id, 'linklog.ApiKeyCreated', 'admin'],
      ];
      await eventuallyPasses(async () => {
        const { events, actorNames } = await changes('?limit=4');
        const brief = events.map(({ subject, type, actor }) => [
          ...[subject, type.replace(/Created\.v\d+$/, 'Created'), actor],
        ]);
        expect(brief).to.deep.equal(expected);
        expect(actorNames).to.deep.equal({ [id]: name });
      });
      const listed: string[] = [];
      let after = '';
      for (let next: string | null = ''; next !== null; after = `&after=${next ?? ''}`) {
        const page: Changes = await changes(`?limit=3${after}`);
        listed.push(...page.events.map((event) => `${event.subject} ${event.sequence}`));
        next = page.next;
      }
      expect(new Set(listed)).to.have.property('size', listed.length);
      expect(listed.length).to.be.greaterThan(4);
      const refused = await admin('GET', '/admin/changes?after=x');
      const message = 'after must be the next of a page';
      expectError(refused, { status: 400, message, path: '/admin/changes' });
    });
  });

  it('see the statistics of a link of any account', async () => {
    const { key } = await bench.key('PRO', { account: 'of-others' });
    const { shortCode } = await bench.link(key);
    await bench.visit(shortCode);
    await eventuallyPasses(async () => {
      const stats = await done('GET', `/admin/stats/${shortCode}?include=timeseries`);
      expect(stats).to.include({ shortCode, clickCount: 1 });
      expect(stats).to.have.nested.property('period.clickCount', 1);
    });
    const path = '/admin/stats/nothing0';
    const unknown = await admin('GET', path);
    expectError(unknown, { status: 404, message: 'Short URL not found', path });
  });

  it('see the running processes with version and node', async () => {
    const { processes } = (await done('GET', '/admin/processes')) as {
      readonly processes: readonly Readonly<Record<string, unknown>>[];
    };
    expect(processes).not.to.have.length(0);
    expect(processes[0]).to.have.keys(
      ...['id', 'version', 'services', 'host', 'pid', 'startedAt', 'lastSeenAt'],
    );
    expect(processes[0]).to.include({ version: linklogVersion() });
  });

  describe('overrides of reserved aliases', () => {
    const pathOf = (alias: string): string => `/admin/reserved-aliases/${alias}/override`;

    it('are recorded with actor and request id, but only if they change something', async () => {
      const at = pathOf('Admin');
      const headers = (id: string) => ({ 'X-Actor': 'maria', 'X-Request-Id': id });
      const acme = { alias: 'admin', account: 'acme' };
      expect(await done('PUT', at, { account: 'acme' }, headers('o-1'))).to.deep.equal(acme);
      expect(await done('PUT', at, { account: 'acme' }, headers('o-2'))).to.deep.equal(acme);
      const other = await done('PUT', pathOf('ADMIN'), { account: 'other' }, headers('o-3'));
      expect(other).to.deep.equal({ alias: 'admin', account: 'other' });
      const gone = await done('DELETE', at, undefined, headers('o-4'));
      expect(gone).to.deep.equal({ alias: 'admin', account: null });
      const again = await admin('DELETE', at);
      const message = 'Override not found';
      expectError(again, { status: 404, message, path: at, method: 'DELETE' });
      expect(await done('GET', '/admin/reserved-aliases')).to.deep.equal({
        overrides: [],
        next: null,
      });
      await done('PUT', at, { account: 'acme' }, headers('o-5'));
      const listed = (await done('GET', '/admin/reserved-aliases?limit=1')) as {
        readonly overrides: readonly unknown[];
        readonly next: unknown;
      };
      expect(listed.next).to.equal(null);
      expect(listed.overrides).to.have.length(1);
      expect(listed.overrides[0]).to.include({ alias: 'admin', account: 'acme' });
      expect(await eventsOf('admin')).to.deep.equal([
        ['linklog.AliasOverrideGranted.v1', 'maria', 'o-1', { account: 'acme' }],
        ['linklog.AliasOverrideGranted.v1', 'maria', 'o-3', { account: 'other' }],
        ['linklog.AliasOverrideRevoked.v1', 'maria', 'o-4', {}],
        ['linklog.AliasOverrideGranted.v1', 'maria', 'o-5', { account: 'acme' }],
      ]);
    });

    it('let one account use the alias in any case, and no other account', async () => {
      const shorten = async (account: string, alias: string): Promise<unknown> => {
        const { key } = await bench.product.createKey({ plan: 'PRO', account });
        const response = await sendRequest(`${bench.product.api}/v2/shorten`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${key}` },
          body: { url: 'https://example.com/', alias },
        });
        return response.status === 201
          ? (response.json() as { alias: string }).alias
          : (response.json() as { message: string }).message;
      };
      const reserved = 'This alias is reserved and cannot be used';
      expect(await shorten('acme', 'PayPal')).to.equal(reserved);
      await done('PUT', pathOf('paypal'), { account: 'acme' });
      expect(await shorten('other', 'PayPal')).to.equal(reserved);
      expect(await shorten('acme', 'PayPal')).to.equal('PayPal');
      expect(await shorten('acme', 'pay-pal')).to.equal(reserved);
      await done('DELETE', pathOf('PAYPAL'));
      expect(await shorten('acme', 'paypal')).to.equal(reserved);
    });

    it('are 404 when removed from an alias without one', async () => {
      for (const alias of ['never-there', 'x', '%00']) {
        const path = pathOf(alias);
        const message = 'Override not found';
        const response = await admin('DELETE', path);
        expectError(response, { status: 404, message, path, method: 'DELETE' });
      }
    });

    it('need a valid alias and account', async () => {
      const method = 'PUT';
      for (const body of [{ account: '' }, { account: 'a b' }, { account: null }, {}]) {
        const response = await admin(method, pathOf('admin'), body);
        const message = accountMessage;
        expectError(response, { status: 400, message, path: pathOf('admin'), method });
      }
      for (const alias of ['ab', 'x'.repeat(51), 'a.b', '%00ab']) {
        const response = await admin(method, pathOf(alias), { account: 'acme' });
        const message = 'Alias must have 3 to 50 letters, numbers, hyphens and underscores';
        expectError(response, { status: 400, message, path: pathOf(alias), method });
      }
    });
  });
});

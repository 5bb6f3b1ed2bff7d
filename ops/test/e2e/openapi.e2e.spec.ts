import { expect } from 'chai';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  sendRequest,
  concurrently,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { Document } from '../support/openapi.js';
import { keyFixture, productFixture, destination, expectEnvelope } from './harness.js';
import { eventuallyPasses } from '../support/waiting.js';
import { folderFixture } from '../support/fixtures.js';

const few = { requestsPerMinute: 1_000, monthlyCalls: 2, monthlyLinks: 1, monthlyQrCodes: 1 };
const many = { ...few, monthlyCalls: null, monthlyLinks: null, monthlyQrCodes: null };
const plans = {
  plans: {
    FREE: { ...many, requestsPerMinute: 1 },
    HOBBY: few,
    INDIE: { ...many, monthlyLinks: 0, monthlyQrCodes: 0 },
    PRO: many,
  },
  gates: { customAlias: 'INDIE', passwordProtection: 'PRO' },
};

describe('command API: GET /openapi.json', () => {
  const dir = folderFixture();
  const bench = productFixture(async () => {
    const file = path.join(dir.path, 'plans.json');
    await writeFile(file, JSON.stringify(plans));

    return { PLANS_FILE: file };
  });
  let document: Document;
  const pro = keyFixture(bench, 'PRO');

  before(async () => {
    document = new Document((await bench.api('/openapi.json', null)).text);
  });

  it('needs no key, and has an ETag', async () => {
    const response = await bench.api('/openapi.json', null);
    expect(response.status).to.equal(200);
    expect(response.headers).to.include({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    });
    expect(response.json()).to.include({ openapi: '3.1.1' });
    const { etag = '' } = response.headers;
    const again = await bench.api('/openapi.json', null, { headers: { 'If-None-Match': etag } });
    expect([again.status, again.text]).to.deep.equal([304, '']);
    expect(again.headers.etag).to.equal(etag);
  });

  it('responds to HEAD without a body, and to no other method', async () => {
    const head = await bench.api('/openapi.json', null, { method: 'HEAD' });
    expect([head.status, head.text]).to.deep.equal([200, '']);
    expect(Number(head.headers['content-length'])).to.be.above(10_000);
    for (const at of ['/openapi.json', '/docs', '/asyncapi.json', '/docs/events']) {
      const refused = await bench.api(at, null, { method: 'POST' });
      const message = 'Method Not Allowed';
      expectEnvelope(refused, { status: 405, message, path: at, method: 'POST' });
      expect(refused.headers.allow).to.equal('GET, HEAD');
      expect(refused.headers['cache-control']).to.equal('no-store');
    }
  });

  it('is on no other listener', async () => {
    for (const origin of [bench.product.edge, bench.product.admin]) {
      for (const at of ['/openapi.json', '/docs', '/asyncapi.json', '/docs/events']) {
        expect((await sendRequest(origin + at)).status, origin + at).to.equal(404);
      }
    }
  });

  it('has examples that match their schemas', () => {
    expect(document.expectExamplesToHold()).to.be.above(20);
  });

  describe('describes every response', () => {
    const seen: string[] = [];
    let alias: string;
    let keyId: string;
    let domain: string;

    /** The path with the short code, key or domain. */
    const targetOf = (at: string): string =>
      at.replace('{shortCode}', alias).replace('{id}', keyId).replace('{domain}', domain);

    const expectDescribed = async (
      operation: string,
      status: number,
      key: string | null,
      options: RequestOptions = {},
      query = '',
    ): Promise<HttpResponse> => {
      const [method = '', at = ''] = operation.split(' ');
      const target = targetOf(at) + query;
      const response = await bench.api(target, key, { method, ...options });
      expect(response.status, `${operation} ${response.text}`).to.equal(status);
      document.expectDescribed(method, at, response);
      seen.push(`${operation} ${status}`);
      return response;
    };

    const posts = ['POST /v2/shorten', 'POST /v2/shorten/batch'] as const;
    const changes = [
      ...(['PATCH /v2/links/{shortCode}', 'DELETE /v2/links/{shortCode}'] as const),
      'POST /v2/links/bulk',
    ] as const;
    const gets = [
      ...(['GET /v2/qr/{shortCode}', 'GET /v2/stats/{shortCode}'] as const),
      ...(['GET /v2/links/{shortCode}', 'GET /v2/links/{shortCode}/history'] as const),
      ...([
        'GET /v2/stats',
        'GET /v2/usage',
        'GET /v2/links',
        'GET /v2/tags',
        'GET /v2/export',
      ] as const),
    ] as const;
    const keyCalls = [
      'GET /v2/keys',
      'POST /v2/keys',
      'PATCH /v2/keys/{id}',
      'POST /v2/keys/{id}/rotate',
      'DELETE /v2/keys/{id}',
    ] as const;
    const domainCalls = [
      'GET /v2/domains',
      'POST /v2/domains',
      'PATCH /v2/domains/{domain}',
      'GET /v2/domains/{domain}',
      'POST /v2/domains/{domain}/verify',
      'DELETE /v2/domains/{domain}',
    ] as const;
    const everywhere = [...posts, ...changes, ...gets, ...domainCalls, ...keyCalls];
    /** Calls that do not count toward the monthly limit. */
    const free = ['GET /v2/usage', ...keyCalls] as readonly string[];
    const bodies = {
      'POST /v2/shorten': { url: destination },
      'POST /v2/shorten/batch': { urls: [{ url: destination }] },
      'PATCH /v2/links/{shortCode}': { title: 'Spring' },
      'POST /v2/links/bulk': { shortCodes: ['spring'], change: { disabled: true } },
      'POST /v2/domains': { domain: 'go.example.com' },
      'PATCH /v2/domains/{domain}': { rootRedirect: null },
      'POST /v2/keys': { name: 'made' },
      'PATCH /v2/keys/{id}': { active: true },
      'POST /v2/keys/{id}/rotate': {},
    } as const;
    const bodyOf = (operation: string): RequestOptions =>
      operation in bodies ? { body: bodies[operation as keyof typeof bodies] } : {};

    beforeEach(() => {
      keyId = '01990000-0000-7000-8000-000000000000';
      alias = `c${Math.random().toString(36).slice(2, 10)}x`;
      domain = `${alias}.example.com`;
    });

    it('when a link is created', async () => {
      await expectDescribed('POST /v2/shorten', 201, pro.key, bodyOf('POST /v2/shorten'));
      for (const [operation, status] of [
        ['POST /v2/shorten', 201],
        ['POST /v2/shorten/batch', 200],
      ] as const) {
        const body = { ...bodies[operation], colour: 1 };
        const response = await expectDescribed(operation, status, pro.key, { body });
        expect(response.headers['linklog-ignored-fields']).to.equal('colour');
      }
      const everything = {
        url: ` ${destination} `,
        alias,
        password: '\u{1f511}'.repeat(100),
        expiresIn: 60,
        maxClicks: 1_000_000_000,
        title: '\u{1f511}'.repeat(200),
        note: 'a\nb',
        tags: ['\u{1f511}'.repeat(50)],
      };
      await expectDescribed('POST /v2/shorten', 201, pro.key, { body: everything });
      const again = { headers: { 'Idempotency-Key': alias }, ...bodyOf('POST /v2/shorten') };
      await expectDescribed('POST /v2/shorten', 201, pro.key, again);
      const replayed = await expectDescribed('POST /v2/shorten', 201, pro.key, again);
      expect(replayed.headers['idempotency-replayed']).to.equal('true');
      const reuse = { body: { url: destination, reuse: true } };
      const reused = await expectDescribed('POST /v2/shorten', 200, pro.key, reuse);
      expect(reused.headers['linklog-reused']).to.equal('true');
    });

    it('when a batch is created, with every kind of outcome', async () => {
      const urls = [{ url: destination, alias }, { url: destination, alias }, 5, { url: 'x' }];
      const response = await expectDescribed('POST /v2/shorten/batch', 200, pro.key, {
        body: { urls },
      });
      const { results } = response.json() as { results: { success: boolean }[] };
      expect(results.map(({ success }) => success)).to.deep.equal([true, false, false, false]);
      const gated = { urls: [{ url: destination, password: 'abcd' }, { url: destination }] };
      const { key } = await bench.key('INDIE');
      const refused = await expectDescribed('POST /v2/shorten/batch', 200, key, { body: gated });
      const { results: why } = refused.json() as { results: { statusCode: number }[] };
      expect(why.map(({ statusCode }) => statusCode)).to.deep.equal([403, 429]);
    });

    it('when statistics or a QR code are requested', async () => {
      await bench.link(pro.key, { alias });
      for (const operation of gets) await expectDescribed(operation, 200, pro.key);
      const { headers } = await expectDescribed(gets[0], 200, pro.key, {}, '?format=svg&size=100');
      const { etag = '' } = headers;
      const known = { headers: { 'If-None-Match': etag } };
      await expectDescribed(gets[0], 304, pro.key, known, '?format=svg&size=100');
      await bench.visit(alias);
      await expectDescribed('GET /v2/stats/{shortCode}', 200, pro.key);
      await expectDescribed(
        'GET /v2/stats/{shortCode}',
        200,
        pro.key,
        {},
        '?include=all&tz=Asia/Kathmandu',
      );
      await expectDescribed('GET /v2/stats', 200, pro.key, {}, '?include=all,links');
      await expectDescribed('GET /v2/links', 200, pro.key, {}, '?limit=1&sort=clicks&tag=x&tag=y');
      await expectDescribed('GET /v2/links', 200, pro.key, {}, '?count=1');
      await expectDescribed('GET /v2/links', 400, pro.key, {}, '?after=x');
      await expectDescribed('GET /v2/tags', 400, pro.key, {}, '?limit=0');
      await expectDescribed('GET /v2/export', 200, pro.key, {}, '?format=csv');
      await expectDescribed('GET /v2/export', 400, pro.key, {}, '?format=xml');
      const csv = { headers: { Accept: 'text/csv' } };
      for (const operation of ['GET /v2/stats/{shortCode}', 'GET /v2/stats']) {
        await expectDescribed(operation, 200, pro.key, csv, '?include=countries');
        await expectDescribed(operation, 400, pro.key, csv);
      }
    });

    it('when a link is changed or deleted', async () => {
      const [change, remove, bulk] = changes;
      await bench.link(pro.key, { alias, maxClicks: 5 });
      const everything = {
        ...{ url: `${destination}#b`, password: 'open', expiresIn: 60, maxClicks: 6 },
        ...{ title: 'Spring', note: 'a\nb', tags: ['x'], disabled: true },
      };
      await expectDescribed(change, 200, pro.key, { body: everything });
      const nothing = { password: null, expiresIn: null, title: null, note: null, tags: null };
      await expectDescribed(change, 200, pro.key, { body: nothing });
      await expectDescribed('GET /v2/links/{shortCode}', 200, pro.key);
      await expectDescribed('GET /v2/links/{shortCode}/history', 200, pro.key);
      const outdated = { headers: { 'If-Match': '"1"' } };
      await expectDescribed(change, 412, pro.key, { ...outdated, ...bodyOf(change) });
      await expectDescribed(remove, 412, pro.key, outdated);
      const indie = (await bench.key('INDIE')).key;
      await expectDescribed(change, 403, indie, { body: { password: 'open' } });
      for (const change of [
        { addTags: ['y'], removeTags: ['x'] },
        { tags: null, disabled: false },
      ]) {
        await expectDescribed(bulk, 200, pro.key, {
          body: { shortCodes: [alias, 'no'], change: change },
        });
      }
      const writer = (await bench.key('PRO', { scopes: ['links:write'] })).key;
      await expectDescribed(change, 200, writer, { body: { disabled: true } });
      const written = { shortCodes: [alias, 'no'], change: { disabled: false } };
      await expectDescribed(bulk, 200, writer, { body: written });
      const spending = (await bench.key('HOBBY')).key;
      const two = { body: { shortCodes: [alias, 'a', 'b'], change: { delete: true } } };
      await expectDescribed(bulk, 200, spending, two);
      await expectDescribed(change, 410, pro.key, bodyOf(change));
      await expectDescribed(remove, 204, pro.key);
      await expectDescribed('GET /v2/links/{shortCode}', 200, pro.key);
      await expectDescribed('GET /v2/links/{shortCode}/history', 400, pro.key, {}, '?limit=0');
    });

    it('when a link is unknown or expired', async () => {
      for (const operation of [...changes.slice(0, 2), ...gets.slice(2, 4)]) {
        await expectDescribed(operation, 404, pro.key, bodyOf(operation));
      }
      await expectDescribed('GET /v2/qr/{shortCode}', 404, pro.key);
      await expectDescribed('GET /v2/stats/{shortCode}', 404, pro.key);
      await bench.link(pro.key, { alias, maxClicks: 1 });
      expect((await bench.visit(alias)).status).to.equal(302);
      await expectDescribed('GET /v2/qr/{shortCode}', 410, pro.key);
      await expectDescribed('GET /v2/stats/{shortCode}', 200, pro.key);
      for (const operation of [...gets.slice(0, 4), ...changes.slice(0, 2)]) {
        await expectDescribed(operation, 400, pro.key, bodyOf(operation), '?domain=none');
      }
    });

    it('when domains are claimed, verified, changed and released', async () => {
      const [list, claim, change, show, verify, release] = domainCalls;
      const operate = async (account: string): Promise<void> => {
        const added = await bench.admin('POST', '/admin/domains', { domain, account });
        expect(added.status, added.text).to.equal(201);
      };
      for (const status of [201, 200]) {
        await expectDescribed(claim, status, pro.key, { body: { domain } });
      }
      await expectDescribed(claim, 403, (await bench.key('FREE')).key, { body: { domain } });
      await expectDescribed(show, 200, pro.key);
      await operate('another');
      await expectDescribed(verify, 409, pro.key);
      await expectDescribed(release, 204, pro.key);
      for (const operation of [change, show, verify, release]) {
        await expectDescribed(operation, 404, pro.key, bodyOf(operation));
      }
      domain = `own.${domain}`;
      await operate('default');
      await expectDescribed(verify, 200, pro.key);
      const redirects = { rootRedirect: destination, notFoundRedirect: destination };
      await expectDescribed(change, 200, pro.key, { body: redirects });
      await expectDescribed(list, 200, pro.key);
      const body = { url: destination, domain };
      await expectDescribed('POST /v2/shorten', 201, pro.key, { body });
      await expectDescribed('POST /v2/shorten', 400, pro.key, { body: { ...body, domain: alias } });
      await expectDescribed('GET /v2/links', 200, pro.key, {}, `?domain=${domain}`);
      await expectDescribed('GET /v2/stats', 200, pro.key, {}, `?include=links&domain=${domain}`);
      await expectDescribed(release, 409, pro.key);
    });

    it('when keys are created, listed, changed, rotated and revoked', async () => {
      const created = await expectDescribed('POST /v2/keys', 201, pro.key, bodyOf('POST /v2/keys'));
      keyId = (created.json() as { id: string }).id;
      await expectDescribed('GET /v2/keys', 200, pro.key);
      await expectDescribed('PATCH /v2/keys/{id}', 200, pro.key, bodyOf('PATCH /v2/keys/{id}'));
      await expectDescribed('POST /v2/keys/{id}/rotate', 200, pro.key, {
        body: { overlapSeconds: 60 },
      });
      await expectDescribed('DELETE /v2/keys/{id}', 204, pro.key);
      for (const operation of keyCalls.slice(2)) {
        if (operation.startsWith('DELETE')) keyId = '01990000-0000-7000-8000-000000000000';
        await expectDescribed(operation, 404, pro.key, bodyOf(operation));
      }
    });

    it('when the key is missing or wrong', async () => {
      for (const operation of everywhere) {
        await expectDescribed(operation, 401, null, bodyOf(operation));
        await expectDescribed(operation, 401, 'll_nonsense', bodyOf(operation));
      }
    });

    it('when the key lacks the scope', async () => {
      const { key } = await bench.key('PRO', { scopes: [] });
      const unscoped = ['GET /v2/usage'];
      for (const operation of everywhere.filter((operation) => !unscoped.includes(operation))) {
        await expectDescribed(operation, 403, key, bodyOf(operation));
      }
    });

    it('when the plan lacks the feature or the quota is used up', async () => {
      const hobby = (await bench.key('HOBBY')).key;
      const aliased = { body: { url: destination, alias } };
      await expectDescribed('POST /v2/shorten', 403, hobby, aliased);
      const { key } = await bench.key('INDIE');
      await expectDescribed('POST /v2/shorten', 429, key, bodyOf('POST /v2/shorten'));
      await bench.link(pro.key, { alias });
      await expectDescribed('GET /v2/qr/{shortCode}', 429, key);
      await expectDescribed('GET /v2/stats/{shortCode}', 200, hobby);
      for (const operation of everywhere.filter((operation) => !free.includes(operation))) {
        await expectDescribed(operation, 429, hobby, bodyOf(operation));
      }
      const spent = (await bench.key('FREE')).key;
      await expectDescribed('GET /v2/usage', 200, spent);
      for (const operation of everywhere) {
        const response = await expectDescribed(operation, 429, spent, bodyOf(operation));
        expect(response.headers).to.have.property('retry-after');
      }
    });

    it('when a body or a parameter is wrong', async () => {
      const headers = { 'Content-Type': 'application/json' };
      const wrong = { urls: [], active: 1, overlapSeconds: -1 };
      const withBody = [
        changes[0],
        changes[2],
        ...domainCalls.slice(1, 3),
        ...keyCalls.slice(1, 4),
      ];
      for (const operation of [...posts, ...withBody]) {
        await expectDescribed(operation, 400, pro.key, { body: { ...wrong } });
        await expectDescribed(operation, 400, pro.key, { body: '{', headers });
        await expectDescribed(operation, 400, pro.key, { body: '{"__proto__":1}', headers });
        await expectDescribed(operation, 413, pro.key, { body: 'x'.repeat(600_000), headers });
        await expectDescribed(operation, 415, pro.key, {
          body: 'x',
          headers: { 'Content-Type': 'text/x' },
        });
      }
      await expectDescribed('GET /v2/qr/{shortCode}', 400, pro.key, {}, '?size=4001');
      await expectDescribed('GET /v2/qr/{shortCode}', 400, pro.key, {}, '?dark=fff');
      await expectDescribed('GET /v2/links', 400, pro.key, {}, '?search=%FF');
      for (const operation of ['GET /v2/stats/{shortCode}', 'GET /v2/stats']) {
        await expectDescribed(operation, 400, pro.key, {}, '?tz=Berlin');
      }
      await expectDescribed('GET /v2/keys', 400, pro.key, {}, '?limit=101');
    });

    it('when an Idempotency-Key was used with another body, or is in flight', async () => {
      for (const operation of posts) {
        const headers = { 'Idempotency-Key': alias };
        const [method = '', at = ''] = operation.split(' ');
        const rivals = await concurrently(20, () =>
          bench.api(at, pro.key, { method, headers, ...bodyOf(operation) }),
        );
        for (const response of rivals) {
          document.expectDescribed(method, at, response);
          seen.push(`${operation} ${response.status}`);
        }
        await expectDescribed(operation, 422, pro.key, {
          headers,
          body: { url: 'https://example.com' },
        });
      }
    });

    it('when the method is not allowed', async () => {
      for (const operation of [...everywhere, 'GET /health', 'GET /health/ready']) {
        const [method = '', at = ''] = operation.split(' ');
        const response = await bench.api(targetOf(at), pro.key, { method: 'PUT' });
        expect(response.status).to.equal(405);
        document.expectDescribed(method, at, response);
        expect(response.headers.allow?.split(', ')).to.include(method);
        seen.push(`${operation} 405`);
      }
    });

    it('during maintenance', async () => {
      await bench.admin('PATCH', '/admin/platform', { maintenance: true });
      try {
        for (const operation of everywhere) {
          await eventuallyPasses(async () => {
            await expectDescribed(operation, 503, pro.key, bodyOf(operation));
          });
          await expectDescribed(operation, 503, null, bodyOf(operation));
        }
        await expectDescribed('GET /health', 200, null);
        await expectDescribed('GET /health/ready', 200, null);
      } finally {
        await bench.admin('PATCH', '/admin/platform', { maintenance: false });
      }
    });

    it('and describes no other status', () => {
      const documented = [...everywhere, 'GET /health', 'GET /health/ready'].flatMap(
        (operation) => {
          const [method = '', at = ''] = operation.split(' ');
          return document.statusesOf(method, at).map((status) => `${operation} ${status}`);
        },
      );
      // These statuses need a broken product or dependency, which other specs test.
      const notTested = documented.filter((status) => / 500$|ready 503$/.test(status));
      expect([...new Set(seen)]).to.have.members(
        documented.filter((status) => !notTested.includes(status)),
      );
    });
  });
});

import { expect } from 'chai';
import type { OperatorsLinkPage } from '../../../schemas/http/operators.js';
import { type HttpResponse } from '../support/http.js';
import { eventually } from '../support/waiting.js';
import { keyFixture, destination, expectError, sharedProduct } from './harness.js';

const elsewhere = 'https://example.com/elsewhere';

interface Work {
  readonly work: string;
  readonly actor: string;
  readonly endedAt: string | null;
  readonly outcome: object | null;
  readonly error: string | null;
}

interface Projection {
  readonly name: string;
  readonly running: object | null;
  readonly last: Work | null;
  readonly [field: string]: unknown;
}

describe('command API: operators and links of all accounts', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'operated-shop' });

  const operator = (
    method: string,
    path: string,
    body?: unknown,
    headers = {},
  ): Promise<HttpResponse> => bench.admin(method, path, body, { 'X-Actor': 'maria', ...headers });

  const createLink = async (body: object = {}): Promise<string> =>
    (await bench.link(pro.key, { ...body })).shortCode;

  it('are created for any account, with an actor, without quota, plan and switches', async () => {
    const free = await bench.key('FREE', { account: 'fresh' });
    await operator('PATCH', '/admin/platform', { features: { shortening: false, aliases: false } });
    const path = '/admin/links';
    // Accounts may not use this alias.
    const body = { url: elsewhere, alias: 'docs', account: 'fresh', tags: ['a'], expiresIn: 60 };
    const created = await operator('POST', path, body);
    const generated = await operator('POST', path, { url: elsewhere, password: 'open sesame' });
    await operator('PATCH', '/admin/platform', { features: { shortening: true, aliases: true } });
    expect(created.status, created.text).to.equal(201);
    expect(created.json()).to.deep.include({
      ...{ shortCode: 'docs', alias: 'docs', url: elsewhere, account: 'fresh', tags: ['a'] },
    });
    expect((await bench.visit('docs')).headers.location).to.equal(elsewhere);
    expect((await bench.api('/v2/links/docs', free.key)).status).to.equal(200);
    const usage = (await bench.api('/v2/usage', free.key)).json();
    expect(usage).to.have.nested.property('links.used', 0);
    const { shortCode, account } = generated.json() as { shortCode: string; account: string };
    expect(account).to.equal('default');
    const shown = await operator('GET', `${path}/${shortCode}`);
    expect(shown.json()).to.include({ hasPassword: true, account: 'default' });
    const history = await operator('GET', `${path}/docs/history`);
    expect(history.json()).to.have.nested.property('events[0].actor', 'maria');

    for (const [wrong, message] of [
      [{ url: elsewhere, alias: 'docs' }, 'Alias is already taken'],
      [{ url: elsewhere, domain: 'a.example' }, 'The domain is not active for this account'],
      [{ url: 'http://grabify.link/' }, 'URL appears to be unsafe and cannot be shortened'],
      [
        { url: elsewhere, account: 'a b' },
        'account must have 1 to 64 characters: letters, digits, dots, hyphens and underscores',
      ],
    ] as const) {
      const response = await operator('POST', path, wrong);
      expectError(response, { status: 400, message, path, method: 'POST' });
    }
  });

  it('are listed by clicks across accounts, page by page', async () => {
    const codes: string[] = [];
    for (const [account, clicks] of [
      ['by-clicks-a', 1],
      ['by-clicks-b', 2],
      ['by-clicks-c', 0],
    ] as const) {
      const { key } = await bench.key('PRO', { account });
      const { shortCode } = await bench.link(key, { url: 'https://by-clicks.example/' });
      for (let click = 0; click < clicks; click += 1) await bench.visit(shortCode);
      codes.push(shortCode);
    }
    const [a, b, c] = codes;
    const read = async (query: string) => {
      const path = `/admin/links?sort=clicks&destination=by-clicks.example${query}`;
      const response = await operator('GET', path);
      const { links, next } = response.json() as OperatorsLinkPage;
      return { next, codes: links.map(({ shortCode }) => shortCode) };
    };
    await eventually('the visits are counted', async () => {
      return String((await read('')).codes) === String([b, a, c]);
    });
    const first = await read('&limit=2');
    expect(first.codes).to.deep.equal([b, a]);
    const last = await read(`&after=${first.next ?? ''}`);
    expect(last).to.deep.equal({ next: null, codes: [c] });
  });

  it('are validated as for their owners', async () => {
    const code = await createLink();
    const path = `/admin/links/${code}`;
    for (const [body, message] of [
      [{ url: bench.product.api }, 'Please provide a valid URL'],
      [{ url: 'http://grabify.link/' }, 'URL appears to be unsafe and cannot be shortened'],
    ] as const) {
      const response = await operator('PATCH', path, body);
      expect(response.json()).to.include({ statusCode: 400, message, path });
    }
    for (const [method, body] of [
      ['PATCH', { title: 'x' }],
      ['DELETE', undefined],
    ] as const) {
      const outdated = await operator(method, path, body, { 'If-Match': '"9"' });
      expect(outdated.status).to.equal(412);
      expect((await operator(method, '/admin/links/unknown', body)).status).to.equal(404);
    }
    expect((await bench.visit(code)).headers.location).to.equal(destination);
  });

  describe('projections', () => {
    const list = async (): Promise<readonly Projection[]> => {
      const response = await operator('GET', '/admin/projections');
      expect(response.status, response.text).to.equal(200);
      return (response.json() as { projections: readonly Projection[] }).projections;
    };
    const find = async (name: string): Promise<Projection | undefined> =>
      (await list()).find((projection) => projection.name === name);
    const work = (name: string, what: string): Promise<HttpResponse> =>
      operator('POST', `/admin/projections/${name}/${what}`);
    const ended = async (name: string): Promise<Work> => {
      const last = async () => (await find(name))?.last ?? null;
      await eventually('the work ends', async () => (await last())?.endedAt != null);
      const end = await last();
      if (!end) throw new Error('no work was started');
      return end;
    };

    it('are redriven, rebuilt and rolled back, with an actor', async () => {
      const code = await createLink();
      for (const what of ['redrive', 'rebuild', 'rollback']) {
        const started = await work('history', what);
        expect(started.status, started.text).to.be.oneOf([200, 202]);
        expect(started.json()).to.include({ work: what, actor: 'maria' });
        const end = await ended('history');
        expect(end, what).to.include({ work: what, error: null });
        expect(end.outcome).to.include({ remaining: 0 });
      }
      expect((await operator('GET', `/admin/links/${code}/history`)).status).to.equal(200);
    });

    it('return why work cannot be done', async () => {
      const path = '/admin/projections/links/redrive';
      const unknown = await work('links', 'redrive');
      expectError(unknown, { status: 404, message: 'Projection not found', path, method: 'POST' });
      const back = await work('quotas', 'rollback');
      expect(back.json()).to.include({ statusCode: 409 });
      expect((await find('quotas'))?.last).to.include({ work: 'rollback', outcome: null });
    });
  });
});

import { expect } from 'chai';
import type { HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectError,
  expectRefused,
  passwordForm,
  productFixture,
  type Bench,
} from './harness.js';

const elsewhere = 'https://example.com/elsewhere';

interface Details {
  readonly [field: string]: unknown;
  readonly version: number;
  readonly updatedAt: string;
}

interface Event {
  readonly type: string;
  readonly actor: string;
  readonly correlationid?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Calls of a link's owner. */
const owner = (bench: Bench, key: () => string) => {
  const ofLink = (
    method: string,
    code: string,
    body?: unknown,
    headers = {},
  ): Promise<HttpResponse> =>
    bench.api(`/v2/links/${code}`, key(), { method, headers, ...(body !== undefined && { body }) });
  return {
    ask: ofLink,
    changed: async (code: string, body: unknown, headers = {}): Promise<Details> => {
      const response = await ofLink('PATCH', code, body, headers);
      expect(response.status, response.text).to.equal(200);
      expect(response.headers.etag).to.equal(`"${(response.json() as Details).version}"`);
      return response.json() as Details;
    },
    details: async (code: string): Promise<Details> => {
      const response = await ofLink('GET', code);
      expect(response.status, response.text).to.equal(200);
      return response.json() as Details;
    },
    history: async (code: string): Promise<readonly Event[]> => {
      const response = await bench.api(`/v2/links/${code}/history`, key());
      expect(response.status, response.text).to.equal(200);
      return (response.json() as { events: readonly Event[] }).events;
    },
  };
};

const expectLinkRefused = (response: HttpResponse, status: number, message: string): void => {
  expect([response.status, (response.json() as { message: string }).message]).to.deep.equal([
    status,
    message,
  ]);
};

const locationOrStatus = (response: HttpResponse): string =>
  response.headers.location ?? String(response.status);

describe('command API: /v2/links/:shortCode', () => {
  const bench = productFixture();
  let pro: { readonly id: string; readonly key: string };
  const { ask, changed, details, history } = owner(bench, () => pro.key);

  before(async () => {
    pro = await bench.key('PRO');
  });

  it('returns all fields of a new link, with null for absent values', async () => {
    const created = await bench.link(pro.key, { alias: 'detailed' });
    const response = await ask('GET', 'detailed');
    expect(response.headers.etag).to.equal('"1"');
    expect(response.json()).to.deep.equal({
      ...{ ...created, alias: 'detailed', startsAt: null, expiresAt: null, maxClicks: null },
      ...{ status: 'active', title: null, note: null, tags: [], hasPassword: false },
      ...{ clickCount: 0, clicksLeft: null, rules: null, forwardQuery: false, domain: null },
      ...{ lastAccessed: null, updatedAt: created.createdAt, version: 1 },
    });
    expect(await details((await bench.link(pro.key)).shortCode)).to.include({ alias: null });
  });

  it('returns title, note and tags, on creation only if they were sent', async () => {
    const texts = { title: 'Käse', note: 'a\nb', tags: ['x', 'y'] };
    const link = await bench.link(pro.key, { ...texts, tags: ['x', 'y', 'x'] });
    expect(link).to.deep.include(texts);
    expect(await details(link.shortCode)).to.deep.include(texts);
    const batch = await bench.api('/v2/shorten/batch', pro.key, {
      method: 'POST',
      body: {
        urls: [
          { url: destination, ...texts },
          { url: destination, title: 5 },
        ],
      },
    });
    const { results } = batch.json() as { results: readonly object[] };
    expect(results[0]).to.deep.include({ success: true, ...texts });
    expect(results[1]).to.deep.include({ index: 1, success: false, statusCode: 400 });
    expect(await bench.link(pro.key)).to.not.have.any.keys('title', 'note', 'tags');
  });

  it('replays the first response by its Idempotency-Key after a change', async () => {
    const headers = { 'Idempotency-Key': 'changed-since' };
    const first = await bench.shorten(pro.key, { url: destination, title: 'first' }, headers);
    await changed((first.json() as { shortCode: string }).shortCode, { title: 'second' });
    const again = await bench.shorten(pro.key, { url: destination, title: 'first' }, headers);
    expect(again.text).to.equal(first.text);
  });

  it('changes the destination', async () => {
    const { shortCode } = await bench.link(pro.key);
    expect(locationOrStatus(await bench.visit(shortCode))).to.equal(destination);
    expect(await changed(shortCode, { url: ` ${elsewhere} ` })).to.include({
      ...{ url: elsewhere, version: 2 },
    });
    await eventuallyPasses(async () => {
      expect(locationOrStatus(await bench.visit(shortCode))).to.equal(elsewhere);
    });
    expect((await bench.stats(shortCode, pro.key)).url).to.equal(elsewhere);
  });

  it('changes any field, removes it with null, and ignores a repetition', async () => {
    const { shortCode, createdAt } = await bench.link(pro.key, { maxClicks: 5 });
    const fields = { maxClicks: 7, title: 't', note: 'n', tags: ['a'], disabled: true };
    const after = await changed(shortCode, { ...fields, expiresIn: 3_600, password: 'open' });
    expect(after).to.deep.include({
      ...{ maxClicks: 7, title: 't', note: 'n', tags: ['a'], status: 'disabled' },
      ...{ hasPassword: true, version: 4 },
    });
    const end = Date.parse(String(after['expiresAt'])) - Date.parse(after.updatedAt);
    expect(end).to.equal(3_600_000);
    expect(Date.parse(after.updatedAt)).to.be.at.least(Date.parse(createdAt));
    expect(await changed(shortCode, { ...fields, url: destination })).to.deep.equal(after);
    const nothing = { expiresIn: null, password: null, title: null, note: null, tags: null };
    expect(await changed(shortCode, { ...nothing, disabled: false })).to.deep.include({
      ...{ expiresAt: null, hasPassword: false, title: null, note: null, tags: [] },
      ...{ status: 'active', version: 7 },
    });
  });

  it('rejects the values that creation rejects, and an empty change', async () => {
    const { shortCode } = await bench.link(pro.key);
    const refused: readonly [unknown, string][] = [
      [{}, 'Nothing to change'],
      [{ url: null, disabled: null }, 'Nothing to change'],
      [{ shortCode: 'x' }, 'Nothing to change'],
      [{ url: 'x' }, 'Please provide a valid URL'],
      [{ expiresIn: 5 }, 'expiresIn must be at least 60 seconds (1 minute)'],
      [{ maxClicks: 0 }, 'maxClicks must be at least 1'],
      [{ password: 'abc' }, 'Password must be between 4 and 100 characters'],
      [{ disabled: 'yes' }, 'disabled must be true or false'],
    ];
    for (const [body, message] of refused) {
      expectLinkRefused(await ask('PATCH', shortCode, body), 400, message);
    }
    for (const body of [
      ...[{ title: 'x'.repeat(201) }, { title: 'a\nb' }, { note: 'x'.repeat(2_001) }],
      ...[{ note: '\0' }, { tags: ['a,b'] }, { tags: [''] }, { tags: ['x'.repeat(51)] }],
      ...[{ tags: Array.from({ length: 21 }, String) }, { tags: 'a' }, { title: '\ud800' }],
    ]) {
      const response = await ask('PATCH', shortCode, body);
      const [field = ''] = Object.keys(body);
      expect(response.status).to.equal(400);
      expect(response.text).to.include(`"message":"${field} must `);
    }
    expect(await details(shortCode)).to.include({ version: 1 });
  });

  it('gets 404 for links of other accounts, and needs the plan for a password', async () => {
    const { shortCode } = await bench.link(pro.key);
    const { key: other } = await bench.key('PRO', { account: 'other' });
    const { key: free } = await bench.key('FREE');
    const path = `/v2/links/${shortCode}`;
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { body: { title: 'x' } } : {};
      const response = await bench.api(path, other, { method, ...body });
      expectError(response, { status: 404, message: 'Short URL not found', path, method });
    }
    const theirs = await bench.api(`${path}/history`, other);
    expectError(theirs, { status: 404, message: 'Short URL not found', path: `${path}/history` });
    const change = { method: 'PATCH', body: { password: 'open' } };
    expect((await bench.api(path, free, change)).json()).to.include({
      ...{ statusCode: 403, feature: 'passwordProtection' },
    });
    expect((await ask('GET', '%00%ff')).status).to.be.oneOf([400, 404]);
  });

  it('shows neither clicks nor texts to a key without links:read', async () => {
    const writer = await bench.key('PRO', { scopes: ['links:write'] });
    const { shortCode } = await bench.link(pro.key, { maxClicks: 9, title: 'Secret', tags: ['a'] });
    for (let click = 0; click < 2; click += 1) await bench.visit(shortCode);
    const path = `/v2/links/${shortCode}`;
    const change = (body: object) => bench.api(path, writer.key, { method: 'PATCH', body });
    const response = await change({ disabled: true, note: 'written' });
    expect([response.status, response.headers.etag]).to.deep.equal([200, '"3"']);
    expect(response.json()).to.deep.equal({
      shortCode,
      domain: null,
      version: 3,
      status: 'disabled',
    });
    const refused = await change({ maxClicks: 1 });
    const message = 'maxClicks must be at least the clicks taken';
    expectError(refused, { status: 400, message, path, method: 'PATCH' });
    const own = await ask('PATCH', shortCode, { maxClicks: 1 });
    expectLinkRefused(own, 400, 'maxClicks must be at least 2, the clicks taken');
    const unchanged = await change({ note: 'written' });
    expect(unchanged.json()).to.deep.equal({
      shortCode,
      domain: null,
      version: 3,
      status: 'disabled',
    });
    const deleted = await bench.api(path, writer.key, { method: 'DELETE' });
    expect([deleted.status, deleted.text]).to.deep.equal([204, '']);
  });

  it('changes only the version that If-Match names', async () => {
    const { shortCode } = await bench.link(pro.key);
    const outdated = { 'If-Match': '"1"' };
    expect(await changed(shortCode, { title: 'a' }, outdated)).to.include({ version: 2 });
    for (const method of ['PATCH', 'DELETE']) {
      const response = await ask(method, shortCode, { title: 'b' }, outdated);
      expectLinkRefused(response, 412, 'The link was changed meanwhile');
    }
    expect(await changed(shortCode, { title: 'b' }, { 'If-Match': '"9", W/"2"' })).to.include({
      ...{ title: 'b', version: 3 },
    });
    expect(await changed(shortCode, { title: 'c' }, { 'If-Match': '*' })).to.include({
      ...{ title: 'c', version: 4 },
    });
    expect((await ask('GET', shortCode, undefined, { 'If-None-Match': '"4"' })).status).to.equal(
      200,
    );
  });

  it('is disabled and enabled, on the edge, in previews, forms and QR codes', async () => {
    const { shortCode } = await bench.link(pro.key);
    await changed(shortCode, { disabled: true });
    const gone = { errorType: 'DISABLED', message: 'This link is disabled', statusCode: 410 };
    await eventuallyPasses(async () => {
      expect((await bench.visit(shortCode)).json()).to.include(gone);
    });
    expect((await bench.visit(`${shortCode}+`)).json()).to.include(gone);
    expect((await bench.api(`/v2/qr/${shortCode}`, pro.key)).json()).to.include(gone);
    const page = await bench.visit(shortCode, { headers: { Accept: 'text/html' } });
    expect([page.status, page.text]).to.satisfy(
      ([status, text]: [number, string]) =>
        status === 410 && text.includes('This link is disabled'),
    );
    await changed(shortCode, { disabled: false });
    await eventuallyPasses(async () => {
      expect(locationOrStatus(await bench.visit(shortCode))).to.equal(destination);
    });
  });

  it('is deleted permanently, and keeps its details and statistics', async () => {
    const { shortCode } = await bench.link(pro.key, { alias: 'deleted-one' });
    await bench.visit(shortCode);
    for (let time = 1; time <= 2; time += 1) {
      const response = await ask('DELETE', shortCode);
      expect([response.status, response.text]).to.deep.equal([204, '']);
    }
    const gone = { errorType: 'DELETED', message: 'This link has been deleted', statusCode: 410 };
    await eventuallyPasses(async () => {
      expect((await bench.visit(shortCode)).json()).to.include(gone);
    });
    expect((await ask('PATCH', shortCode, { title: 'x' })).json()).to.include(gone);
    expect(await details(shortCode)).to.include({ status: 'deleted', version: 2 });
    await bench.expectClicks(shortCode, pro.key, 1);
    const again = await bench.shorten(pro.key, { url: destination, alias: 'deleted-one' });
    expectRefused(again, 400, 'Alias is already taken');
  });

  it('returns as status the first of deleted, blocked, disabled, expired', async () => {
    const { shortCode } = await bench.link(pro.key, { maxClicks: 1 });
    await bench.visit(shortCode);
    const status = async () => (await details(shortCode))['status'];
    expect(await status()).to.equal('expired');
    await changed(shortCode, { disabled: true });
    expect(await status()).to.equal('disabled');
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'phishing' });
    expect(await status()).to.equal('blocked');
    await ask('DELETE', shortCode);
    expect(await status()).to.equal('deleted');
  });

  it('raises and lowers maxClicks down to the clicks taken, also after expiry', async () => {
    const { shortCode } = await bench.link(pro.key, { maxClicks: 2 });
    const visit = async (): Promise<number> => (await bench.visit(shortCode)).status;
    expect([await visit(), await visit(), await visit()]).to.deep.equal([302, 302, 410]);
    expect(await details(shortCode)).to.include({ status: 'expired', version: 2 });
    const tooFew = 'maxClicks must be at least 2, the clicks taken';
    expectLinkRefused(await ask('PATCH', shortCode, { maxClicks: 1 }), 400, tooFew);
    expect(await changed(shortCode, { maxClicks: 3 })).to.include({ status: 'active' });
    await eventuallyPasses(async () => {
      expect(await visit()).to.equal(302);
    });
    expect(await visit()).to.equal(410);
    expect(await changed(shortCode, { maxClicks: 5 })).to.include({ status: 'active' });
    expect(await changed(shortCode, { maxClicks: 3 })).to.include({ status: 'expired' });
    expect(await visit()).to.equal(410);
  });

  it('accepts only the new password', async () => {
    const { shortCode } = await bench.link(pro.key, { password: 'the old one' });
    const enter = (password: string): Promise<HttpResponse> =>
      bench.visit(shortCode, passwordForm(password));
    expect(locationOrStatus(await enter('the old one'))).to.equal(destination);
    await changed(shortCode, { password: 'the new one', url: elsewhere });
    await eventuallyPasses(async () => {
      expect((await enter('the old one')).status).to.equal(401);
    });
    expect(locationOrStatus(await enter('the new one'))).to.equal(elsewhere);
    await changed(shortCode, { password: null });
    await eventuallyPasses(async () => {
      expect(locationOrStatus(await bench.visit(shortCode))).to.equal(elsewhere);
    });
  });

  it('has a history with actors, without names and reasons of operators or secrets', async () => {
    const { shortCode } = await bench.link(pro.key, { title: 'x' });
    await changed(shortCode, { password: 'open', url: elsewhere }, { 'X-Request-Id': 'mine' });
    await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'phishing' });
    await changed(shortCode, { password: null });
    const events = await history(shortCode);
    expect(events.map(({ type, actor }) => [type, actor])).to.deep.equal([
      ['linklog.LinkCreated.v4', pro.id],
      ['linklog.LinkEdited.v3', pro.id],
      ['linklog.LinkBlocked.v1', 'operator'],
      ['linklog.LinkEdited.v3', pro.id],
    ]);
    expect(events[1]).to.include({ correlationid: 'mine' });
    expect(events.map(({ data }) => data).slice(1)).to.deep.equal([
      { url: elsewhere, password: 'set' },
      {},
      { password: 'removed' },
    ]);
    expect(events[2]).to.not.have.property('correlationid');
    expect(JSON.stringify(events)).to.not.match(/argon2|phishing/);
    const path = `/v2/links/${shortCode}/history?after=1&limit=1`;
    const page = (await bench.api(path, pro.key)).json();

    const actorNames = { [pro.id]: 'a PRO key' };
    expect(page).to.deep.equal({ events: events.slice(1, 2), next: 2, actorNames });
  });
});

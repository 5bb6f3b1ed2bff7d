import { expect } from 'chai';
import { concurrently, sendRequest, statuses, type HttpResponse } from '../support/http.js';
import { eventuallyPasses } from '../support/waiting.js';
import {
  destination,
  expectError,
  expectRefused,
  keyFixture,
  passwordForm,
  sharedProduct,
} from './harness.js';

const elsewhere = 'https://example.com/elsewhere';

type Details = Readonly<Record<string, unknown>>;

interface Event {
  readonly type: string;
  readonly actor: string;
  readonly correlationid?: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

const locationOrStatus = (response: HttpResponse): string =>
  response.headers.location ?? String(response.status);

describe('/v2/links/:shortCode', () => {
  const bench = sharedProduct();
  const pro = keyFixture(bench, 'PRO', { account: 'links' });

  const ask = (method: string, code: string, body?: unknown, headers = {}): Promise<HttpResponse> =>
    bench.api(`/v2/links/${code}`, pro.key, {
      ...{ method, headers },
      ...(body !== undefined && { body }),
    });
  const changed = async (code: string, body: unknown, headers = {}): Promise<Details> => {
    const response = await ask('PATCH', code, body, headers);
    expect(response.status, response.text).to.equal(200);
    const details = response.json() as Details;
    expect(response.headers.etag).to.equal(`"${String(details['version'])}"`);
    return details;
  };
  const details = async (code: string): Promise<Details> =>
    (await ask('GET', code)).json() as Details;
  const history = async (code: string): Promise<readonly Event[]> =>
    ((await ask('GET', `${code}/history`)).json() as { events: readonly Event[] }).events;
  const expectMessage = (response: HttpResponse, status: number, message: string): void => {
    expect(response.json()).to.include({ statusCode: status, message });
    expect(response.status).to.equal(status);
  };
  const visitedUntil = (code: string, expected: string): Promise<void> =>
    eventuallyPasses(async () => {
      expect(locationOrStatus(await bench.visit(code))).to.equal(expected);
    });
  const follow = async (code: string, times: number): Promise<readonly number[]> => {
    const found: number[] = [];
    for (let visit = 0; visit < times; visit += 1) found.push((await bench.visit(code)).status);
    return found;
  };

  it('returns all fields of a link, with null for absent values', async () => {
    const created = await bench.link(pro.key, { alias: 'links-detailed', tags: ['x', 'y', 'x'] });
    const response = await ask('GET', 'links-detailed');
    expect(response.headers.etag).to.equal('"1"');
    expect(response.json()).to.deep.equal({
      ...{ ...created, startsAt: null, expiresAt: null, maxClicks: null, tags: ['x', 'y'] },
      ...{ status: 'active', title: null, note: null, hasPassword: false },
      ...{ clickCount: 0, clicksLeft: null, rules: null, forwardQuery: false, domain: null },
      ...{ lastAccessed: null, updatedAt: created.createdAt, version: 1 },
    });
    expect(await details((await bench.link(pro.key)).shortCode)).to.include({ alias: null });
  });

  it('changes any field, removes it with null, and ignores a repetition', async () => {
    const { shortCode } = await bench.link(pro.key, { maxClicks: 5 });
    const fields = { maxClicks: 7, title: 't', note: 'n', tags: ['a'], disabled: true };
    const after = await changed(shortCode, { ...fields, expiresIn: 3_600, password: 'open' });
    expect(after).to.deep.include({
      ...{ maxClicks: 7, title: 't', note: 'n', tags: ['a'], status: 'disabled' },
      ...{ hasPassword: true, version: 4 },
    });
    const lifetime =
      Date.parse(String(after['expiresAt'])) - Date.parse(String(after['updatedAt']));
    expect(lifetime).to.equal(3_600_000);
    expect(await changed(shortCode, { ...fields, url: destination })).to.deep.equal(after);
    const nothing = { expiresIn: null, password: null, title: null, note: null, tags: null };
    expect(await changed(shortCode, { ...nothing, disabled: false })).to.deep.include({
      ...{ expiresAt: null, hasPassword: false, title: null, note: null, tags: [] },
      ...{ status: 'active', version: 7 },
    });
  });

  it('is 404 for other accounts, and needs the plan for a password', async () => {
    const { shortCode } = await bench.link(pro.key);
    const { key: other } = await bench.key('PRO', { account: 'links-other' });
    for (const [method, at] of [
      ...[['GET', ''] as const, ['PATCH', ''] as const, ['DELETE', ''] as const],
      ['GET', '/history'] as const,
    ]) {
      const path = `/v2/links/${shortCode}${at}`;
      const body = method === 'PATCH' ? { body: { title: 'x' } } : {};
      const response = await bench.api(path, other, { method, ...body });
      expectError(response, { status: 404, message: 'Short URL not found', path, method });
    }
    const { key: free } = await bench.key('FREE', { account: 'links' });
    expect((await bench.change(shortCode, free, { password: 'open' })).json()).to.include({
      ...{ statusCode: 403, feature: 'passwordProtection' },
    });
  });

  it('shows neither clicks nor texts to a key without links:read', async () => {
    const { key: writer } = await bench.key('PRO', { account: 'links', scopes: ['links:write'] });
    const { shortCode } = await bench.link(pro.key, { maxClicks: 9, title: 'Secret', tags: ['a'] });
    expect(await follow(shortCode, 2)).to.deep.equal([302, 302]);
    const change = (body: object) => bench.change(shortCode, writer, body);
    const shown = { shortCode, domain: null, version: 3, status: 'disabled' };
    for (const body of [{ disabled: true, note: 'written' }, { note: 'written' }]) {
      const response = await change(body);
      expect(response.json()).to.deep.equal(shown);
      expect(response.headers.etag).to.equal('"3"');
    }
    expectMessage(
      await change({ maxClicks: 1 }),
      ...([400, 'maxClicks must be at least the clicks taken'] as const),
    );
    const own = await ask('PATCH', shortCode, { maxClicks: 1 });
    expectMessage(own, 400, 'maxClicks must be at least 2, the clicks taken');
    const deleted = await bench.api(`/v2/links/${shortCode}`, writer, { method: 'DELETE' });
    expect([deleted.status, deleted.text]).to.deep.equal([204, '']);
  });

  it('disables and enables a link, on the edge, in previews and QR codes', async () => {
    const { shortCode } = await bench.link(pro.key);
    await changed(shortCode, { disabled: true });
    const gone = { errorType: 'DISABLED', message: 'This link is disabled', statusCode: 410 };
    await visitedUntil(shortCode, '410');
    for (const path of [shortCode, `${shortCode}+`]) {
      expect((await bench.visit(path)).json()).to.include(gone);
    }
    expect((await bench.api(`/v2/qr/${shortCode}`, pro.key)).json()).to.include(gone);
    const page = await bench.visit(shortCode, { headers: { Accept: 'text/html' } });
    expect(page.status).to.equal(410);
    expect(page.text).to.include('This link is disabled');
    await changed(shortCode, { disabled: false });
    await visitedUntil(shortCode, destination);
  });

  it('deletes a link, and keeps its code, details and statistics', async () => {
    const alias = 'links-deleted';
    await bench.link(pro.key, { alias });
    await bench.visit(alias);
    for (let time = 1; time <= 2; time += 1) {
      const response = await ask('DELETE', alias);
      expect([response.status, response.text]).to.deep.equal([204, '']);
    }
    const gone = { errorType: 'DELETED', message: 'This link has been deleted', statusCode: 410 };
    await visitedUntil(alias, '410');
    expect((await bench.visit(alias)).json()).to.include(gone);
    expect((await ask('PATCH', alias, { title: 'x' })).json()).to.include(gone);
    expect(await details(alias)).to.include({ status: 'deleted', version: 2 });
    await bench.expectClicks(alias, pro.key, 1);
    const again = await bench.shorten(pro.key, { url: destination, alias });
    expectRefused(again, 400, 'Alias is already taken');
  });

  it('restores a deleted link with its limit, password, tags, codes, shares and statistics', async () => {
    const { key } = pro;
    const fields = { maxClicks: 5, password: 'open', tags: ['a'], title: 't' };
    const { shortCode } = await bench.link(key, fields);
    const enter = async (code: string): Promise<string> =>
      locationOrStatus(await bench.visit(code, passwordForm('open')));
    const additional = `${shortCode}-2`;
    expect((await ask('POST', `${shortCode}/codes`, { alias: additional })).status).to.equal(201);
    const shared = await ask('POST', `${shortCode}/share`, {});
    const { url: share } = shared.json() as { readonly url: string };
    const options = { headers: { Accept: 'application/json' } };
    expect(await enter(shortCode)).to.equal(destination);
    await bench.expectClicks(shortCode, key, 1);
    const before = await details(shortCode);
    const { links: linksBefore } = await bench.usage(key);

    expect((await ask('DELETE', shortCode)).status).to.equal(204);
    for (const code of [shortCode, additional]) await visitedUntil(code, '410');
    const listed = async (): Promise<readonly unknown[]> => {
      const list = await bench.api('/v2/links?status=deleted', key);
      return (list.json() as { links: readonly Details[] }).links.map((link) => link['shortCode']);
    };
    await eventuallyPasses(async () => {
      expect(await listed()).to.include(shortCode);
    });

    const response = await ask('POST', `${shortCode}/restore`);
    const restored = response.json() as Details;
    expect([response.status, response.headers.etag]).to.deep.equal([200, '"4"']);
    const { version, updatedAt, ...others } = restored;
    expect(before).to.deep.include(others);
    expect([version, updatedAt !== before['updatedAt']]).to.deep.equal([4, true]);
    expect(restored).to.include({ status: 'active', clicksLeft: 4, clickCount: 1 });
    await eventuallyPasses(async () => {
      expect(await enter(additional)).to.equal(destination);
    });
    await bench.expectClicks(shortCode, key, 2);
    expect((await sendRequest(share, options)).status).to.equal(200);
    expect((await bench.usage(key)).links).to.equal(linksBefore);
    await eventuallyPasses(async () => {
      expect(await listed()).to.not.include(shortCode);
    });
    const [, , ...events] = await history(shortCode);
    expect(events.map(({ type }) => type)).to.deep.equal([
      'linklog.LinkDeleted.v1',
      'linklog.LinkRestored.v1',
    ]);
  });

  it('restores a link that is not deleted without a change, and none of other accounts', async () => {
    const { shortCode } = await bench.link(pro.key);
    expect((await ask('POST', `${shortCode}/restore`)).json()).to.include({ version: 1 });
    expectMessage(await ask('POST', 'links-unknown/restore'), 404, 'Short URL not found');
    const { key: other } = await bench.key('PRO', { account: 'links-other' });
    await ask('DELETE', shortCode);
    const path = `/v2/links/${shortCode}/restore`;
    expectMessage(await bench.api(path, other, { method: 'POST' }), 404, 'Short URL not found');
    const { key: reader } = await bench.key('PRO', { account: 'links', scopes: ['links:read'] });
    expect((await bench.api(path, reader, { method: 'POST' })).status).to.equal(403);
    expect((await ask('POST', `${shortCode}/restore`)).json()).to.include({ version: 3 });
  });

  it('accepts only the new password', async () => {
    const { shortCode } = await bench.link(pro.key, { password: 'the old one' });
    const enter = async (password: string): Promise<string> =>
      locationOrStatus(await bench.visit(shortCode, passwordForm(password)));
    expect(await enter('the old one')).to.equal(destination);
    await changed(shortCode, { password: 'the new one', url: elsewhere });
    await eventuallyPasses(async () => {
      expect(await enter('the old one')).to.equal('401');
    });
    expect(await enter('the new one')).to.equal(elsewhere);
    await changed(shortCode, { password: null });
    await visitedUntil(shortCode, elsewhere);
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
    const page = (await ask('GET', `${shortCode}/history?after=1&limit=1`)).json();
    const actorNames = { [pro.id]: pro.name };
    expect(page).to.deep.equal({ events: events.slice(1, 2), next: 2, actorNames });
  });

  it('is hidden from visitors before its start', async () => {
    const startsAt = inSeconds(3);
    const { shortCode: code } = await bench.link(pro.key, { startsAt, password: 'open sesame' });
    for (const name of [code, `${code}+`]) {
      const message = 'Short URL not found';
      expectError(await bench.visit(name), { status: 404, message, path: `/${name}` });
    }
    const { shortCode: later } = await bench.link(pro.key, { startsAt: inSeconds(3_600) });
    expect(await details(later)).to.include({ status: 'scheduled' });
    expect(await changed(later, { startsAt: null })).to.include({ status: 'active' });
    await visitedUntil(later, destination);
    await visitedUntil(code, '200');
    expect(Date.now()).to.be.at.least(Date.parse(startsAt));
    expect(await details(code)).to.include({ status: 'active' });
  });

  it('starts a later click limit with the counted clicks, and is exact from then on', async () => {
    const { shortCode } = await bench.link(pro.key);
    await follow(shortCode, 3);
    await bench.expectClicks(shortCode, pro.key, 3);
    expect(await changed(shortCode, { maxClicks: 13 })).to.include({ clicksLeft: 10 });
    await eventuallyPasses(async () => {
      expect((await bench.visit(shortCode, { method: 'HEAD' })).status).to.equal(200);
    });
    const raced = await concurrently(30, () => bench.visit(shortCode));
    expect(statuses(raced)).to.deep.equal({ 302: 10, 410: 20 });
    expect(await details(shortCode)).to.include({ status: 'expired', clicksLeft: 0 });
    await bench.expectClicks(shortCode, pro.key, 13);
    const [, limited] = await history(shortCode);
    expect(limited?.data).to.deep.equal({ maxClicks: 13, clicks: 3 });
  });
});

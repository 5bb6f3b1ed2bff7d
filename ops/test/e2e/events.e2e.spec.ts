import { expect } from 'chai';
import { feedEventNames } from '../../../schemas/feed.js';
import { messages } from '../../../schemas/http/errors.js';
import { cursorMalformed } from '../../../schemas/http/events.js';
import { nameOf, type FeedEvent } from '../support/feed-event.js';
import type { IssuedKey } from '../support/product.js';
import { receiverFixture } from '../support/receiver.js';
import { eventuallyPasses } from '../support/waiting.js';
import { domainCalls } from './domains-harness.js';
import { eventPages, foreignCursors } from './events-harness.js';
import { destination, expectError, passwordForm, sharedProduct } from './harness.js';

const path = '/v2/events';
const requestId = 'a-request-of-the-account';
const reason = 'phishing-reported-by-maria';

describe('command API: pages of events', () => {
  const receiver = receiverFixture();
  const bench = sharedProduct();
  const { page, readAll, end } = eventPages(bench);
  const domains = domainCalls(bench);
  let pro: IssuedKey;
  let domain: string;
  let code: string;
  /** All but visits, and the visits. */
  let events: readonly FeedEvent[];
  let visits: readonly FeedEvent[];
  const secrets: string[] = [];

  const send = async <Value = unknown>(
    method: string,
    at: string,
    body?: unknown,
    { key }: Pick<IssuedKey, 'key'> = pro,
  ): Promise<Value> => {
    const headers = { 'X-Request-Id': requestId };
    const response = await bench.api(at, key, {
      method,
      headers,
      ...(body !== undefined && { body }),
    });
    expect(response.status, response.text).to.be.within(200, 204);
    return (response.text === '' ? null : response.json()) as Value;
  };

  before(async function () {
    this.timeout(120_000);
    pro = await bench.key('PRO', { account: 'events' });
    domain = await domains.activate(pro.key);
    const link = await bench.link(pro.key, { domain, password: 'open sesame' });
    code = link.shortCode;
    const at = `${code}?domain=${domain}`;
    await send('PATCH', `/v2/links/${at}`, { url: `${destination}&edited` });
    for (const verb of ['block', 'unblock']) {
      const path = `/admin/links/${code}/${verb}?domain=${domain}`;
      const headers = { 'X-Actor': 'maria', 'X-Request-Id': 'a-request-of-maria' };
      expect((await bench.admin('POST', path, { reason }, headers)).status).to.equal(200);
    }
    await domains.visit(domain, code, passwordForm('open sesame'));
    await send('DELETE', `/v2/links/${at}`);
    const child = await send<IssuedKey>('POST', '/v2/keys', { name: 'a child' });
    await send('DELETE', `/v2/keys/${child.id}`);
    const hook = receiver.hook();
    const terms = { url: hook.url, types: ['LinkDeleted'] };
    const webhook = await send<{ id: string; secret: string }>('POST', '/v2/webhooks', terms);
    secrets.push(pro.key, child.key, webhook.secret);
    const visited = await bench.link(pro.key);
    expect((await bench.visit(visited.shortCode)).status).to.equal(302);
    await eventuallyPasses(async () => {
      events = await readAll(pro.key);
      visits = await readAll(pro.key, 'types=LinkVisited');
      expect([events.length, visits.length]).to.deep.equal([12, 2]);
    }, 60_000);
    // Pages that were read before all events were projected are not in their order.
    events = await readAll(pro.key);
  });

  it('contain the events of the account, in the order of the log, without visits', () => {
    expect(events.map(nameOf)).to.have.members([
      ...['ApiKeyCreated', 'DomainClaimed', 'DomainVerified', 'LinkCreated', 'LinkEdited'],
      ...['LinkBlocked', 'LinkUnblocked', 'LinkDeleted', 'ApiKeyCreated', 'ApiKeyRevoked'],
      ...['WebhookCreated', 'LinkCreated'],
    ]);
    expect(new Set(visits.map(nameOf))).to.deep.equal(new Set(['LinkVisited']));
    for (const event of [...events, ...visits]) {
      expect(event).to.deep.include({ specversion: '1.0', account: pro.account });
      expect(event.source).to.match(/^\/linklog\/(?:ledger$|spool\/)/);
    }
    const times = events.map(({ time }) => time);
    expect(times).to.deep.equal([...times].sort());
    const ofLink = events.filter(({ subject }) => subject === `${domain}/${code}`);
    expect(ofLink.map(({ sequence }) => Number(sequence))).to.deep.equal([1, 2, 3, 4, 5]);
  });

  it('are filtered by types, domain and short code', async () => {
    const query = `domain=${domain}&shortCode=${code}&types=LinkVisited,LinkBlocked&types=LinkEdited`;
    const found = await readAll(pro.key, query);
    expect(found.map(nameOf)).to.have.members(['LinkVisited', 'LinkBlocked', 'LinkEdited']);
    expect((await page(pro.key, `shortCode=${code}`)).events).to.be.empty;
  });

  it('repeat the cursor at the end of the log, and continue there later', async () => {
    const { key } = await bench.key('PRO', { account: 'end-of-log' });
    const cursor = await end(key);
    for (let time = 0; time < 2; time += 1) {
      expect(await page(key, `after=${cursor}`)).to.deep.equal({ events: [], next: cursor });
    }
    const { shortCode } = await bench.link(key);
    await eventuallyPasses(async () => {
      const { events: found, next } = await page(key, `after=${cursor}`);
      expect(found.map(({ subject }) => subject)).to.deep.equal([shortCode]);
      expect(await page(key, `after=${next}`)).to.deep.equal({ events: [], next });
    }, 30_000);
  });

  describe('are rejected', () => {
    const expectRejected = async (
      query: string,
      status: number,
      message: string,
      headers: Record<string, string> = {},
    ): Promise<void> => {
      const response = await bench.api(`${path}?${query}`, pro.key, { headers });
      expectError(response, { status, message, path });
    };

    it('with 400 for an invalid parameter, which the message names', async () => {
      const types = `types must be a list of ${feedEventNames.join(', ')}`;
      for (const [query, message] of [
        ['types=LinkCreated,QrRendered', types],
        ['limit=1001', 'limit must be between 1 and 1000'],
        ['shortCode=a%20b', 'shortCode must be a short code'],
        ['domain=http://x', 'domain must be a host, such as go.example.com'],
        ['after=x', cursorMalformed],
      ] as const) {
        await expectRejected(query, 400, message);
      }
    });

    it('with 409 for a cursor of another log, or beyond the end of the log', async () => {
      const { ofAnotherLog, beyondTheEnd } = foreignCursors(await end(pro.key));
      for (const cursor of [ofAnotherLog, beyondTheEnd]) {
        await expectRejected(`after=${cursor}`, 409, messages.cursorForeign);
        const stream = { Accept: 'text/event-stream' };
        await expectRejected(`after=${cursor}`, 409, messages.cursorForeign, stream);
        const resumed = { ...stream, 'Last-Event-ID': cursor };
        await expectRejected('after=start', 409, messages.cursorForeign, resumed);
      }
    });
  });

  it('cost one call each, and have the headers of /v2', async () => {
    const { key, name } = await bench.key('PRO', { account: 'calls', name: 'reader' });
    for (const [method, calls] of [
      ['GET', 1],
      ['HEAD', 2],
    ] as const) {
      const { text, headers } = await bench.api(`${path}?limit=1000`, key, { method });
      expect(text === '').to.equal(method === 'HEAD');
      expect(headers).to.include({
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'x-api-key-name': name,
      });
      expect((await bench.usage(key)).calls).to.equal(calls);
    }
  });
});

import { expect } from 'chai';
import { cursorMalformed } from '../../../schemas/http/events.js';
import { concurrently, sendRequest } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import type { IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { eventPages, eventStreams, expectEnd, subjectsOf } from './events-harness.js';
import { sharedProduct } from './harness.js';

// Slow clients, positions and restarts are in event-stream.more.spec.ts.

const streamHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

type Secret = Pick<IssuedKey, 'key'>;

describe('command API: streams of events', () => {
  const bench = sharedProduct();
  const { page, readAll } = eventPages(bench);
  const { openUrl, request, open } = eventStreams(bench);
  let accounts = 0;

  const newKey = (account?: string): Promise<IssuedKey> => {
    accounts += 1;
    return bench.key('PRO', { account: account ?? `streams-${accounts}` });
  };

  const createChild = async ({ key }: Secret): Promise<IssuedKey> => {
    const options = { method: 'POST', body: { name: 'a child' } };
    const response = await bench.api('/v2/keys', key, options);
    expect(response.status, response.text).to.equal(201);
    return response.json() as IssuedKey;
  };

  /** The last API, which is another one than that of commands on the stack. */
  const otherApi = (): string => bench.product.apis.at(-1) ?? '';

  /** Waits until pages contain the events of a link. */
  const expectStored = ({ key }: Secret, code: string): Promise<void> =>
    eventuallyPasses(async () => {
      expect((await page(key, `shortCode=${code}`)).events).to.not.be.empty;
    }, 30_000);

  describe('send', () => {
    it('retry, then each event after the start of the stream as id and data', async () => {
      const key = await newKey();
      const stream = await open(key);
      expect(stream.headers).to.include(streamHead);
      expect(stream.headers).to.include.keys('x-ratelimit-remaining', 'x-request-id');
      await eventually('the stream starts', () => stream.text() === 'retry: 2000\n\n');
      await bench.link((await newKey()).key);
      const { shortCode } = await bench.link(key.key);
      const [event] = await stream.expectEvents(1);
      expect(stream.text()).to.match(/^retry: 2000\n\nid: [\w-]+\ndata: \{[^\n]+\}\n\n$/);
      await expectStored(key, shortCode);
      expect((await page(key.key, `shortCode=${shortCode}`)).events).to.deep.equal([event]);
      const fromStart = await open(key, 'after=start');
      expect(await fromStart.expectEvents(2)).to.have.deep.members(await readAll(key.key));
      const after = await page(key.key, `after=${stream.lastEventId()}`);
      expect(after).to.deep.equal({ events: [], next: stream.lastEventId() });
    });

    it('what follows Last-Event-ID, which takes precedence over after', async () => {
      const key = await newKey();
      const first = await open(key);
      const codes: string[] = [];
      for (let link = 0; link < 3; link += 1) codes.push((await bench.link(key.key)).shortCode);
      await first.expectEvents(3);
      for (const [index, { id }] of first.messages().slice(0, 3).entries()) {
        codes.push((await bench.link(key.key)).shortCode);
        await first.expectEvents(codes.length);
        const later = subjectsOf(first).slice(index + 1);
        const resumed = await open(key, 'after=start', { 'Last-Event-ID': id }, otherApi());
        await resumed.expectEvents(later.length);
        expect(subjectsOf(resumed)).to.have.members(later);
        resumed.close();
      }
      const malformed = await request(key, '', { 'Last-Event-ID': 'x' });
      await expectEnd(malformed);
      expect(JSON.parse(malformed.text())).to.include({
        statusCode: 400,
        message: cursorMalformed,
      });
    });
  });

  describe('end within a moment after their key', () => {
    const admin = async (method: string, { id }: IssuedKey, body?: object): Promise<void> => {
      const response = await bench.admin(method, `/admin/keys/${id}`, body);
      expect(response.status, response.text).to.be.within(200, 204);
    };
    const rotate = async ({ key, id }: IssuedKey, overlapSeconds: number): Promise<void> => {
      const options = { method: 'POST', body: { overlapSeconds } };
      expect((await bench.api(`/v2/keys/${id}/rotate`, key, options)).status).to.equal(200);
    };
    const endings: Readonly<Record<string, (key: IssuedKey, root: IssuedKey) => Promise<unknown>>> =
      {
        'loses its root key': (_key, root) => admin('DELETE', root),
        'reaches its expiry': ({ id }) =>
          withLedger(bench.product, (pool) =>
            pool.query('UPDATE ledger.api_keys SET expires_at = clock_timestamp() WHERE id = $1', [
              id,
            ]),
          ),
      };

    for (const [what, endKey] of Object.entries(endings)) {
      it(what, async () => {
        const root = await newKey();
        const key = await createChild(root);
        const other = await newKey(root.account);
        const stream = await open(key, '', {}, otherApi());
        const staying = await open(other, 'types=LinkCreated', {}, otherApi());
        await rotate(other, 600);
        await endKey(key, root);
        await expectEnd(stream);
        expect(staying.isEnded()).to.equal(false);
        await bench.link(other.key);
        await staying.expectEvents(1);
        expect((await request(key)).status).to.be.oneOf([401, 403]);
      });
    }
  });

  it('of a root key and its descendants are at most 10; a closed one makes room', async () => {
    const root = await newKey();
    const child = await createChild(root);
    const { apis } = bench.product;
    const streams = await concurrently(15, (index) =>
      request(index % 2 === 0 ? root : child, '', {}, apis[index % apis.length]),
    );
    const [accepted = [], rejected = []] = [200, 429].map((expected) =>
      streams.filter(({ status }) => status === expected),
    );
    expect([accepted.length, rejected.length]).to.deep.equal([10, 5]);
    for (const stream of rejected) {
      await expectEnd(stream);
      const message = 'At most 10 streams a root key';
      expect(JSON.parse(stream.text())).to.include({ message, path: '/v2/events' });
    }
    // Another root key of the account has its own.
    expect((await request(await newKey(root.account))).status).to.equal(200);
    accepted[0]?.close();
    await eventually('a slot is free', async () => (await request(child)).status === 200);
    expect((await request(root)).status).to.equal(429);
  });

  it('of a session of the console end with it', async () => {
    const { api } = bench.product;
    const key = await newKey();
    const session = (method: string, headers: Record<string, string>, body?: object) =>
      sendRequest(`${api}/console/session`, {
        ...{ method, headers: { Origin: api, ...headers } },
        ...(body && { body }),
      });
    const signedIn = await session('POST', {}, { key: key.key });
    const Cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
    const stream = await openUrl(`${otherApi()}/console/v2/events`, { Cookie });
    await bench.link(key.key);
    await stream.expectEvents(1);
    expect((await session('DELETE', { Cookie })).status).to.equal(204);
    await expectEnd(stream);
  });
});

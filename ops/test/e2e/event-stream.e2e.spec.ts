import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import { messages } from '../../../schemas/http/errors.js';
import { cursorMalformed } from '../../../schemas/http/events.js';
import { openEventStream, type EventStream } from '../support/event-stream.js';
import { nameOf } from '../support/feed-event.js';
import { folderFixture } from '../support/fixtures.js';
import { concurrently, sendRequest } from '../support/http.js';
import { withLedger } from '../support/ledger-events.js';
import { startProduct, type IssuedKey } from '../support/product.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { eventPages } from './events-harness.js';
import { Bench, destination, productFixture, timestampPattern } from './harness.js';

const streamHead = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
};

type Secret = Pick<IssuedKey, 'key'>;

/** Opens streams of a running product, which are closed after each test. */
const eventStreams = (bench: Bench) => {
  const opened: EventStream[] = [];
  afterEach(() => {
    for (const stream of opened.splice(0)) stream.close();
  });

  const openUrl = async (
    url: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<EventStream> => {
    const stream = await openEventStream(url, headers);
    opened.push(stream);
    return stream;
  };

  /** The response may be an error. */
  const request = (
    { key }: Secret,
    query = '',
    headers: Readonly<Record<string, string>> = {},
    api = bench.product.api,
  ): Promise<EventStream> =>
    openUrl(`${api}/v2/events?${query}`, { Authorization: `Bearer ${key}`, ...headers });

  const open = async (...args: Parameters<typeof request>): Promise<EventStream> => {
    const stream = await request(...args);
    expect(stream.status).to.equal(200);
    return stream;
  };

  return { openUrl, request, open };
};

const expectEnd = (stream: EventStream): Promise<void> =>
  eventually('the stream ends', () => stream.isEnded());

const subjectsOf = (stream: EventStream): readonly string[] =>
  stream.events().map(({ subject }) => subject);

describe('command API: streams of events', () => {
  const bench = productFixture();
  const { page, readAll, end } = eventPages(bench);
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
    it('retry, then each event as id and data, without a name', async () => {
      const key = await newKey();
      const stream = await open(key);
      expect(stream.headers).to.include(streamHead);
      expect(stream.headers).to.include.keys('x-ratelimit-remaining', 'x-request-id');
      await eventually('the stream starts', () => stream.text() === 'retry: 2000\n\n');
      const { shortCode } = await bench.link(key.key);
      const [event] = await stream.expectEvents(1);
      expect(stream.text()).to.match(/^retry: 2000\n\nid: [\w-]+\ndata: \{[^\n]+\}\n\n$/);
      await expectStored(key, shortCode);
      expect((await page(key.key, `shortCode=${shortCode}`)).events).to.deep.equal([event]);
    });

    it('the events after the start of the stream, or of the log', async () => {
      const key = await newKey();
      const links = [await bench.link(key.key), await bench.link(key.key)];
      await expectStored(key, links[1]?.shortCode ?? '');
      const [fromNow, fromStart] = [await open(key), await open(key, 'after=start')];
      expect(await fromStart.expectEvents(3)).to.have.deep.members(await readAll(key.key));
      links.push(await bench.link(key.key));
      const [event] = await fromNow.expectEvents(1);
      expect(event).to.include({ subject: links[2]?.shortCode });
      expect(await fromStart.expectEvents(4)).to.deep.include(event);
    });

    it('only selected events', async () => {
      const key = await newKey();
      const { shortCode } = await bench.link(key.key);
      const queries = [
        'types=LinkDisabled',
        `shortCode=${shortCode}&types=LinkVisited,LinkEnabled`,
      ];
      const [byType, byLink] = await Promise.all(queries.map((query) => open(key, query)));
      const other = await bench.link(key.key);
      for (const code of [other.shortCode, shortCode]) {
        expect((await bench.visit(code)).status).to.equal(302);
        await bench.change(code, key.key, { disabled: true });
        await bench.change(code, key.key, { disabled: false });
      }
      const disabled = await byType?.expectEvents(2);
      expect(disabled?.map((event) => [nameOf(event), event.subject])).to.have.deep.members([
        ['LinkDisabled', other.shortCode],
        ['LinkDisabled', shortCode],
      ]);
      const ofLink = await byLink?.expectEvents(2);
      expect(ofLink?.map((event) => [nameOf(event), event.subject])).to.have.deep.members([
        ['LinkVisited', shortCode],
        ['LinkEnabled', shortCode],
      ]);
    });

    it('nothing of another account', async () => {
      const [key, other] = [await newKey(), await newKey()];
      const stream = await open(key);
      await bench.link(other.key);
      const { shortCode } = await bench.link(key.key);
      expect(await stream.expectEvents(1)).to.have.nested.property('[0].subject', shortCode);
    });

    it('what follows Last-Event-ID, which takes precedence over after', async () => {
      const key = await newKey();
      const first = await open(key);
      const codes: string[] = [];
      for (let link = 0; link < 5; link += 1) codes.push((await bench.link(key.key)).shortCode);
      await first.expectEvents(5);
      expect(subjectsOf(first)).to.have.members(codes);
      for (const [index, { id }] of first.messages().slice(0, 5).entries()) {
        codes.push((await bench.link(key.key)).shortCode);
        await first.expectEvents(codes.length);
        const later = subjectsOf(first).slice(index + 1);
        const resumed = await open(key, 'after=start', { 'Last-Event-ID': id }, otherApi());
        await resumed.expectEvents(later.length);
        expect(subjectsOf(resumed)).to.have.members(later);
        resumed.close();
      }
    });

    it('their position after 15 s without an event, from which a client resumes', async () => {
      const key = await newKey();
      const stream = await open(key);
      await eventually('the position is sent', () => stream.messages().length > 0, 60_000);
      const pattern = /^retry: 2000\n\nevent: position\nid: [\w-]+\ndata: (\{.*\})\n\n$/;
      const data = JSON.parse(pattern.exec(stream.text())?.[1] ?? 'null') as { time: string };
      expect(data).to.have.all.keys('time');
      expect(data.time).to.match(timestampPattern);
      const id = stream.lastEventId();
      stream.close();
      const { shortCode } = await bench.link(key.key);
      const resumed = await open(key, '', { 'Last-Event-ID': id });
      await resumed.expectEvents(1);
      expect(subjectsOf(resumed)).to.deep.equal([shortCode]);
    });
  });

  it('cost one call', async () => {
    const { key } = await newKey();
    const stream = await open({ key });
    await bench.link(key);
    await stream.expectEvents(1);
    // The second call created the link.
    expect((await bench.usage(key)).calls).to.equal(2);
  });

  it('are rejected with 400 for a malformed Last-Event-ID', async () => {
    const stream = await request(await newKey(), '', { 'Last-Event-ID': 'x' });
    await expectEnd(stream);
    expect(stream.status).to.equal(400);
    expect(JSON.parse(stream.text())).to.include({ message: cursorMalformed });
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
        'is revoked': (key) => admin('DELETE', key),
        'is deactivated': (key) => admin('PATCH', key, { active: false }),
        'loses the scope events:read': (key) => admin('PATCH', key, { scopes: ['links:read'] }),
        'is rotated without an overlap': (key) => rotate(key, 0),
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

  describe('of a root key and its descendants', () => {
    /** Opens streams concurrently on all APIs. */
    const openMany = (keys: readonly Secret[], count: number): Promise<EventStream[]> =>
      concurrently(count, (index) => {
        const { apis } = bench.product;
        return request(keys[index % keys.length] ?? { key: '' }, '', {}, apis[index % apis.length]);
      });

    it('are at most 10; a closed one makes room for another one', async () => {
      const root = await newKey();
      const child = await createChild(root);
      const family = [root, child, await createChild(child)];
      const streams = await openMany(family, 15);
      const [accepted, rejected] = [200, 429].map((expected) =>
        streams.filter(({ status }) => status === expected),
      );
      expect([accepted?.length, rejected?.length]).to.deep.equal([10, 5]);
      for (const stream of rejected ?? []) {
        await expectEnd(stream);
        const message = 'At most 10 streams a root key';
        expect(JSON.parse(stream.text())).to.include({
          statusCode: 429,
          message,
          path: '/v2/events',
        });
      }
      // Another root key of the account has its own.
      expect((await request(await newKey(root.account))).status).to.equal(200);
      accepted?.[0]?.close();
      await eventually('a slot is free', async () => (await request(child)).status === 200);
      expect((await request(root)).status).to.equal(429);
    });
  });

  describe('of a client that never reads', () => {
    const openStreamsOf = ({ id }: IssuedKey): Promise<number> =>
      withLedger(bench.product, async (pool) => {
        const { rows } = await pool.query<{ count: number }>(
          'SELECT count(*) AS count FROM delivery.streams WHERE root_id = $1',
          [id],
        );
        return Number(rows[0]?.count);
      });

    it('end, while others get their events', async () => {
      const key = await newKey();
      const unread = await newKey(key.account);
      const items = Array.from({ length: 50 }, () => ({
        url: `${destination}&${'x'.repeat(1_900)}`,
        note: 'y'.repeat(1_000),
      }));
      // More than the kernel and the process buffer.
      for (let batch = 0; batch < 40; batch += 1) {
        const options = { method: 'POST', body: { urls: items } };
        expect((await bench.api('/v2/shorten/batch', key.key, options)).status).to.equal(200);
      }
      const { hostname, port } = new URL(bench.product.api);
      const socket = connect({ host: hostname, port: Number(port) });
      try {
        await once(socket, 'connect');
        socket.write(
          `GET /v2/events?after=start HTTP/1.1\r\nHost: ${hostname}\r\n` +
            `Authorization: Bearer ${unread.key}\r\nAccept: text/event-stream\r\n\r\n`,
        );
        await eventually('the stream starts', async () => (await openStreamsOf(unread)) === 1);
        const reading = await open(key);
        await bench.link(key.key);
        await reading.expectEvents(1);
        const isEnded = async (): Promise<boolean> => (await openStreamsOf(unread)) === 0;
        await eventually('the stream ends', isEnded, 60_000);
        await bench.link(key.key);
        await reading.expectEvents(2);
      } finally {
        socket.destroy();
      }
    }).timeout(120_000);
  });

  describe('of the console', () => {
    it('are those of the account, by the cookie of a session, and end with it', async () => {
      const { api } = bench.product;
      const key = await newKey();
      const signedIn = await sendRequest(`${api}/console/session`, {
        ...{ method: 'POST', headers: { Origin: api }, body: { key: key.key } },
      });
      const Cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
      const url = `${otherApi()}/console/v2/events`;
      const stream = await openUrl(url, { Cookie });
      expect(stream.headers).to.include(streamHead);
      const { shortCode } = await bench.link(key.key);
      await stream.expectEvents(1);
      expect(subjectsOf(stream)).to.deep.equal([shortCode]);
      const resumed = await openUrl(`${url}?after=start`, { Cookie });
      expect(await resumed.expectEvents(2)).to.have.deep.members(await readAll(key.key));
      const signedOut = await openUrl(url, {});
      await expectEnd(signedOut);
      expect(signedOut.status).to.equal(401);
      expect(JSON.parse(signedOut.text())).to.include({ message: messages.sessionOver });
      const left = await sendRequest(`${api}/console/session`, {
        ...{ method: 'DELETE', headers: { Origin: api, Cookie } },
      });
      expect(left.status).to.equal(204);
      await expectEnd(stream);
      await expectEnd(resumed);
    });
  });

  it('continue from a cursor of a page', async () => {
    const key = await newKey();
    const cursor = await end(key.key);
    const { shortCode } = await bench.link(key.key);
    const stream = await open(key, `after=${cursor}`);
    await stream.expectEvents(1);
    expect(subjectsOf(stream)).to.deep.equal([shortCode]);
    await expectStored(key, shortCode);
    const after = await page(key.key, `after=${stream.lastEventId()}`);
    expect(after).to.deep.equal({ events: [], next: stream.lastEventId() });
  });
});

describe('command API: streams of events over a restart', () => {
  const folder = folderFixture();
  const bench = new Bench();
  const { open } = eventStreams(bench);
  after(() => bench.end());

  /** Creates links until the process refuses connections. Returns their codes. */
  const createUntilStopped = async ({ key }: Secret): Promise<readonly string[]> => {
    const codes: string[] = [];
    for (;;) {
      try {
        codes.push((await bench.link(key)).shortCode);
      } catch {
        return codes;
      }
    }
  };

  it('end when the process drains; clients resume without a loss', async () => {
    bench.use(await startProduct({ dataDir: folder.path }));
    const key = await bench.key('PRO');
    const stream = await open(key, 'types=LinkCreated');
    const writing = concurrently(4, () => createUntilStopped(key));
    await eventually('the stream has events', () => stream.events().length > 20);
    await bench.product.stop();
    await expectEnd(stream);
    const codes = (await writing).flat();

    bench.use(await startProduct({ dataDir: folder.path }));
    codes.push((await bench.link(key.key)).shortCode);
    const lastId = { 'Last-Event-ID': stream.lastEventId() };
    const resumed = await open(key, 'types=LinkCreated', lastId);
    await eventuallyPasses(() => {
      expect([...subjectsOf(stream), ...subjectsOf(resumed)]).to.include.members(codes);
    }, 30_000);
    expect(subjectsOf(resumed)).to.not.be.empty;
  }).timeout(180_000);
});

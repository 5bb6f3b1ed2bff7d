import { expect } from 'chai';
import fc from 'fast-check';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import type { FastPath } from '../../ops/http/fast-path.js';
import { deferred } from '../../ops/platform/concurrency/deferred.js';
import { listen } from '../../ops/http/server.js';
import { createLogger } from '../../ops/platform/logging.js';
import { createMetrics } from '../../ops/platform/metrics/metrics.js';
import { eventually } from '../../ops/test/support/waiting.js';
import type { ServedLink } from './decision.js';
import { LinkCache } from '../links/link-reader.js';
import { createDomainResolver } from '../domains/served-domain.js';
import { SpoolUnavailable } from '../spool/folder.js';
import type { NewVisit } from '../../schemas/events/spooled-visit.js';
import { createVisitAnalyzer } from '../visitors/visit-analyzer.js';
import { createEdgeHandler } from './handler.js';
import { createEdgeFastPath } from './fast-path.js';

const link = (subject: string, fields: Partial<ServedLink> = {}): ServedLink => ({
  ...{ subject, account: 'default', status: 'active', createdAt: 0 },
  ...{ startsAt: null, expiresAt: null, options: {}, codes: [], campaigns: null },
  ...{ location: `https://example.com/${subject}?a=b%20c`, limited: false, passwordHash: null },
  ...{ sequence: 7, ...fields },
});
const cachedLinks = [
  ...[link('plain'), link('Other_1-2'), link('limited', { limited: true })],
  ...[link('secret', { passwordHash: 'x' }), link('blocked', { status: 'blocked' })],
  link('ended', { expiresAt: 1 }),
  link('ruled', {
    options: {
      rules: [
        { name: 'linux', when: { os: ['Linux'] }, url: 'https://example.com/linux#top' },
        { name: 'german', when: { languages: ['de'] }, url: 'https://example.com/de?a=b' },
      ],
      forwardQuery: true,
    },
  }),
  // Codes of imported links.
  ...['a', 'a.b', '~', 'x'.repeat(190)].map((subject) => link(subject)),
  link('café', { location: 'https://example.com/cafe' }),
];
const uncachedLinks = [
  ...[link('cold'), link('cold-limited', { limited: true }), link('c.d')],
  link('🎉', { location: 'https://example.com/party' }),
];

const anyPort = { host: '127.0.0.1', port: 0 };

/** Sorted, because the order of concurrent requests depends on their links. */
const recordsOf = ({ visits }: { readonly visits: NewVisit[] }): readonly string[] =>
  visits
    .splice(0)
    .map((visit) => JSON.stringify(visit))
    .sort();

const nextTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const get = 'GET /plain HTTP/1.1\r\nHost: a\r\n\r\n';
/** The edge closes the connection after this request. */
const lastRequest = 'GET /last HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';

/** An edge with stubs of links, ledger and spool. */
const startEdge = async (withFastPath: boolean) => {
  const visits: NewVisit[] = [];
  const cache = new LinkCache(2 ** 20);
  /** Requests on the fast path. */
  const counts = { handled: 0, fallbacks: 0 };
  const state = {
    ...{ maintenance: false, isBroken: false },
    ...{ refused: 0, written: Promise.resolve() },
  };
  /** Callbacks of visits that are appended but not written. */
  let waiting: (() => void)[] = [];
  const flush = (): void => {
    const callbacks = waiting;
    waiting = [];
    void state.written.then(() => {
      for (const callback of callbacks) callback();
    });
  };
  const deps = {
    links: {
      lookups: { hits: 0, misses: 0 },
      peek: (subject: string) => cache.get(subject, null),
      cached: (subject: string) => cache.get(subject, null),
      read: (subject: string) =>
        Promise.resolve(uncachedLinks.find((known) => known.subject === subject) ?? null),
      forget: () => undefined,
    },
    clicks: { take: () => Promise.resolve('taken' as const) },
    spool: {
      append: (visit: NewVisit, done: (failure: SpoolUnavailable | null) => void) => {
        const isRefused = state.refused > 0;
        if (isRefused) state.refused -= 1;
        else visits.push({ ...visit, at: 0 });
        const failure = isRefused ? new SpoolUnavailable('SPOOL_FULL', 'the spool is full') : null;
        waiting.push(() => {
          done(failure);
        });
        if (waiting.length === 1) setImmediate(flush);
      },
    },
    passwords: { check: () => Promise.resolve({ type: 'wrong' as const }) },
    trustedProxies: () => true,
    schemes: [],
    analyzer: createVisitAnalyzer({
      countries: () => {
        if (state.isBroken) throw new Error('the look-up fails');
        return null;
      },
      keys: { of: () => 'a key' },
      isOwnHost: ({ host }) => host === 'sho.rt',
      trustedProxies: () => true,
    }),
    platform: state,
    health: () => Promise.reject(new Error('health is not requested')),
    domains: createDomainResolver({
      domains: { find: () => undefined, ignoresCase: () => false },
      redirects: { rootRedirect: null, notFoundRedirect: null, expiredRedirect: null },
      trustedProxies: () => true,
    }),
    requests: createMetrics().requests('edge'),
    tracer: null,
    logger: createLogger('silent'),
  };
  for (const cachedLink of cachedLinks) cache.set(cachedLink, 0);
  const edgeFastPath = createEdgeFastPath(deps);
  const fastPath: FastPath = (socket, respond) => {
    const handler = edgeFastPath(socket, (head) => {
      counts[head === null ? 'fallbacks' : 'handled'] += 1;
      respond(head);
    });
    return (request) => {
      let isHandled = false;
      try {
        isHandled = handler(request);
      } finally {
        if (!isHandled) counts.fallbacks += 1;
      }
      return isHandled;
    };
  };
  const listener = await listen('EDGE', anyPort, deps, () => ({
    http: createEdgeHandler(deps),
    fastPath: withFastPath ? fastPath : null,
  }));
  /** The bytes that the edge has read from a client; `null` if it has no such connection. */
  const bytesReadOf = ({ localPort }: Socket): number | null => {
    const { sockets } = listener.connections;
    return [...sockets].find(({ remotePort }) => remotePort === localPort)?.bytesRead ?? null;
  };
  const open = (): Socket =>
    connect({ port: listener.port, host: '127.0.0.1', noDelay: true }).setEncoding('latin1');
  return {
    ...{ visits, counts, state, bytesReadOf },
    stop: (graceMs: number) => listener.stop(graceMs),
    connect: async (): Promise<Socket> => {
      const socket = open();
      await once(socket, 'connect');
      return socket;
    },
    /** Sends packets sequentially. @returns the responses without dates */
    async exchange(packets: readonly string[]): Promise<string> {
      const socket = open();
      const received = text(socket);
      // The edge may close the connection before it reads all bytes, which resets it.
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      while (bytesReadOf(socket) === null) await nextTick();
      let sent = 0;
      for (const packet of [...packets, lastRequest]) {
        socket.write(packet, 'latin1');
        sent += packet.length;
        // The next packet may arrive before the response to this one.
        while ((bytesReadOf(socket) ?? sent) < sent) await nextTick();
      }
      return (await received)
        .replaceAll(/^Date: .*\r\n/gm, '')
        .replaceAll(/"timestamp":"[^"]*"/g, '');
    },
  };
};

const paths = [
  ...[...cachedLinks, ...uncachedLinks].map(({ subject }) => `/${encodeURIComponent(subject)}`),
  ...['/cafe%CC%81', '/a.b.', '/a.b+', '/c.d.', '/.', '/robots.txt'],
  ...['/', '/nothing-here', '/plain+', '/plain?a=b', '/plain?', '/plain?qr', '/plain?a b'],
  ...['/ruled?c=d', '/ruled?qr&c=d&ms-office=1', '/ruled?qr=1', '/ruled?&c'],
  ...['/plain?qr=%20', '/pl%61in', '/plain.', '/plain_', '/plain%20', '/plain_+', '/limited)'],
  ...['/cold,', '/plain?ms-office', '/limited?qr&ms-office', '/plain#a', '//plain', 'plain'],
];
const usualLines = [
  ...['User-Agent: Mozilla/5.0 (X11; Linux x86_64)', 'user-agent: Googlebot/2.1', 'USER-AGENT: a'],
  'User-Agent: Mozilla/4.0 (compatible; ms-office; MSOffice 16)',
  ...['Accept: text/html,*/*;q=0.8', 'Accept-Language: de-CH, en;q=0.5', 'Cookie: a=b; c="d"'],
  ...['Referer: https://news.example.com/a?b', 'X-Forwarded-For: 192.0.2.1, 10.0.0.1', 'DNT: 1'],
  ...['X-Forwarded-For: 2001:db8::1', 'X-Request-Id: abc', 'X-Request-Id: no id', 'Sec-GPC: 1'],
  ...['Connection: keep-alive', 'Sec-Fetch-Mode: navigate', 'X-B3-TraceId: 80f198ee56343ba8'],
];
const oddLines = [
  ...['Sec-Purpose: prefetch', 'Purpose: preview', 'Connection: close', 'Host: another'],
  ...['Connection: upgrade', 'Connection: Keep-Alive', 'Upgrade: websocket', 'Keep-Alive: 5'],
  ...['Expect: 100-continue', 'Content-Length: 0', 'Content-Length: 5', 'Content-Length: +0'],
  ...['Content-Length : 5', 'Content_Length: 5', 'Transfer-Encoding: chunked', 'TE: trailers'],
  ...['Transfer-Encoding: identity', 'Proxy-Connection: close', 'Empty:', 'Empty: '],
  ...['Spaces:  a  b ', 'Tab:\ta', 'Latin: é', 'Zero: \0', 'Bell: \x07', 'No colon', ' folded'],
  ...[': no name', 'No name : a', '"quoted": a', 'Line: a\nb', 'Return: a\rb', ''],
  `Long: ${'x'.repeat(5_000)}`,
  `Too-Long: ${'x'.repeat(20_000)}`,
];

const mostly = <Value>(usual: readonly Value[], odd: readonly Value[]): fc.Arbitrary<Value> =>
  fc.oneof(
    { arbitrary: fc.constantFrom(...usual), weight: 12 },
    { arbitrary: fc.constantFrom(...odd), weight: 1 },
  );
const seldom = <Value>(usual: Value, ...odd: Value[]): fc.Arbitrary<Value> => mostly([usual], odd);

const path = fc.oneof(fc.constantFrom('/plain', '/cold'), fc.constantFrom(...paths));
/** Up to three requests that differ only in their paths. */
const requests = fc
  .record({
    method: seldom('GET', 'HEAD', 'POST', 'get', 'BREW', ''),
    targets: fc.array(path, { minLength: 1, maxLength: 3 }),
    version: seldom('HTTP/1.1', 'HTTP/1.0', 'HTTP/1.2', 'http/1.1', 'HTTP/2.0'),
    host: seldom('Host: sho.rt', 'host: sho.rt', 'Host:', 'Host: a b', 'X: no host'),
    lines: fc.array(mostly(usualLines, oddLines), { maxLength: 4 }),
    end: seldom('\r\n', '\n'),
    behind: seldom('', '\r\n', 'hello', 'GET /plain HTTP/1.1\r\nHost: a\r\n\r\n', '\0\xff'),
  })
  .map(({ method, targets, version, host, lines: more, end, behind }) =>
    targets.map((target) =>
      [`${method} ${target} ${version}`, host, ...more, '', behind].join(end),
    ),
  );
/** The response to an invalid request must wait for the response to an uncached link. */
const uncachedThenInvalid = [
  'GET /cold HTTP/1.1\r\nHost: a\r\n\r\n',
  'GET /limited HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n',
];
/** No visit may be recorded after the 405, which ends the connection. */
const postThenGet = [
  `POST /plain HTTP/1.1\r\nHost: a\r\nUser-Agent: ${'x'.repeat(40)}\r\n\r\n${get}`,
];
/** The packets of a connection, which rarely split a request. */
const connection = fc
  .tuple(
    fc.array(requests, { minLength: 1, maxLength: 3 }),
    seldom<number | null>(null, 3, 17, 30, 50),
  )
  .map(([groups, cut]) => {
    const packets = groups.flat();
    return cut === null
      ? packets
      : packets.flatMap((packet) => [packet.slice(0, cut), packet.slice(cut)]);
  });

describe('redirect edge: fast path', () => {
  const edges: Awaited<ReturnType<typeof startEdge>>[] = [];
  const start = async (withFastPath = true) => {
    const edge = await startEdge(withFastPath);
    edges.push(edge);
    return edge;
  };
  afterEach(async () => {
    for (const edge of edges.splice(0)) await edge.stop(0);
  });

  it('sends and records the same bytes as node:http', async function () {
    this.timeout(60_000);
    const [slow, fast] = [await start(false), await start()];
    const exchange = async (edge: typeof fast, packets: readonly string[]) => ({
      received: await edge.exchange(packets),
      records: recordsOf(edge),
    });
    await fc.assert(
      fc.asyncProperty(connection, async (packets) => {
        let [expected, actual] = [await exchange(slow, packets), await exchange(fast, packets)];
        // Which packets arrive together depends on the load of the machine.
        for (let retry = 0; retry < 3 && !isDeepStrictEqual(actual, expected); retry += 1)
          [expected, actual] = [await exchange(slow, packets), await exchange(fast, packets)];
        expect(actual).to.deep.equal(expected);
      }),
      {
        numRuns: 400,
        examples: [[[get]], [[get, get]], [[get.repeat(2)]], [uncachedThenInvalid], [postThenGet]],
      },
    );
    expect(fast.counts.handled).to.be.above(40);
    expect(fast.counts.fallbacks).to.be.above(20);
  });

  for (const [title, fault, subject, status] of [
    ['falls back to node:http if the spool refuses a visit', { refused: 1 }, 'plain', 302],
    ['responds with 503 if the spool refuses the visit again', { refused: 2 }, 'plain', 503],
    ['falls back to node:http during maintenance', { maintenance: true }, 'plain', 503],
    ['does not read links during maintenance', { maintenance: true }, 'cold', 503],
    ['falls back to node:http if the visitor is not determined', { isBroken: true }, 'plain', 500],
  ] as const) {
    it(title, async () => {
      const edge = await start();
      Object.assign(edge.state, fault);
      const response = await edge.exchange([get.replace('plain', subject)]);
      expect(response).to.match(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(edge.visits).to.have.length(status === 302 ? 1 : 0);
      expect(edge.counts).to.deep.equal({ handled: 0, fallbacks: 1 });
    });
  }

  it('redirects and records each of many concurrent requests', async () => {
    const edge = await start();
    const expected = Array.from({ length: 40 }, (_, index) => ({
      ...{ subject: cachedLinks[index % 2]?.subject ?? '', requestId: `id-${index}` },
      ...{ referrer: `${index}.example`, trigger: 'qr' },
    }));
    const sockets = await Promise.all(expected.map(() => edge.connect()));
    await Promise.all(
      expected.map(async ({ subject, requestId, referrer }, index) => {
        const socket = sockets[index];
        if (!socket) throw new Error('there is a socket for each request');
        const client = `X-Request-Id: ${requestId}\r\nReferer: https://${referrer}/`;
        socket.write(`GET /${subject}?qr HTTP/1.1\r\nHost: a\r\n${client}\r\n\r\n`);
        const [head] = (await once(socket, 'data')) as [string];
        socket.destroy();
        expect(head).to.include(`Location: https://example.com/${subject}?a=b%20c\r\n`);
      }),
    );
    const recorded = edge.visits.map(({ subject, requestId, data: { referrer, trigger } }) => ({
      ...{ subject, requestId, referrer, trigger },
    }));
    expect(recorded).to.have.deep.members(expected);
    expect(edge.counts).to.deep.equal({ handled: 40, fallbacks: 0 });
  });

  it('redirects links with ASCII codes of any length', async () => {
    const edge = await start();
    const codes = ['a', 'a.b', '~', 'x'.repeat(190)];
    for (const code of codes) await edge.exchange([get.replace('plain', code)]);
    expect(edge.visits.map(({ subject }) => subject)).to.deep.equal(codes);
    expect(edge.counts).to.deep.equal({ handled: codes.length, fallbacks: 0 });
  });

  it('responds to a client that closes its side after the request', async () => {
    const edge = await start();
    const socket = await edge.connect();
    socket.end(get);
    expect(await text(socket)).to.match(/^HTTP\/1\.1 302 /);
    expect(edge.counts.handled).to.equal(1);
  });

  it('keeps a connection open, and responds to pipelined requests in order', async () => {
    const edge = await start();
    const written = deferred();
    const socket = await edge.connect();
    socket.write(get);
    await once(socket, 'data');
    edge.state.written = written.promise;
    socket.write(get);
    await eventually('the visit is appended', () => edge.visits.length === 2);
    edge.state.written = Promise.resolve();
    socket.write('GET /blocked HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await eventually('the request is read', () => edge.bytesReadOf(socket) === socket.bytesWritten);
    written.resolve();
    expect((await text(socket)).match(/^HTTP\/1\.1 \d+/gm)).to.deep.equal([
      'HTTP/1.1 302',
      'HTTP/1.1 410',
    ]);
    expect(edge.counts.handled).to.equal(2);
  });
});

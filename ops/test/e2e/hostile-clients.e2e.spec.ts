import { expect } from 'chai';
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { sendRequest, concurrently } from '../support/http.js';
import {
  connectTo,
  type RawResponse,
  type RawConnection,
  parseResponse,
} from '../support/raw-http.js';
import {
  destination,
  expectBody,
  expectRefused,
  invalidKey,
  keyFixture,
  passwordForm,
  productFixture,
  timestampPattern,
  type Link,
} from './harness.js';

const listeners = ['api', 'edge', 'admin'] as const;
/** Per listener, which accepts 10,000 connections. */
const slowConnections = 300;

describe('product: hostile clients', () => {
  const bench = productFixture();
  const pro = keyFixture(bench, 'PRO');
  let link: Link;

  before(async () => {
    link = await bench.link(pro.key);
  });

  /** All responses to these bytes until the server closes the connection. */
  const answersTo = async (origin: string, bytes: string): Promise<RawResponse[]> => {
    const connection = await connectTo(origin);
    connection.socket.write(Buffer.from(bytes, 'latin1'));
    await connection.closed(10_000);
    const responses: RawResponse[] = [];
    for (let rest = Buffer.from(connection.received()); ;) {
      const read = parseResponse(rest, false);
      if (!read) return responses;
      responses.push(read.response);
      rest = Buffer.from(read.rest);
    }
  };

  const messageOf = ({ body }: RawResponse): unknown =>
    (JSON.parse(body.toString()) as { message?: unknown }).message;

  it('do not delay other clients if they send slowly or never finish', async () => {
    const { api, edge, admin, adminToken } = bench.product;
    const json = 'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{';
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\np';
    const secured = await bench.link(pro.key, { password: 'a secret' });
    const partialRequests: readonly (readonly [string, string])[] = [
      [api, 'GET /v2/usage HTTP/1.1\r\nX-Slow: '],
      [
        api,
        `POST /v2/shorten HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${pro.key}\r\n${json}`,
      ],
      [edge, 'G'],
      [edge, `POST /${secured.shortCode} HTTP/1.1\r\nHost: 127.0.0.1\r\n${form}`],
      [admin, 'GET /health HTTP/1.1\r\n'],
      [
        admin,
        `POST /admin/keys HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${adminToken}\r\n${json}`,
      ],
    ];
    const slow: RawConnection[] = [];
    const drip = setInterval(() => {
      for (const { socket } of slow) if (socket.writable) socket.write('x');
    }, 1_000);
    try {
      for (const [origin, partialRequest] of partialRequests) {
        slow.push(
          ...(await concurrently(slowConnections / 2, async () => {
            const connection = await connectTo(origin);
            connection.socket.write(partialRequest);
            return connection;
          })),
        );
      }
      for (const name of listeners) {
        const responses = await concurrently(50, () =>
          sendRequest(`${bench.product[name]}/health`),
        );
        expect(responses.every(({ status }) => status === 200)).to.equal(true);
      }
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
      await bench.link(pro.key);
      const entry = await bench.visit(secured.shortCode, passwordForm('a secret'));
      expect(entry.status).to.equal(303);
    } finally {
      clearInterval(drip);
      for (const { socket } of slow) socket.destroy();
    }
  });

  describe('get 400 for a smuggled request, and are disconnected', () => {
    const hidden = `GET /admin/keys HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const frames: readonly (readonly [string, string])[] = [
      ['CL.TE', `Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['TE.CL', `Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${hidden}`],
      ['TE.TE', `Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n${hidden}`],
      ['an unknown TE', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['a space before the colon', `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['a vertical tab', `Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n${hidden}`],
      ['two lengths', `Content-Length: 0\r\nContent-Length: 40\r\n\r\n${hidden}`],
      ['equal lengths twice', `Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}${hidden}`],
      ['a list of lengths', `Content-Length: 0, 40\r\n\r\n${hidden}`],
      ['a signed length', `Content-Length: +0\r\n\r\n${hidden}`],
      ['a bare line feed in a chunk', `Transfer-Encoding: chunked\r\n\r\n0\n\n${hidden}`],
      [
        'an invalid chunk size',
        `Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n${hidden}`,
      ],
      ['a header in two lines', `X-A: b\r\n Content-Length: 40\r\n\r\n${hidden}\x00`],
      ['a return in a header', `X-A: b\rContent-Length: 40\r\n\r\n${hidden}`],
      ['a null in a header', `X-A: b\x00c\r\n\r\n${hidden}`],
    ];
    for (const [what, frame] of frames) {
      it(what, async () => {
        for (const [name, target] of [
          ['api', '/v2/shorten'],
          ['edge', `/${link.shortCode}`],
          ['admin', '/admin/platform'],
        ] as const) {
          const head = `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n`;
          const responses = await answersTo(bench.product[name], head + frame);
          const last = responses.at(-1);
          expect(last?.status, `${name}: ${responses.map(({ status }) => status).join()}`).to.equal(
            400,
          );
          expect(last && messageOf(last)).to.equal('Bad Request');
          expect(last?.headers.get('connection')).to.equal('close');
          // A response to the smuggled request would contain its path.
          const paths = responses.map(({ body }) => body.toString());
          expect(paths.join()).to.not.include('/admin/keys');
        }
      });
    }
  });

  it('get the error envelope for bytes that are not HTTP', async () => {
    for (const name of listeners) {
      for (const bytes of [
        '\x16\x03\x01\x00\xa5\x01',
        'SSH-2.0-x\r\n',
        'get / HTTP/1.1\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
      ]) {
        const [response] = await answersTo(bench.product[name], bytes);
        expect(response?.status).to.equal(400);
        const body = JSON.parse(response?.body.toString() ?? '{}') as Record<string, unknown>;
        expect(body).to.have.all.keys('statusCode', 'timestamp', 'path', 'method', 'message');
        expect(body['timestamp']).to.match(timestampPattern);
      }
    }
  });

  it('get 431 in the error envelope for headers beyond 16 KiB', async () => {
    for (const name of listeners) {
      const headers = { 'X-Long': 'x'.repeat(20_000) };
      const response = await sendRequest(`${bench.product[name]}/health?a=b`, { headers });
      expect(response.status).to.equal(431);
      const { timestamp, ...body } = response.json() as Record<string, unknown>;
      expect(timestamp).to.match(timestampPattern);
      expect(body).to.deep.equal({
        statusCode: 431,
        path: '/health',
        method: 'GET',
        message: 'Request header fields are too large',
      });
    }
  });

  it('are authenticated by the first of two Authorization headers', async () => {
    const lines = (...values: string[]): string =>
      values.map((value) => `Authorization: Bearer ${value}\r\n`).join('');
    const get = (authorization: string): string =>
      `GET /v2/usage HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${authorization}\r\n`;
    const [first] = await answersTo(bench.product.api, get(lines(pro.key, 'wrong')));
    expect(first?.status).to.equal(200);
    const [second] = await answersTo(bench.product.api, get(lines('wrong', pro.key)));
    expect(second?.status).to.equal(401);
  });

  describe('with polluted prototypes', () => {
    const inherited = {
      alias: 'polluted-alias',
      password: 'a secret',
      expiresIn: 60,
      maxClicks: 1,
      polluted: 1,
      format: 'svg',
      errorType: 'BLOCKED',
      retryAfter: 1,
    };

    it('cannot change later responses', async () => {
      const json = JSON.stringify(inherited);
      const url = 'https://example.com/';
      for (const text of [
        `{"url":"${url}","__proto__":${json}}`,
        `{"url":"${url}","constructor":{"prototype":${json}}}`,
        `{"url":"${url}","x":[{"__proto__":${json}}]}`,
        `{"url":"${url}","\\u005f_proto__":${json}}`,
        `{"urls":[{"url":"${url}","__proto__":${json}}]}`,
        `{"__proto__":{"urls":[{"url":"${url}"}]}}`,
      ]) {
        const headers = { 'Content-Type': 'application/json' };
        for (const target of ['/v2/shorten', '/v2/shorten/batch']) {
          const response = await bench.api(target, pro.key, {
            method: 'POST',
            body: text,
            headers,
          });
          expect(response.status, text).to.equal(400);
          expect((response.json() as { message: string }).message).to.match(
            /^property (?:__proto__|constructor|prototype) should not exist$/,
          );
        }
      }
      const pairs = Object.entries(inherited).flatMap(([name, value]) => [
        ...[`__proto__[${name}]`, `__proto__.${name}`, `constructor[prototype][${name}]`].map(
          (spelt) => `${spelt}=${encodeURIComponent(value)}`,
        ),
      ]);
      const { shortCode } = link;
      for (const query of [...pairs, `__proto__=${encodeURIComponent(json)}`]) {
        const response = await bench.api(`/v2/qr/${shortCode}?${query}`, pro.key);
        expect(response.status, query).to.equal(200);
        expect(response.headers['content-type'], query).to.equal('image/png');
      }
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const secured = await bench.link(pro.key, { password: 'another' });
      const body = pairs.join('&');
      const entry = await bench.visit(secured.shortCode, { method: 'POST', headers: form, body });
      expect(entry.status).to.equal(401);

      const created = await bench.link(pro.key);
      expect(created).to.have.all.keys('shortUrl', 'shortCode', 'url', 'createdAt');
      for (let visit = 0; visit < 2; visit += 1) {
        expect((await bench.visit(created.shortCode)).headers.location).to.equal(destination);
      }
      const missing = await bench.api('/v2/stats/nothing0', pro.key);
      expect(missing.json()).to.have.all.keys(
        'statusCode',
        'timestamp',
        'path',
        'method',
        'message',
      );
    });
  });

  describe('get 400 for deeply nested JSON before it is parsed', () => {
    const headers = { 'Content-Type': 'application/json' };
    const post = (target: string, body: string | Buffer, packed: Record<string, string> = {}) =>
      bench.api(target, pro.key, { method: 'POST', body, headers: { ...headers, ...packed } });

    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      it(`${open}1${close}`, async () => {
        for (const levels of [33, 10_000]) {
          const nested = open.repeat(levels) + '1' + close.repeat(levels);
          const invalid = [400, 'Invalid JSON body'] as const;
          expectRefused(await post('/v2/shorten', nested), ...invalid);
          const valid = `{"url":"${destination}","deep":${nested}}`;
          expectRefused(await post('/v2/shorten', valid), ...invalid);
          const packed = { 'Content-Encoding': 'gzip' };
          expectRefused(await post('/v2/shorten', gzipSync(valid), packed), ...invalid);
          const batch = await post('/v2/shorten/batch', `{"urls":[${nested}]}`);
          expect(batch.status).to.equal(400);
          const keys = await sendRequest(`${bench.product.admin}/admin/keys`, {
            method: 'POST',
            headers: { ...headers, Authorization: `Bearer ${bench.product.adminToken}` },
            body: nested,
          });
          expect(keys.json()).to.include({ statusCode: 400, message: 'Invalid JSON body' });
        }
      });
    }

    it('512 KiB of [', async () => {
      const response = await post('/v2/shorten/batch', '['.repeat(524_288));
      expect(response.json()).to.include({ statusCode: 400, message: 'Invalid JSON body' });
    });
  });

  describe('with guessed keys', () => {
    const contentOf = async (file: string): Promise<Buffer> => {
      try {
        return await readFile(file);
      } catch (error) {
        // PostgreSQL removes files meanwhile.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
        throw error;
      }
    };

    // Keys are looked up by their SHA-256, so the time of a look-up reveals nothing about a key.
    it('get the same 401 for a key that differs in one character', async () => {
      const token = bench.product.adminToken;
      const off = (text: string, at: number): string =>
        text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
      for (const at of [3, 10, pro.key.length - 1]) {
        const response = await bench.api('/v2/usage', off(pro.key, at));
        expectBody(response, 401, invalidKey);
      }
      // The admin token is compared as a digest, in constant time.
      for (const guess of [
        '',
        'x',
        token.slice(1),
        token.slice(0, -1),
        `${token}x`,
        off(token, 0),
        token.repeat(50),
      ]) {
        const headers = { Authorization: `Bearer ${guess}` };
        const response = await sendRequest(`${bench.product.admin}/admin/keys`, { headers });
        expect(response.status, guess).to.equal(401);
      }
    });

    it('find only SHA-256 hashes in the database', async () => {
      const hash = createHash('sha256').update(pro.key).digest('hex');
      const { dataDir } = bench.product;
      const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
      let keys = 0;
      let hashes = 0;
      for (const entry of entries.filter((file) => file.isFile())) {
        const bytes = await contentOf(path.join(entry.parentPath, entry.name));
        if (bytes.includes(pro.key)) keys += 1;
        if (bytes.includes(hash)) hashes += 1;
      }
      expect(keys).to.equal(0);
      expect(hashes, 'files with the hash').to.be.above(0);
    });
  });
});

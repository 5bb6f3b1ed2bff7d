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
  keyFixture,
  destination,
  expectBody,
  expectRefused,
  invalidKey,
  timestampPattern,
  productFixture,
  type Link,
} from './harness.js';

const listeners = ['api', 'edge', 'admin'] as const;
/** On each listener; the bound of a listener is 10,000 connections. */
const slowOnes = 300;

describe('product: hostile clients', () => {
  const bench = productFixture();
  const pro = keyFixture(bench, 'PRO');
  let link: Link;

  before(async () => {
    link = await bench.link(pro.key);
  });

  /** All answers to these bytes, until the other side closes the connection. */
  const answersTo = async (origin: string, bytes: string): Promise<RawResponse[]> => {
    const connection = await connectTo(origin);
    connection.socket.write(Buffer.from(bytes, 'latin1'));
    await connection.closed(10_000);
    const answers: RawResponse[] = [];
    for (let rest = Buffer.from(connection.received()); ;) {
      const read = parseResponse(rest, false);
      if (!read) return answers;
      answers.push(read.response);
      rest = Buffer.from(read.rest);
    }
  };

  const messageOf = ({ body }: RawResponse): unknown =>
    (JSON.parse(body.toString()) as { message?: unknown }).message;

  it('that send slowly, or never finish, do not delay other clients', async () => {
    const { api, edge, admin, adminToken } = bench.product;
    const json = 'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{';
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 99\r\n\r\np';
    const secured = await bench.link(pro.key, { password: 'a secret' });
    const beginnings: readonly (readonly [string, string])[] = [
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
      for (const [origin, beginning] of beginnings) {
        slow.push(
          ...(await concurrently(slowOnes / 2, async () => {
            const connection = await connectTo(origin);
            connection.socket.write(beginning);
            return connection;
          })),
        );
      }
      for (const name of listeners) {
        const answers = await concurrently(50, () => sendRequest(`${bench.product[name]}/health`));
        expect(answers.every(({ status }) => status === 200)).to.equal(true);
      }
      expect((await bench.visit(link.shortCode)).status).to.equal(302);
      await bench.link(pro.key);
      const entry = {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: 'password=a+secret',
      };
      expect((await bench.visit(secured.shortCode, entry)).status).to.equal(303);
    } finally {
      clearInterval(drip);
      for (const { socket } of slow) socket.destroy();
    }
  });

  describe('that smuggle a request get 400, and the connection ends', () => {
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
      ['a chunk that is none', `Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n${hidden}`],
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
          const answers = await answersTo(bench.product[name], head + frame);
          const last = answers.at(-1);
          expect(last?.status, `${name}: ${answers.map(({ status }) => status).join()}`).to.equal(
            400,
          );
          expect(last && messageOf(last)).to.equal('Bad Request');
          expect(last?.headers.get('connection')).to.equal('close');
          // What was hidden would have been asked for a token.
          const paths = answers.map(({ body }) => body.toString());
          expect(paths.join()).to.not.include('/admin/keys');
        }
      });
    }
  });

  it('that send no HTTP get the error envelope', async () => {
    for (const name of listeners) {
      for (const bytes of [
        '\x16\x03\x01\x00\xa5\x01',
        'SSH-2.0-x\r\n',
        'get / HTTP/1.1\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
      ]) {
        const [answer] = await answersTo(bench.product[name], bytes);
        expect(answer?.status).to.equal(400);
        const body = JSON.parse(answer?.body.toString() ?? '{}') as Record<string, unknown>;
        expect(body).to.have.all.keys('statusCode', 'timestamp', 'path', 'method', 'message');
        expect(body['timestamp']).to.match(timestampPattern);
      }
    }
  });

  it('that send a header too long get 431 in the error envelope', async () => {
    for (const name of listeners) {
      const headers = { 'X-Long': 'x'.repeat(20_000) };
      const answer = await sendRequest(`${bench.product[name]}/health?a=b`, { headers });
      expect(answer.status).to.equal(431);
      const { timestamp, ...body } = answer.json() as Record<string, unknown>;
      expect(timestamp).to.match(timestampPattern);
      expect(body).to.deep.equal({
        statusCode: 431,
        path: '/health',
        method: 'GET',
        message: 'Request header fields are too large',
      });
    }
  });

  it('that send a header twice: the first one counts', async () => {
    const lines = (...values: string[]): string =>
      values.map((value) => `Authorization: Bearer ${value}\r\n`).join('');
    const get = (authorization: string): string =>
      `GET /v2/usage HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${authorization}\r\n`;
    const [first] = await answersTo(bench.product.api, get(lines(pro.key, 'wrong')));
    expect(first?.status).to.equal(200);
    const [second] = await answersTo(bench.product.api, get(lines('wrong', pro.key)));
    expect(second?.status).to.equal(401);
  });

  describe('that pollute prototypes', () => {
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

    it('cannot change later answers', async () => {
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
          const answer = await bench.api(target, pro.key, { method: 'POST', body: text, headers });
          expect(answer.status, text).to.equal(400);
          expect((answer.json() as { message: string }).message).to.match(
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
        const answer = await bench.api(`/v2/qr/${shortCode}?${query}`, pro.key);
        expect(answer.status, query).to.equal(200);
        expect(answer.headers['content-type'], query).to.equal('image/png');
      }
      const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
      const secured = await bench.link(pro.key, { password: 'another' });
      const body = pairs.join('&');
      const entry = await bench.visit(secured.shortCode, { method: 'POST', headers: form, body });
      expect(entry.status).to.equal(401);

      const made = await bench.link(pro.key);
      expect(made).to.have.all.keys('shortUrl', 'shortCode', 'url', 'createdAt');
      for (let visit = 0; visit < 2; visit += 1) {
        expect((await bench.visit(made.shortCode)).headers.location).to.equal(destination);
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

  describe('that nest JSON deeply get 400 before it is parsed', () => {
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
          const beside = `{"url":"${destination}","deep":${nested}}`;
          expectRefused(await post('/v2/shorten', beside), ...invalid);
          const packed = { 'Content-Encoding': 'gzip' };
          expectRefused(await post('/v2/shorten', gzipSync(beside), packed), ...invalid);
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
      const answer = await post('/v2/shorten/batch', '['.repeat(524_288));
      expect(answer.json()).to.include({ statusCode: 400, message: 'Invalid JSON body' });
    });
  });

  describe('that guess keys', () => {
    const contentOf = async (file: string): Promise<Buffer> => {
      try {
        return await readFile(file);
      } catch (error) {
        // PostgreSQL goes on with its work, and some of its files go with it.
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return Buffer.alloc(0);
        throw error;
      }
    };

    // A key is found by its SHA-256, the only thing kept of it: no character of it is ever compared,
    // and how long the look-up takes tells of the hash of the guess, which says nothing of a key.
    it('learn nothing from a guess that is one character off', async () => {
      const token = bench.product.adminToken;
      const off = (text: string, at: number): string =>
        text.slice(0, at) + (text[at] === 'a' ? 'b' : 'a') + text.slice(at + 1);
      for (const at of [3, 10, pro.key.length - 1]) {
        const answer = await bench.api('/v2/usage', off(pro.key, at));
        expectBody(answer, 401, invalidKey);
      }
      // Compared as digests, of one length whatever was sent: in constant time.
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
        const answer = await sendRequest(`${bench.product.admin}/admin/keys`, { headers });
        expect(answer.status, guess).to.equal(401);
      }
    });

    it('would find only SHA-256 hashes in the database', async () => {
      const hash = createHash('sha256').update(pro.key).digest('hex');
      const { dataDir } = bench.product;
      const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
      let keys = 0;
      let hashes = 0;
      for (const entry of entries.filter((each) => each.isFile())) {
        const bytes = await contentOf(path.join(entry.parentPath, entry.name));
        if (bytes.includes(pro.key)) keys += 1;
        if (bytes.includes(hash)) hashes += 1;
      }
      expect(keys).to.equal(0);
      expect(hashes, 'the same look finds what is there').to.be.above(0);
    });
  });
});

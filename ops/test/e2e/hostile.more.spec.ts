// Two products: hostile requests need high limits, and the log is checked on a level that the shared product does not have.
import { expect } from 'chai';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import {
  concurrently,
  sendRequest,
  statuses,
  type HttpResponse,
  type RequestOptions,
} from '../support/http.js';
import { behindProxy, floodWithGuesses } from '../support/password-guesses.js';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import { watchRss } from '../support/rss.js';
import { openStatusClient } from '../support/status-client.js';
import { eventually, eventuallyPasses } from '../support/waiting.js';
import { expectRefused, keyFixture, productFixture } from './harness.js';
import { hostileEnvironment, startHostileRun } from './hostile/run.js';
import { floodWithoutReading } from './hostile/unread.js';

const listeners = ['api', 'edge', 'admin'] as const;
const mebibyte = 1_048_576;
const hugeBytes = 100 * mebibyte;

describe('under attack, the product', function () {
  this.timeout(240_000);
  const bench = productFixture(async () => ({
    ...(await hostileEnvironment()),
    ...behindProxy,
    NODE_OPTIONS: '--max-old-space-size=512',
  }));
  const pro = keyFixture(bench, 'PRO');

  const expectHealthy = async (): Promise<void> => {
    for (const name of listeners) {
      const response = await sendRequest(`${bench.product[name]}/health`);
      expect(response.status, name).to.equal(200);
    }
    const { shortCode } = await bench.link(pro.key);
    expect((await bench.visit(shortCode)).status).to.equal(302);
  };

  /** Expects that the resident memory grows by less than `slackMiB` while `run` runs. */
  const expectBounded = async (slackMiB: number, run: () => Promise<void>): Promise<void> => {
    const memory = await watchRss(bench.product);
    try {
      await run();
    } finally {
      const { before, most } = await memory.stop();
      expect(most - before).to.be.below(slackMiB);
    }
  };

  it('responds to 3,000 hostile requests as documented', async () => {
    const run = await startHostileRun(bench);
    try {
      const before = await bench.product.rssMiB();
      const seed = Math.trunc(Math.random() * 2 ** 31);
      await run.send(3_000, seed);
      const { faults } = run;
      const report = [`${faults.length} faults, seed ${seed}`, ...faults.slice(0, 10)].join('\n\n');
      expect(faults.length, report).to.equal(0);
      expect((await bench.visit(run.openCode)).status).to.equal(302);
      await eventuallyPasses(async () => {
        expect((await bench.product.rssMiB()) - before).to.be.below(150);
      });
      const lines = bench.product.stderr().split('\n');
      expect(lines.filter((line) => line.includes('"level":50'))).to.deep.equal([]);
    } finally {
      run.end();
    }
    await expectHealthy();
  });

  describe('with a flood of guesses at one link, serves other visitors, if they are', () => {
    const times = { normalMs: 300, floodMs: 1_500, afterMs: 300, warmUpMs: 200 };
    for (const manyClients of [true, false]) {
      it(manyClients ? 'from many addresses' : 'from one address', async () => {
        const linesBefore = bench.product.stderr().split('\n').length;
        const options = { perSecond: 400, manyClients, ...times };
        const { guesses, rssMiB, ...phases } = await floodWithGuesses(bench.product, options);
        for (const phase of [phases.normal, phases.flood, phases.after]) {
          expect(phase['redirects']?.statuses).to.have.all.keys('302');
          expect(phase['forms']?.statuses).to.have.all.keys('200');
          expect(phase['right passwords']?.statuses).to.have.all.keys('303');
          expect(phase['right passwords at the attacked link']?.statuses).to.have.all.keys('303');
        }
        expect(rssMiB.most - rssMiB.before).to.be.below(120);
        const lines = bench.product.stderr().split('\n').length - linesBefore;
        expect(lines, 'log lines').to.be.below(20);
        const { statuses: counts, sent } = guesses;
        if (manyClients) {
          // On a busy machine the guesses arrive slowly enough that all of them are checked.
          expect(['401', '503']).to.include.members(Object.keys(counts));
          expect(Object.values(counts).reduce((sum, count) => sum + count)).to.equal(sent);
        } else {
          expect(counts['401']).to.be.within(1, 6);
          expect(counts['429']).to.be.above(0);
          expect(counts).to.not.have.any.keys('303', '500');
        }
      });
    }
  });

  describe('disconnects clients that pipeline requests and never read a response, on the', () => {
    for (const [listener, path, connections] of [
      ['api', '/openapi.json', 120],
      // The small responses fill the kernel's 3 MB of buffers per connection slowly.
      ['edge', '/no/code', 10],
      ['admin', '/metrics', 120],
    ] as const) {
      it(listener, () =>
        expectBounded(100, async () => {
          const flood = floodWithoutReading(bench.product[listener], { path, connections });
          try {
            const isOver = async (): Promise<boolean> => {
              await sleep(200);
              return flood.ended() >= connections;
            };
            await eventually('every connection is closed', isOver, 60_000);
          } finally {
            flood.end();
          }
          expect((await sendRequest(`${bench.product[listener]}/health`)).status).to.equal(200);
        }),
      );
    }
  });

  describe('does not buffer a body of 100 MiB', () => {
    /** Resolves when the socket is writable again or closed. */
    const drained = (socket: Socket): Promise<void> =>
      new Promise((resolve) => {
        const done = (): void => {
          socket.off('drain', done).off('close', done);
          resolve();
        };
        socket.once('drain', done).once('close', done);
      });

    /** Sends 100 MiB until all are sent or the connection ends. @returns the number of bytes sent */
    const pour = async (
      { socket }: RawConnection,
      path: string,
      token: string,
      isChunked: boolean,
    ): Promise<number> => {
      const piece = Buffer.alloc(mebibyte, 0x20);
      const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${hugeBytes}`;
      socket.write(
        `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
          `Content-Type: application/json\r\n${length}\r\n\r\n`,
      );
      let sent = 0;
      while (sent < hugeBytes && socket.writable) {
        if (isChunked) socket.write(`${piece.length.toString(16)}\r\n`);
        const more = socket.write(piece);
        if (isChunked) socket.write('\r\n');
        sent += piece.length;
        if (!more) await drained(socket);
      }
      return sent;
    };

    it('but responds with 413 and closes the connection', async () => {
      await expectBounded(80, async () => {
        for (const [origin, path, token, isChunked] of [
          [bench.product.api, '/v2/shorten', pro.key, false],
          [bench.product.admin, '/admin/keys', bench.product.adminToken, true],
        ] as const) {
          const connection = await connectTo(origin);
          const sent = await pour(connection, path, token, isChunked);
          await connection.closed(5_000);
          expect(connection.received()).to.match(/^HTTP\/1\.1 413 /);
          expect(connection.received()).to.match(/\r\nconnection: close\r\n/i);
          expect(connection.received()).to.include('"message":"Request body is too large"');
          expect(sent, 'bytes sent').to.be.below(hugeBytes);
        }
      });
      await expectHealthy();
    });

    it('that no route reads', async () => {
      await expectBounded(80, async () => {
        const { api, edge } = bench.product;
        for (const [origin, path, token, status] of [
          [api, '/v2/shorten', 'wrong', 401],
          [api, '/nothing', pro.key, 404],
          [edge, '/nothing0', '', 405],
        ] as const) {
          const connection = await connectTo(origin);
          await pour(connection, path, token, true);
          await connection.until(new RegExp(`^HTTP/1\\.1 ${status} `));
          connection.socket.destroy();
        }
      });
      await expectHealthy();
    });
  });

  it('delivers the 413 to a client that reads only after it has sent everything', async () => {
    const headers = { 'Content-Type': 'application/json' };
    for (let round = 0; round < 20; round += 1) {
      const response = await bench.shorten(pro.key, Buffer.alloc(5 * mebibyte, 0x20), headers);
      expectRefused(response, 413, 'Request body is too large');
    }
  });

  it('limits decompressed bodies', async () => {
    const packed = gzipSync(Buffer.alloc(40 * mebibyte, 0x20));
    await expectBounded(80, async () => {
      const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
      const responses = await concurrently(20, () => bench.shorten(pro.key, packed, headers));
      for (const response of responses) expectRefused(response, 413, 'Request body is too large');
    });
  });

  it('serves each listener with 2,000 idle connections open', async () => {
    const idle: RawConnection[] = [];
    await expectBounded(80, async () => {
      for (const name of listeners) {
        for (let wave = 0; wave < 10; wave += 1) {
          idle.push(...(await concurrently(200, () => connectTo(bench.product[name]))));
        }
      }
      await expectHealthy();
    });
    expect(idle.filter(({ socket }) => socket.writable)).to.have.length(6_000);
    for (const { socket } of idle) socket.destroy();
    await expectHealthy();
  });

  it('responds to 30,000 unknown codes without growing memory', async () => {
    const count = 30_000;
    let sent = 0;
    const seen = new Set<string>();
    await expectBounded(80, async () => {
      await concurrently(100, async () => {
        const client = openStatusClient(bench.product.edge);
        while (sent < count) {
          sent += 1;
          seen.add(await client.send(`GET /unknown-${sent} HTTP/1.1\r\nHost: a\r\n\r\n`));
        }
        client.close();
      });
    });
    expect([...seen]).to.deep.equal(['404']);
    await expectHealthy();
  });
});

describe('under a flood, the log', function () {
  this.timeout(120_000);
  const bench = productFixture({ LOG_LEVEL: 'info' });
  const times = 160;
  /** Requests in flight: each sign-in writes a session, and the service responds within 1.8 s. */
  const inFlight = 20;

  it('gets a few lines per kind of request that costs no call, with a truncated path', async () => {
    const { api, admin } = bench.product;
    const { key } = await bench.key('PRO');
    const signIn = (listener: string, body: object): RequestOptions => ({
      ...{ method: 'POST', headers: { Origin: listener }, body },
    });
    const signedIn = async (listener: string, body: object): Promise<RequestOptions> => {
      const { headers } = await sendRequest(`${listener}/console/session`, signIn(listener, body));
      return { headers: { Cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' } };
    };
    const before = bench.product.stderr().length;
    const long = 'x'.repeat(15_000);
    const unknownKey = { headers: { Authorization: `Bearer ll_${'a'.repeat(38)}` } };
    for (const [status, url, options] of [
      [404, `${api}/${long}`, {}],
      [401, `${api}/v2/${long}`, {}],
      [401, `${api}/v2/usage`, unknownKey],
      [200, `${api}/health?${long}`, {}],
      [401, `${admin}/admin/${long}`, {}],
      [421, `${admin}/${long}`, { headers: { Host: 'evil.example' } }],
      [200, `${api}/console/session`, await signedIn(api, { key })],
      [200, `${api}/console/session`, signIn(api, { key })],
    ] as const) {
      const responses: HttpResponse[] = [];
      while (responses.length < times) {
        responses.push(...(await concurrently(inFlight, () => sendRequest(url, options))));
      }
      expect(statuses(responses), url.slice(0, 60)).to.deep.equal({ [status]: times });
    }
    // Each request that costs a call is logged.
    const headers = { 'X-Request-Id': 'the-last-one', Authorization: `Bearer ${key}` };
    await sendRequest(`${api}/v2/${long}`, { headers });
    await eventually('the last request is logged', () =>
      bench.product.stderr().includes('the-last-one'),
    );
    const log = bench.product.stderr().slice(before);
    expect(log.length).to.be.below(100_000);
    for (const status of [200, 401, 404]) expect(log).to.include(`"status":${status},`);
    expect(log).to.include('x'.repeat(150)).and.not.include('x'.repeat(201));
  });

  it('gets no error for an unreadable body while the link is looked up', async () => {
    const { edge, stderr } = bench.product;
    const head = 'POST /unknown HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
    const before = stderr().length;
    for (let sent = 0; sent < 20; sent += 1) {
      const connection = await connectTo(edge);
      connection.socket.write(`${head}5;${'x'.repeat(17_000)}`);
      expect(await connection.until(/^HTTP/)).to.include('HTTP/1.1 413');
      connection.socket.destroy();
    }
    // By then, the look-ups have ended.
    await sleep(500);
    expect(stderr().slice(before)).not.to.include('"level":50');
  });
});

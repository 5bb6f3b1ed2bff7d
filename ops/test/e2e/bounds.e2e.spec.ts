import { expect } from 'chai';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { sendRequest, concurrently } from '../support/http.js';
import { keyFixture, expectRefused, productFixture } from './harness.js';
import { connectTo, type RawConnection } from '../support/raw-http.js';
import { watchRss } from '../support/rss.js';
import { openStatusClient } from '../support/status-client.js';

const listeners = ['api', 'edge', 'admin'] as const;
const mebibyte = 1_048_576;
const hugeBytes = 100 * mebibyte;
/** Memory growth that garbage collection explains. */
const slackMiB = 80;
const maxRssMiB = 300;

describe('product: bounds', () => {
  const bench = productFixture();
  const pro = keyFixture(bench, 'PRO');

  /** The largest growth of resident memory while `run` runs (MiB). */
  const growth = async (run: () => Promise<void>): Promise<number> => {
    const memory = await watchRss(bench.product);
    let grown = 0;
    try {
      await run();
    } finally {
      const { before, most } = await memory.stop();
      grown = most - before;
    }
    return grown;
  };

  const visitUnknownCodes = async (
    edge: string,
    count: number,
  ): Promise<Record<string, number>> => {
    const seen: Record<string, number> = {};
    let sent = 0;
    const visit = async (): Promise<void> => {
      const client = openStatusClient(edge);
      while (sent < count) {
        sent += 1;
        const status = await client.send(`GET /unknown-${sent} HTTP/1.1\r\nHost: a\r\n\r\n`);
        seen[status] = (seen[status] ?? 0) + 1;
      }
      client.close();
    };
    await Promise.all(Array.from({ length: 100 }, visit));
    return seen;
  };

  const expectHealthy = async (): Promise<void> => {
    for (const name of listeners) {
      const response = await sendRequest(`${bench.product[name]}/health`, { timeoutMs: 2_000 });
      expect(response.status, name).to.equal(200);
    }
    expect((await bench.link(pro.key)).shortCode).to.be.a('string');
  };

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
    head: string,
    chunked: boolean,
  ): Promise<number> => {
    const piece = Buffer.alloc(mebibyte, 0x20);
    let sent = 0;
    socket.write(head);
    while (sent < hugeBytes && socket.writable) {
      if (chunked) socket.write(`${piece.length.toString(16)}\r\n`);
      const more = socket.write(piece);
      if (chunked) socket.write('\r\n');
      sent += piece.length;
      if (!more) await drained(socket);
    }
    return sent;
  };

  const headOf = (path: string, token: string, length: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\n${length}\r\n\r\n`;

  for (const [how, length] of [
    ['with Content-Length', `Content-Length: ${hugeBytes}`],
    ['chunked', 'Transfer-Encoding: chunked'],
  ] as const) {
    for (const name of ['api', 'admin'] as const) {
      it(`responds with 413 to 100 MiB to the ${name}, ${how}, and closes the connection`, async () => {
        const token = name === 'admin' ? bench.product.adminToken : pro.key;
        const path = name === 'admin' ? '/admin/keys' : '/v2/shorten';
        const grown = await growth(async () => {
          const connection = await connectTo(bench.product[name]);
          const sent = await pour(connection, headOf(path, token, length), how === 'chunked');
          await connection.closed(5_000);
          expect(connection.received()).to.match(/^HTTP\/1\.1 413 /);
          expect(connection.received()).to.match(/\r\nconnection: close\r\n/i);
          expect(connection.received()).to.include('"message":"Request body is too large"');
          expect(sent, 'bytes sent').to.be.below(hugeBytes);
        });
        expect(grown).to.be.below(slackMiB);
        await expectHealthy();
      });
    }

    it(`does not buffer a body of 100 MiB that no route reads, ${how}`, async () => {
      const grown = await growth(async () => {
        for (const [origin, path, token, status] of [
          [bench.product.api, '/v2/shorten', 'wrong', 401],
          [bench.product.api, '/v2/nothing', pro.key, 404],
          [bench.product.api, '/nothing', pro.key, 404],
          [bench.product.admin, '/admin/keys', 'wrong', 401],
          [bench.product.edge, '/nothing0', '', 405],
        ] as const) {
          const connection = await connectTo(origin);
          await pour(connection, headOf(path, token, length), how === 'chunked');
          await connection.until(new RegExp(`^HTTP/1\\.1 ${status} `));
          connection.socket.destroy();
        }
      });
      expect(grown).to.be.below(slackMiB);
      await expectHealthy();
    });
  }

  it('delivers the 413 to a client that reads only after it has sent everything', async () => {
    const headers = { 'Content-Type': 'application/json' };
    for (let round = 0; round < 20; round += 1) {
      const response = await bench.shorten(pro.key, Buffer.alloc(5 * mebibyte, 0x20), headers);
      expectRefused(response, 413, 'Request body is too large');
    }
  });

  it('applies the limit to the decompressed body', async () => {
    const packed = gzipSync(Buffer.alloc(40 * mebibyte, 0x20));
    expect(packed.length).to.be.below(65_536);
    const grown = await growth(async () => {
      const headers = { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' };
      const responses = await concurrently(20, () => bench.shorten(pro.key, packed, headers));
      for (const response of responses) expectRefused(response, 413, 'Request body is too large');
    });
    expect(grown).to.be.below(slackMiB);
  });

  it('serves each listener with 2,000 idle connections open', async () => {
    const idle: RawConnection[] = [];
    const grown = await growth(async () => {
      for (const name of listeners) {
        for (let wave = 0; wave < 10; wave += 1) {
          idle.push(...(await concurrently(200, () => connectTo(bench.product[name]))));
        }
      }
      await expectHealthy();
    });
    expect(idle.filter(({ socket }) => socket.writable)).to.have.length(6_000);
    for (const { socket } of idle) socket.destroy();
    expect(grown).to.be.below(slackMiB);
    await expectHealthy();
  });

  it('responds to 30,000 unknown codes without growing memory', async () => {
    const { edge } = bench.product;
    const known = await bench.link(pro.key);
    expect(await visitUnknownCodes(edge, 30_000)).to.deep.equal({ '404': 30_000 });
    expect(await bench.product.rssMiB()).to.be.below(maxRssMiB);
    expect((await bench.visit(known.shortCode)).status).to.equal(302);
    await expectHealthy();
  });
});

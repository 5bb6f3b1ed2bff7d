import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { safeBrowsingFixture } from '../support/fixtures.js';
import { sendRequest } from '../support/http.js';
import {
  destination,
  expectRefused,
  keyFixture,
  passwordForm,
  productFixture,
  type Link,
} from './harness.js';
import { connectTo } from '../support/raw-http.js';

const badUrl = 'Please provide a valid URL';
const root = 'https://www.example.com/root';

/** Starts a server that counts its connections. */
const startCountingServer = async (): Promise<{
  port: number;
  connections: () => number;
  server: Server;
}> => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, connections: () => connections, server };
};

describe('product: hostile destinations', () => {
  const double = safeBrowsingFixture();
  const bench = productFixture(() => ({
    ROOT_REDIRECT: root,
    SAFE_BROWSING_API_KEY: 'a-key',
    SAFE_BROWSING_URL: double.url,
  }));
  const pro = keyFixture(bench, 'PRO');
  let link: Link;

  before(async () => {
    link = await bench.link(pro.key);
  });

  describe('inject no header', () => {
    it('with control characters', async () => {
      for (const url of [
        'https://example.com/\r\nX-Injected: 1',
        'https://example.com/\u0085X-Injected: 1',
        'https://example.com/\u2028X-Injected: 1',
        'https://example.com\r\n\r\n<script>',
        'https://example.com/\u0000',
      ]) {
        expectRefused(await bench.shorten(pro.key, { url }), 400, badUrl);
      }
    });

    it('keep percent-encoding, and percent-encode non-ASCII characters', async () => {
      for (const [url, location] of [
        ['https://example.com/%0d%0aX-Injected:%201', 'https://example.com/%0d%0aX-Injected:%201'],
        ['https://example.com/?q=%250d%250a', 'https://example.com/?q=%250d%250a'],
        // The low byte of these characters is CR or LF, to which Latin-1 would truncate them.
        [
          'https://example.com/嘊嘍X-Injected:',
          'https://example.com/%E5%98%8A%E5%98%8DX-Injected:',
        ],
        ['https://example.com/\u010d\u010aX', 'https://example.com/%C4%8D%C4%8AX'],
      ] as const) {
        const { shortCode } = await bench.link(pro.key, { url });
        const connection = await connectTo(bench.product.edge);
        connection.socket.write(
          `GET /${shortCode} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
        );
        await connection.closed(5_000);
        const [head = ''] = connection.received().split('\r\n\r\n');
        expect(head.split('\r\n')).to.include(`Location: ${location}`);
        expect(head).to.not.match(/^X-Injected/m);
      }
    });

    it('are never in a response, except a valid X-Request-Id', async () => {
      const headers = { 'X-Request-Id': 'a b', 'X-Injected': '1' };
      const response = await bench.api('/v2/usage', pro.key, { headers });
      expect(response.headers['x-request-id']).to.match(/^[0-9a-f-]{36}$/);
      expect(response.headers).to.not.have.property('x-injected');
    });
  });

  describe('on our own hosts are rejected in every spelling', () => {
    // own-hosts.unit.spec.ts has many more.
    it('of each listener', async () => {
      for (const host of [
        '127.1',
        '0x7f000001',
        '１２７.０.０.１',
        '%31%32%37.0.0.1',
        'local\u00adhost',
      ]) {
        for (const name of ['api', 'edge', 'admin'] as const) {
          const url = `HTTPS://${host}:${new URL(bench.product[name]).port}/${link.shortCode}`;
          expectRefused(await bench.shorten(pro.key, { url }), 400, badUrl);
        }
      }
    });

    it('of every listener of every process, at each API', async () => {
      const { apis, edges, admins } = bench.product;
      for (const api of apis) {
        for (const own of [...apis, ...edges, ...admins]) {
          const response = await sendRequest(`${api}/v2/shorten`, {
            method: 'POST',
            headers: { Authorization: `Bearer ${pro.key}` },
            body: { url: `${own.replace('127.0.0.1', 'LocalHost')}/${link.shortCode}` },
          });
          expectRefused(response, 400, badUrl);
        }
      }
    });

    it('with user info, odd separators, or no host', async () => {
      const { host } = new URL(bench.product.edge);
      for (const url of [
        `http:\\\\${host}/`,
        `http:/${host}/`,
        `http:${host}/`,
        `http:///${host}/`,
        `http:/\\${host}/`,
        `http://example.com@${host}/`,
        `http://example.com:80@${host}/`,
        `http://@${host}/`,
        `http://:@${host}/`,
        `http://${host}\\@example.com/`,
        `http://\t${host}/`,
        `ht\ntp://${host}/`,
        `//${host}/`,
      ]) {
        expectRefused(await bench.shorten(pro.key, { url }), 400, badUrl);
      }
    });
  });

  describe('that clients parse differently are rejected', () => {
    it('with a backslash or user info', async () => {
      for (const url of [
        // WHATWG parsers use the first host, wget and others the second.
        'http://example.com\\@malware.wicar.org/x',
        'http://example.com:80\\@malware.wicar.org/',
        'http://example.com\\.malware.wicar.org/',
        'http://:@example.com/',
        'http://a@b@example.com/',
        'http://example.com%5c@malware.wicar.org/',
        'http://example.com%40malware.wicar.org/',
      ]) {
        expectRefused(await bench.shorten(pro.key, { url }), 400, badUrl);
      }
    });

    it('but not those that all clients parse alike', async () => {
      for (const url of [
        'https://example.com/@name?to=a@b.example',
        'https://example.com/?file=C:\\a',
        'https://example.com?@malware.wicar.org',
        'https://example.com/a#\\@b',
      ]) {
        const { shortCode } = await bench.link(pro.key, { url });
        expect((await bench.visit(shortCode)).headers.location).to.equal(url);
      }
    });
  });

  describe('are only those of links: no open redirect', () => {
    const targets = (code: string): string[] => [
      '//evil.example',
      '//evil.example/%2e%2e',
      '/\\evil.example',
      '/%5cevil.example',
      '/%2F%2Fevil.example',
      '/%2f%2fevil.example',
      '/.//evil.example',
      '/..//evil.example',
      `/${code}//evil.example`,
      `/${code}/..//evil.example`,
      `/${code}/%2e%2e//evil.example`,
      `/${code}%2f%2fevil.example`,
      `/${code}@evil.example`,
      `/${code}\\@evil.example`,
      `/${code};//evil.example`,
      `//${code}`,
      `/?url=//evil.example&next=https://evil.example&return=https://evil.example`,
      `/${code}?url=//evil.example&next=https://evil.example`,
      `/${code}?//evil.example`,
      `/${code}#//evil.example`,
      `http://evil.example/${code}`,
      `http://evil.example//evil.example`,
      `http://evil.example?${code}`,
      'http://evil.example',
      'https://evil.example',
      `/https://evil.example`,
      `/${code}%0d%0aLocation:%20https://evil.example`,
    ];

    it('for any target, host and method', async () => {
      for (const target of targets(link.shortCode)) {
        for (const method of ['GET', 'HEAD', 'POST']) {
          const connection = await connectTo(bench.product.edge);
          connection.socket.write(
            `${method} ${target} HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: evil.example\r\n` +
              'X-Original-URL: //evil.example\r\nReferer: https://evil.example/\r\n' +
              'Content-Length: 0\r\nConnection: close\r\n\r\n',
          );
          await connection.closed(5_000);
          const [head = ''] = connection.received().split('\r\n\r\n');
          expect(head, target).to.match(/^HTTP\/1\.1 (?:302|404|405) /);
          const location = /^Location: (.*)$/m.exec(head)?.[1];
          expect([undefined, destination, root], target).to.include(location);
        }
      }
    });
  });

  it('no listener reflects the Host header', async () => {
    const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example' };
    const created = await bench.shorten(pro.key, { url: destination }, headers);
    const edge = new URL(bench.product.edge);
    expect((created.json() as Link).shortUrl).to.match(
      new RegExp(`^http://localhost:${edge.port}/`),
    );
    const responses = [
      created,
      await bench.api('/v2/nothing', pro.key, { headers }),
      await bench.api('/v2/shorten', pro.key, { headers, method: 'PUT' }),
      await bench.api(`/v2/qr/${link.shortCode}?format=svg`, pro.key, { headers }),
      await bench.visit(link.shortCode, { headers }),
      await bench.visit(`${link.shortCode}+`, { headers }),
      await bench.visit('nothing0', { headers: { ...headers, Accept: 'text/html' } }),
      await sendRequest(`${bench.product.admin}/admin/keys`, { headers }),
    ];
    for (const { headers: responseHeaders, text } of responses) {
      expect(JSON.stringify(responseHeaders) + text).to.not.include('evil.example');
    }
  });

  it('are never fetched', async () => {
    const { key } = await bench.key('PRO');
    const { port, connections, server } = await startCountingServer();
    try {
      const url = `http://127.0.0.1:${port}/latest/meta-data/`;
      const items = [
        { url },
        { url: `http://[::ffff:127.0.0.1]:${port}/` },
        { url: 'http://169.254.169.254/' },
      ];
      const { shortCode } = await bench.link(key, { url });
      const secured = await bench.link(key, { url, password: 'a secret' });
      const limited = await bench.link(key, { url, maxClicks: 2 });
      const body = { urls: items };
      expect((await bench.api('/v2/shorten/batch', key, { method: 'POST', body })).status).to.equal(
        200,
      );
      for (const format of ['png', 'svg']) {
        expect((await bench.api(`/v2/qr/${shortCode}?format=${format}`, key)).status).to.equal(200);
      }
      await bench.stats(shortCode, key);
      for (const code of [shortCode, secured.shortCode, limited.shortCode]) {
        for (const path of [code, `${code}+`]) {
          await bench.visit(path);
          await bench.visit(path, { method: 'HEAD' });
          await bench.visit(path, { headers: { 'User-Agent': 'Googlebot/2.1' } });
        }
      }
      const entry = await bench.visit(secured.shortCode, passwordForm('a secret'));
      expect(entry.headers.location).to.equal(url);
      await bench.admin('POST', `/admin/links/${shortCode}/block`, { reason: 'a test' });
      await bench.admin('GET', `/admin/links/${shortCode}/history`);
      expect(double.urls().flat(), 'URLs checked by Safe Browsing').to.include(url);
      expect(connections()).to.equal(0);
      // The server counts a connection.
      await sendRequest(url).catch((error: unknown) => expect(error).to.have.property('code'));
      expect(connections()).to.equal(1);
    } finally {
      server.close();
    }
  });
});

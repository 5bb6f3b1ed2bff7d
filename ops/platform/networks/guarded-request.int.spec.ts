import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { BlockList, createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect } from 'chai';
import { createAuthority, type KeyPair } from '../../test/support/certificates.js';
import { dnsServerFixture } from '../../test/support/dns-server.js';
import { fixture } from '../../test/support/fixture.js';
import { folderFixture } from '../../test/support/fixtures.js';
import { eventually } from '../../test/support/waiting.js';
import { deferred } from '../concurrency/deferred.js';
import { addressLookup } from './address-lookup.js';
import { guardedPost, type PostOptions, type PostOutcome } from './guarded-request.js';
import { networkGuard, type NetworkGuard } from './network-guard.js';

/** The only address of `named`, the network that some tests allow. */
const receiverAddress = '127.0.0.2';
const named = new BlockList();
named.addAddress(receiverAddress);

/** For requests without a response (ms). */
const timeoutMs = 300;

const noContent = 'HTTP/1.1 204 No Content\r\n\r\n';

/** Names of the DNS server. */
const names: Readonly<Record<string, readonly string[]>> = {
  'loopback.example': ['127.0.0.1'],
  'loopback-6.example': ['::1'],
  'private.example': ['10.0.0.1'],
  'mapped.example': ['::ffff:127.0.0.1'],
  'mixed.example': ['8.8.8.8', '127.0.0.1'],
  'mixed-families.example': ['8.8.8.8', '::1'],
  'mixed-networks.example': [receiverAddress, '127.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'metadata-6.example': ['fd00:ec2::254'],
  'unspecified.example': ['0.0.0.0'],
  'unspecified-6.example': ['::'],
  'nat64.example': ['64:ff9b::7f00:1'],
  '6to4.example': ['2002:7f00:1::'],
  'link-local.example': ['fe80::1'],
};

const literals = [
  ...['127.0.0.1', '127.1', '127.0.1', '127.255.255.254', '0x7f.1', '0x7f.0.0.1', '0x7f000001'],
  ...['2130706433', '0177.0.0.1', '0177.1', '017700000001', '127.0.0.1.', '127.0x0.0.01'],
  ...['１２７.0.0.1', '①②⑦.1', '127。0。0。1', '%31%32%37.0.0.1', '%3127.1', '127.0.0.%31'],
  ...['0', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1'],
  ...['100.100.100.200', '169.254.169.254', '169.254.169.253', '192.0.0.192', '192.0.2.1'],
  ...['198.18.0.1', '198.51.100.1', '203.0.113.1', '192.88.99.1', '224.0.0.1', '239.255.255.250'],
  ...['240.0.0.1', '255.255.255.255', '[::1]', '[0:0:0:0:0:0:0:1]', '[::]', '[::ffff:127.0.0.1]'],
  ...['[::ffff:7f00:1]', '[0:0:0:0:0:FFFF:127.0.0.1]', '[::127.0.0.1]', '[::ffff:0:127.0.0.1]'],
  ...['[::ffff:10.0.0.1]', '[::ffff:169.254.169.254]', '[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]'],
  ...['[fc00::1]', '[fd00::1]', '[fd00:ec2::254]', '[fe80::1]', '[fec0::1]', '[2002:7f00:1::]'],
  ...['[2001:0:7f00:1::]', '[2001:db8::1]', '[3fff::1]', '[100::1]', '[ff02::1]', '[4000::1]'],
];

const localhosts = [
  ...['localhost', 'LOCALHOST', 'localhost.', 'foo.localhost', 'foo.bar.localhost.'],
  ...['%6cocalhost', 'ⓛocalhost', 'ｌｏｃａｌｈｏｓｔ'],
];

const hostileUrls = [
  ...[...literals, ...localhosts, ...Object.keys(names), 'alias.example', 'ALIAS.example.'].map(
    (host) => `https://${host}:PORT/hook`,
  ),
  ...['https:///127.0.0.1:PORT', 'https:\\\\127.0.0.1:PORT', 'https://127.0.0.1:PORT#@example.com'],
  ...['https://127.0.0.1:PORT\\@example.com', 'https://example.com@127.0.0.1:PORT'],
  ...['https://user:secret@127.0.0.1:PORT', `https://user@${receiverAddress}:PORT`],
  ...['ftp://127.0.0.1:PORT/file', 'gopher://127.0.0.1:PORT/_POST', 'ws://127.0.0.1:PORT'],
  ...['redis://127.0.0.1:PORT', 'postgres://127.0.0.1:PORT', 'unix:///var/run/docker.sock'],
  ...['file:///etc/passwd', 'file://127.0.0.1/etc/passwd', 'data:,hook', 'javascript:0'],
];

type Respond = (socket: Socket, request: string) => void;

/** A raw listener. `connections`: the local addresses of its connections. */
const listen = async (respond: Respond, host = receiverAddress) => {
  const connections: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections.push((socket.localAddress ?? '').replace('::ffff:', ''));
    sockets.add(socket);
    // The client may reset a connection.
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', (data) => {
      respond(socket, data.toString('latin1'));
    });
  });
  server.listen(0, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

const ok = 'HTTP/1.1 200 OK\r\n';

/** Responses of receivers, and the expected status or error. */
const responses: readonly (readonly [title: string, Respond, number | string])[] = [
  ['a complete response', (socket) => socket.end(`${ok}Content-Length: 2\r\n\r\nok`), 200],
  ['a status of an error', (socket) => socket.end('HTTP/1.1 503 Busy\r\n\r\n'), 503],
  ['an interim response', (socket) => socket.end(`HTTP/1.1 103 Early\r\n\r\n${noContent}`), 204],
  ['a body that is cut off', (socket) => socket.end(`${ok}Content-Length: 9\r\n\r\nok`), 200],
  ['a body that stalls', (socket) => socket.write(`${ok}Content-Length: 9\r\n\r\nok`), 200],
  [
    'a body with an invalid chunk',
    (socket) => socket.end(`${ok}Transfer-Encoding: chunked\r\n\r\nzz\r\n`),
    200,
  ],
  [
    'a body that is not compressed as it says',
    (socket) => socket.end(`${ok}Content-Encoding: gzip\r\n\r\nplain`),
    200,
  ],
  [
    'a slow body without an end',
    (socket) => {
      socket.write(`${ok}\r\n`);
      const timer = setInterval(() => socket.write('.'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
    },
    200,
  ],
  ['no bytes', () => undefined, 'no response within 0.3 s'],
  ['headers without an end', (socket) => socket.write(ok), 'no response within 0.3 s'],
  [
    'interim responses without an end',
    (socket) => {
      const timer = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 20);
      socket.on('close', () => {
        clearInterval(timer);
      });
    },
    'no response within 0.3 s',
  ],
  [
    'another protocol by an upgrade',
    (socket) => socket.write('HTTP/1.1 101 Upgrade\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\nb'),
    'no response within 0.3 s',
  ],
  [
    'headers of 100 KB',
    (socket) => socket.write(`${ok}A: ${'a'.repeat(100_000)}`),
    'the headers of the response are too large',
  ],
  ['a greeting of SSH', (socket) => socket.end('SSH-2.0-a\r\n'), 'the response is not HTTP'],
  ['bytes of another protocol', (socket) => socket.end('\0\x01\xff'), 'the response is not HTTP'],
  [
    'two lengths',
    (socket) => socket.end(`${ok}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`),
    'the response is not HTTP',
  ],
  ['a close', (socket) => socket.end(), 'the connection was closed before a response'],
  ['a reset', (socket) => socket.resetAndDestroy(), 'the connection was closed before a response'],
];

describe('guarded requests', () => {
  const dns = dnsServerFixture({ per: 'test' });
  /** On all addresses of this machine. */
  const canary = fixture(
    () => listen((socket) => socket.end(noContent), '::'),
    (listener) => listener.close(),
    { per: 'test' },
  );
  const folder = folderFixture();

  const guardOf = (networks: BlockList | null): NetworkGuard => {
    const [host = '', port] = dns.address.split(':');
    return networkGuard(addressLookup([{ host, port: Number(port) }], timeoutMs), networks);
  };
  const body = '{"title":"ü"}';
  interface Settings extends PostOptions {
    readonly networks?: BlockList | null;
    readonly ca?: string;
  }
  const post = (
    url: string,
    { networks = named, ca = '', ...options }: Settings = {},
  ): Promise<PostOutcome> =>
    guardedPost(guardOf(networks), ca === '' ? {} : { ca })(
      ...([new URL(url), { 'webhook-id': 'msg_1' }, body] as const),
      { timeoutMs, ...options },
    );
  const failure = async (outcome: Promise<PostOutcome>): Promise<string> => {
    const result = await outcome;
    expect(result).to.have.all.keys('type', 'error', 'durationMs');
    return result.type === 'failed' ? result.error : '';
  };

  beforeEach(() => {
    for (const [name, addresses] of Object.entries(names)) dns.setAddresses(name, addresses);
    dns.setCname('alias.example', 'alias-2.example');
    dns.setCname('alias-2.example', 'loopback.example');
    dns.setAddresses('named.example', [receiverAddress]);
  });

  it('have at least 70 hostile URLs', () => {
    expect(new Set(hostileUrls)).to.have.property('size').that.is.at.least(70);
  });

  for (const hostile of hostileUrls) {
    it(`do not connect to ${hostile}`, async () => {
      const url = hostile.replace('PORT', String(canary.port));
      for (const target of [url, url.replace('https:', 'http:')]) {
        for (const networks of [null, named]) {
          expect((await guardOf(networks)(new URL(target))).type).to.equal('refused');
          expect(await failure(post(target, { networks }))).to.match(
            / not allowed$|^only https is allowed$/,
          );
        }
      }
      expect(canary.connections).to.deep.equal([]);
    });
  }

  it('reach named addresses, and only those', async () => {
    const hosts = [receiverAddress, '127.2', '2130706434', 'named.example', 'NAMED.example.'];
    for (const [index, host] of hosts.entries()) {
      const url = `http://${host}:${canary.port}`;
      expect(await post(url), host).to.deep.include({ type: 'responded', status: 204 });
      expect(canary.connections, host).to.deep.equal(Array(index + 1).fill(receiverAddress));
      expect(await failure(post(url, { networks: null }))).to.equal('only https is allowed');
    }
    expect(canary.connections).to.have.length(hosts.length);
  });

  it('connect to the checked address of a name that changes', async () => {
    const url = `http://rebinding.example:${canary.port}`;
    dns.setAddresses('rebinding.example', [receiverAddress], ['127.0.0.1']);
    const before = dns.queries;
    expect(await post(url)).to.have.property('status', 204);
    expect(dns.queries - before).to.equal(2);
    expect(await failure(post(url))).to.equal('an address of the name is not allowed');
    expect(canary.connections).to.deep.equal([receiverAddress]);
  });

  it('connect to another checked address if the first one refuses the connection', async () => {
    const networks = new BlockList();
    networks.addSubnet('127.0.0.0', 8, 'ipv4');
    const receiver = await listen((socket) => socket.end(noContent));
    dns.setAddresses('two.example', ['127.0.0.3', receiverAddress]);
    const url = `http://two.example:${receiver.port}`;
    expect(await post(url, { networks })).to.have.property('status', 204);
    await receiver.close();
    expect(await failure(post(url, { networks }))).to.equal('connection refused');
  });

  it('report names that do not resolve, and silent DNS servers', async () => {
    const url = `http://unknown.example:${canary.port}`;
    expect(await failure(post(url))).to.equal('the name does not resolve');
    expect((await guardOf(null)(new URL('https://unknown.example'))).type).to.equal('unresolved');
    for (const mode of ['silent', 'SERVFAIL'] as const) {
      dns.mode = mode;
      expect(await failure(post(url, { timeoutMs: 2_000 }))).to.equal('no DNS server answered');
    }
    dns.mode = 'silent';
    expect(await failure(post(url, { timeoutMs: 50 }))).to.equal('no response within 0.05 s');
  });

  it('send method, path, host, headers and body', async () => {
    let received = '';
    const receiver = await listen((socket, request) => {
      received = request;
      socket.end(`HTTP/1.1 429 Later\r\nRetry-After: 120\r\n\r\nsecret`);
    });
    const host = `named.example:${receiver.port}`;
    expect(await post(`http://${host}/a%20b?c=d#e`)).to.include({ status: 429, retryAfter: '120' });
    await receiver.close();
    expect(received.split('\r\n')).to.include.members([
      ...['POST /a%20b?c=d HTTP/1.1', `Host: ${host}`, 'webhook-id: msg_1', 'Content-Length: 14'],
      ...['Connection: close', Buffer.from(body).toString('latin1')],
    ]);
  });

  it('do not follow redirects', async () => {
    for (const status of [301, 302, 303, 307, 308]) {
      const location = `http://${receiverAddress}:${canary.port}`;
      const receiver = await listen((socket) =>
        socket.end(`HTTP/1.1 ${status} Moved\r\nLocation: ${location}\r\n\r\n`),
      );
      expect(await post(`http://named.example:${receiver.port}`)).to.have.property(
        'status',
        status,
      );
      await receiver.close();
    }
    expect(canary.connections).to.deep.equal([]);
  });

  it('use a new connection each', async () => {
    const receiver = await listen((socket) => socket.write(`${ok}Content-Length: 0\r\n\r\n`));
    for (const count of [1, 2, 3]) {
      await post(`http://named.example:${receiver.port}`);
      expect(receiver.connections).to.have.length(count);
    }
    await receiver.close();
  });

  for (const [title, respond, expected] of responses) {
    it(`report "${expected}" for ${title}`, async () => {
      const receiver = await listen(respond);
      const outcome = await post(`http://named.example:${receiver.port}`);
      expect(outcome).to.include(
        typeof expected === 'number'
          ? { type: 'responded', status: expected, retryAfter: null }
          : { type: 'failed', error: expected },
      );
      expect(outcome.durationMs).to.be.within(0, 2 * timeoutMs);
      await receiver.close();
    });
  }

  it('read at most 64 KiB of a body, and close the connection', async () => {
    const block = Buffer.alloc(16_384);
    let sent = 0;
    const closed = deferred();
    const receiver = await listen((socket) => {
      const send = (): void => {
        do sent += block.length;
        while (socket.write(block));
      };
      socket.on('drain', send).on('close', closed.resolve);
      socket.write(`${ok}\r\n`);
      send();
    });
    const outcome = await post(`http://named.example:${receiver.port}`, { timeoutMs: 10_000 });
    expect(outcome).to.have.property('status', 200);
    expect(outcome.durationMs).to.be.below(5_000);
    await closed.promise;
    // With the buffers of both sockets.
    expect(sent).to.be.below(16 * 1_024 ** 2);
    await receiver.close();
  });

  it('end when they are cancelled, before and after the start', async () => {
    const receiver = await listen(() => undefined);
    const url = `http://named.example:${receiver.port}`;
    const controller = new AbortController();
    const outcome = post(url, { signal: controller.signal, timeoutMs: 10_000 });
    await eventually('the request is received', () => receiver.connections.length > 0);
    controller.abort();
    expect(await failure(outcome)).to.equal('the request was cancelled');
    expect(await failure(post(url, { signal: controller.signal }))).to.equal(
      'the request was cancelled',
    );
    await receiver.close();
  });

  it('fail without a receiver', async () => {
    const receiver = await listen(() => undefined);
    await receiver.close();
    const url = `http://named.example:${receiver.port}`;
    expect(await failure(post(url))).to.equal('connection refused');
  });

  describe('with TLS', () => {
    const handshakes: (string | false | null)[] = [];
    const start = async ({ cert, key }: KeyPair) => {
      const server = createTlsServer(
        { cert: await readFile(cert), key: await readFile(key) },
        (socket) => {
          handshakes.push(socket.servername);
          socket.on('error', () => undefined).once('data', () => socket.end(noContent));
        },
      ).on('tlsClientError', () => undefined);
      server.listen(0, receiverAddress);
      await once(server, 'listening');
      return server;
    };
    const setUp = async () => {
      const authority = await createAuthority(folder.path, 'authority');
      const names = 'subjectAltName=DNS:named.example,IP:127.0.0.2';
      const server = await start(await authority.issue('receiver', [names]));
      return {
        ca: await readFile(authority.ca, 'utf8'),
        port: (server.address() as AddressInfo).port,
        server,
      };
    };
    const receiver = fixture(setUp, ({ server }) => {
      server.close();
    });
    beforeEach(() => {
      handshakes.length = 0;
      dns.setAddresses('other.example', [receiverAddress]);
    });

    it('verify the certificate and send the name', async () => {
      const { ca, port } = receiver;
      for (const host of ['named.example', 'named.example.', receiverAddress]) {
        const outcome = await post(`https://${host}:${port}`, { ca, timeoutMs: 5_000 });
        expect(outcome, host).to.have.property('status', 204);
      }
      expect(handshakes).to.deep.equal(['named.example', 'named.example', false]);
    });

    it('refuse the certificate of another name, and one of an unknown authority', async () => {
      const { ca, port } = receiver;
      const invalid = 'the certificate is not valid: ';
      expect(
        await failure(post(`https://other.example:${port}`, { ca, timeoutMs: 5_000 })),
      ).to.equal(`${invalid}Hostname/IP does not match certificate's altnames`);
      expect(await failure(post(`https://named.example:${port}`, { timeoutMs: 5_000 }))).to.match(
        new RegExp(`^${invalid}unable to verify the first certificate$`),
      );
    });

    it('refuse a self-signed certificate', async () => {
      const authority = await createAuthority(folder.path, 'named.example');
      const server = await start({
        cert: authority.ca,
        key: authority.ca.replace('.pem', '.key.pem'),
      });
      const { port } = server.address() as AddressInfo;
      expect(await failure(post(`https://named.example:${port}`, { timeoutMs: 5_000 }))).to.equal(
        'the certificate is not valid: self-signed certificate',
      );
      server.close();
    });

    it('fail if the receiver speaks plain HTTP, or does not answer', async () => {
      const url = `https://named.example:${canary.port}`;
      expect(await failure(post(url))).to.equal('the TLS handshake failed');
      const silent = await listen(() => undefined);
      expect(await failure(post(`https://named.example:${silent.port}`))).to.equal(
        'no response within 0.3 s',
      );
      await silent.close();
    });
  });
});
